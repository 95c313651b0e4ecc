//===- InputDims.h - Which sizes of the inputs are symbols ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the user said nothing: dim 0 of the first input is `batch`, and so is dim 0 of every input that agrees with it
// in all batches; dim 1 of integer inputs is `seq` by the same rule; every other dim is a symbol of its own, named
// after input and dim. A size of 1 stays a constant unless it varies. Import then runs the model once and looks at the
// equalities that it relied on: symbols that must be equal become one, and a symbol that must have one value becomes
// that constant.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_INPUTDIMS_H
#define BRAID_LIB_IMPORT_INPUTDIMS_H

#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"
#include "braid/Import/Import.h"

namespace braid::torchscript {

class InputDims {
public:
  /// Throws ImportError where example and stated dims disagree.
  InputDims(llvm::ArrayRef<const InputSpec *> inputs, bool symbolic);

  llvm::SmallVector<Expr, 4> dimsOf(size_t input) const;
  /// The symbols in use with their sizes in the example.
  std::map<std::string, int64_t> getSymbols() const;

  /// Takes the guards of a finished import into account; false if nothing changed. `fixings` gets "NAME to SIZE, as ..."
  /// for each size that is fixed.
  bool refine(llvm::ArrayRef<Guard> guards, std::vector<std::string> &fixings);

  /// Makes constants of chosen symbols after a failed import, first of those that most likely are none; false if
  /// there is nothing left to fix. `level` counts the calls.
  bool fixAfterFailure(int level);

private:
  void checkExample() const;
  bool fix(const std::string &symbol);
  bool breaks(const Guard &guard, const std::string &symbol) const;
  std::pair<size_t, bool> firmness(const std::string &symbol) const;

  llvm::ArrayRef<const InputSpec *> inputs;
  std::vector<std::vector<Expr>> dims;
  std::map<std::string, int64_t> examples;
  std::set<std::string> chosen; // by us, and so ours to change
  std::set<std::string> varying;
};

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_INPUTDIMS_H
