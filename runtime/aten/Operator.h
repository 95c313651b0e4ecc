//===- Operator.h - ATen operators resolved once -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator with its schema's arguments matched, once, to those that calls will pass. A call then only converts
// values and pushes them onto the dispatcher's stack. Includes ATen: for .cpp files only.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_OPERATOR_H
#define BRAID_RUNTIME_ATEN_OPERATOR_H

#include "braid_rt.h"
#include "runtime/aten/EmptyRows.h"
#include "runtime/aten/MatrixProduct.h"
#include "runtime/aten/Views.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <string_view>
#include <vector>

namespace braid::runtime {

/// What the schema wants in a place, as far as conversions depend on it.
enum class Wants {
  Tensor,
  Int,
  Double,
  Number,
  Bool,
  String,
  Device,
  TensorList,
  OptionalTensorList,
  IntList,
  DoubleList,
  BoolList,
  NumberList,
  Other
};

struct Parameter {
  std::string name;
  Wants wants = Wants::Other;
  bool optional = false;
  int listSize = 0; // of int[2] and the like, which one int fills
  int source = -1;  // which value of the call; -1: the default
  c10::IValue defaultValue;
};

/// Throws a std::exception whose message is a clause ("argument 'dim' ...").
c10::IValue convert(const braid_value &value, const Parameter &parameter);

/// The tensors of what a call returned, lists counted by element; throws for results that are no tensors.
std::vector<at::Tensor> tensorsOf(const torch::jit::Stack &results);

} // namespace braid::runtime

struct braid_op_s {
  std::string name; // "aten::add.Tensor"
  c10::OperatorHandle handle;
  std::vector<braid::runtime::Parameter> parameters; // in the schema's order
  int32_t passed = 0;                                // how many values a call passes
  braid::runtime::MatrixProduct product = braid::runtime::MatrixProduct::None;
  braid::runtime::View view = braid::runtime::View::None;
  braid::runtime::WithoutRows withoutRows = nullptr;

  torch::jit::Stack makeStack(const braid_value *arguments, int32_t count) const;
  /// "self f64[2, 3], alpha 2"
  std::string describe(const braid_value *arguments, int32_t count) const;
  /// The whole message of a failed call.
  std::string failure(const std::exception &error, const braid_value *arguments, int32_t count,
                      const braid_site *site) const;
};

#endif // BRAID_RUNTIME_ATEN_OPERATOR_H
