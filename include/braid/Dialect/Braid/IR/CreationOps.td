//===- CreationOps.td - ATen operators ---------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_CREATIONOPS_TD
#define BRAID_DIALECT_BRAID_IR_CREATIONOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

#endif // BRAID_DIALECT_BRAID_IR_CREATIONOPS_TD
