//===- Lifetimes.h - Releases after last uses ----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_BRAIDTORT_LIFETIMES_H
#define BRAID_LIB_CONVERSION_BRAIDTORT_LIFETIMES_H

#include "mlir/IR/Block.h"

namespace braid {

/// Makes the ownership in a block of rt ops that ends in a func.return explicit: every owned handle is released right
/// after its last use, or returned; borrowed handles, and those returned twice, are retained for the return.
void insertLifetimes(mlir::Block &block);

} // namespace braid

#endif // BRAID_LIB_CONVERSION_BRAIDTORT_LIFETIMES_H
