//===- AtenOps.td - ATen operators, by family ---------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_ATENOPS_TD
#define BRAID_DIALECT_BRAID_IR_ATENOPS_TD

include "braid/Dialect/Braid/IR/ElementwiseOps.td"
include "braid/Dialect/Braid/IR/ReductionOps.td"
include "braid/Dialect/Braid/IR/ViewOps.td"
include "braid/Dialect/Braid/IR/ContractionOps.td"
include "braid/Dialect/Braid/IR/NormAttentionOps.td"
include "braid/Dialect/Braid/IR/RecurrentOps.td"
include "braid/Dialect/Braid/IR/PoolingOps.td"
include "braid/Dialect/Braid/IR/GatherScatterOps.td"
include "braid/Dialect/Braid/IR/CreationOps.td"
include "braid/Dialect/Braid/IR/LossOps.td"

#endif // BRAID_DIALECT_BRAID_IR_ATENOPS_TD
