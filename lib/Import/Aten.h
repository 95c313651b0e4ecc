//===- Aten.h - ATen operators, run on symbolic tensors ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One call of an operator with a schema takes this way: a rewrite (Rewrites.cpp), arithmetic on numbers that import
// knows (Numbers.cpp), an update in place (Views.cpp), a typed op (Typed.cpp), or braid.aten (Opaque.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_ATEN_H
#define BRAID_LIB_IMPORT_ATEN_H

#include "Emitter.h"

#include "braid/Import/Import.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

namespace braid::torchscript {

/// An operator with its arguments, one for each of the schema's.
struct Call {
  const c10::FunctionSchema *schema;
  std::string name; // with the overload: "aten::add.Tensor"
  std::vector<Item> args;

  Call(const c10::FunctionSchema &schema, std::vector<Item> args);
  /// The argument of this name; None if the schema has no such argument.
  const Item &arg(llvm::StringRef name) const;
};

class Aten {
public:
  Aten(Emitter &emitter, ImportReport &report);

  using Results = std::vector<Item>;
  /// Runs a call. Throws ImportError after a diagnostic where it cannot be.
  Results run(const Call &call);
  /// Runs an operator by its name with the first arguments given and the others at their defaults.
  Item call(llvm::StringRef name, std::vector<Item> args);

  //===-- For rewrites --------------------------------------------------===//

  Emitter &emitter;
  /// The scalar as the tensor that promotes with `self` as the scalar does.
  TensorRef scalarFor(const Item &scalar, const TensorShape &self);
  /// The tensor with another element type; itself where it has it already.
  TensorRef cast(const TensorRef &tensor, c10::ScalarType type);
  TensorRef aliasOf(const TensorRef &base, bool perhaps);
  TensorRef copyOf(const TensorRef &tensor);
  int64_t toInt(const Item &item); // fixes a size to the example
  [[noreturn]] void failDataDependent(const std::string &what);

private:
  using Rewrite = std::function<std::optional<Results>(Aten &, const Call &)>;
  static const llvm::StringMap<Rewrite> &getRewrites();

  std::optional<Results> runOnNumbers(const Call &call);
  Results runInPlace(const Call &call, size_t self);
  void attachViews(const Call &call, Results &results);
  std::function<mlir::Value(mlir::Value, mlir::Value)> writeBackOf(const Call &call, const TensorRef &base,
                                                                   size_t result);
  std::optional<Results> runTyped(const Call &call);
  std::optional<ArgValue> toArgument(const ArgSpec &spec, const Item &item);
  Results runOpaque(const Call &call);
  void refuseRandom(const Call &call);

  ImportReport &report;
};

/// Whether an argument has its default, or says nothing that matters: device, memory format and the like.
bool isIgnorable(const c10::Argument &argument, const Item &item);

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_ATEN_H
