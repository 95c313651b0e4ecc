//===- Formula.h - Operators by short names ------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_FORMULA_H
#define BRAID_LIB_IMPORT_FORMULA_H

#include "Rewrites.h"

namespace braid::torchscript {

/// What rewrites that are formulas are written with. Numbers are Python's.
class Formula {
public:
  explicit Formula(Aten &aten) : aten(aten) {}

  Item add(Item a, Item b) { return aten.call("aten::add.Tensor", {a, b}); }
  Item add(Item a, double b) { return aten.call("aten::add.Scalar", {a, c10::IValue(b)}); }
  Item sub(Item a, Item b) { return aten.call("aten::sub.Tensor", {a, b}); }
  /// a - b
  Item sub(double a, Item b) { return aten.call("aten::rsub.Scalar", {b, c10::IValue(a)}); }
  Item mul(Item a, Item b) { return aten.call("aten::mul.Tensor", {a, b}); }
  Item mul(Item a, double b) { return aten.call("aten::mul.Scalar", {a, c10::IValue(b)}); }
  Item div(Item a, Item b) { return aten.call("aten::div.Tensor", {a, b}); }
  Item div(Item a, double b) { return aten.call("aten::div.Scalar", {a, c10::IValue(b)}); }
  Item atLeast(Item a, double b) { return aten.call("aten::clamp_min", {a, c10::IValue(b)}); }
  Item equals(Item a, int64_t b) { return aten.call("aten::eq.Scalar", {a, c10::IValue(b)}); }
  Item differs(Item a, int64_t b) { return aten.call("aten::ne.Scalar", {a, c10::IValue(b)}); }
  Item where(Item condition, Item a, Item b) { return aten.call("aten::where.self", {condition, a, b}); }
  /// 0 where the mask is true.
  Item without(Item a, Item mask) { return aten.call("aten::masked_fill.Scalar", {a, mask, c10::IValue(0)}); }
  /// A function of one tensor: "exp".
  Item of(llvm::StringRef name, Item a) { return aten.call(("aten::" + name).str(), {a}); }
  Item detached(Item a) { return of("detach", a); }
  Item sum(Item a) { return of("sum", a); }
  Item sum(Item a, int64_t dim) { return aten.call("aten::sum.dim_IntList", {a, makeInts({dim}), c10::IValue(false)}); }
  Item norm(Item a, Item order, Item dims, bool keepdim) {
    return aten.call("aten::linalg_vector_norm", {a, order, dims, c10::IValue(keepdim)});
  }

  Aten &aten;
};

/// The tensors of a list, of which none may be None.
inline Item tensorList(std::vector<Item> items) { return makeList(c10::TensorType::get(), std::move(items)); }

inline double toDouble(const Item &number) { return number.constant()->toScalar().toDouble(); }
inline bool isTrue(const Item &flag) {
  return flag.constant() && flag.constant()->isBool() && flag.constant()->toBool();
}

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_FORMULA_H
