//===- Describe.h - Where an op stands, for messages ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_DESCRIBE_H
#define BRAID_DIALECT_BRAID_IR_DESCRIBE_H

#include "mlir/IR/Operation.h"

#include <string>

namespace braid {

/// "braid.add in net.embed at modeling.py:12": the op, its module path and its Python line, as far as they are known.
std::string describe(mlir::Operation *op);

/// All of an op and its regions but locations: equal texts are equal ops, whatever options the program was started
/// with.
std::string textOf(mlir::Operation *op);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_DESCRIBE_H
