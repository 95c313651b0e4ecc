//===- Rewrites.h - Tables of operators that import respells -----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_REWRITES_H
#define BRAID_LIB_IMPORT_REWRITES_H

#include "Aten.h"

namespace braid::torchscript {

/// What a rewrite gives: results, or nothing where the call is to go on as it is.
using Answer = std::optional<Aten::Results>;
using Rewrites = llvm::StringMap<std::function<Answer(Aten &, const Call &)>>;

/// The operators of convolutional networks: convolutions, pools, norms over channels, resampling, activations.
void addImageRewrites(Rewrites &table);

/// The operators that draw random numbers, as rand and dropout.
void addRandomRewrites(Rewrites &table);

/// Losses, as what they give without a reduction and a mean or sum of it.
void addLossRewrites(Rewrites &table);

/// Recurrent layers that drop values between them, and their cells.
void addRecurrentRewrites(Rewrites &table);

/// Arithmetic, statistics, norms and products.
void addMathRewrites(Rewrites &table);

/// Views and joins.
void addViewRewrites(Rewrites &table);

/// einsum as permutations and batched products.
Answer einsum(Aten &aten, const Call &call);

/// The sizes of a tensor as a list.
Item sizesOf(Aten &aten, Tensor &tensor);
int64_t rankOf(Aten &aten, const Item &tensor);
c10::ScalarType dtypeOf(Aten &aten, const Item &tensor);
Item makeInts(std::vector<int64_t> values);

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_REWRITES_H
