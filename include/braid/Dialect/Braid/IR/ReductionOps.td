//===- ReductionOps.td - Reductions and scans ------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_REDUCTIONOPS_TD
#define BRAID_DIALECT_BRAID_IR_REDUCTIONOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

/// `flopsRule`: one operation for each element that is read.
class Braid_ReductionOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule,
                        string gradientRule = "", string factorRule = "reduce">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, "reduction", factorRule = factorRule>;
/// Values, and where they came from.
class Braid_IndexedReductionOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule,
                               string gradientRule, string factorRule>
    : Braid_AtenMultiOp<mnemonic, atenName, args, (outs AnyRankedTensor:$values, AnyRankedTensor:$indices), shapeRule,
                        gradientRule, "reduction", factorRule>;

def Braid_SumOp : Braid_ReductionOp<"sum", "aten::sum", [T<"self">, Dtype<>], "sum", "sum">;
def Braid_SumDimOp : Braid_ReductionOp<"sum_dim", "aten::sum.dim_IntList",
  [T<"self">, IntList<"dim">, Bool<"keepdim">, Dtype<>], "sum", "sumDim">;
def Braid_MeanOp : Braid_ReductionOp<"mean", "aten::mean", [T<"self">, Dtype<>], "mean", "mean",
  "reduceWhole">;
def Braid_MeanDimOp : Braid_ReductionOp<"mean_dim", "aten::mean.dim",
  [T<"self">, IntList<"dim">, Bool<"keepdim">, Dtype<>], "mean", "meanDim", "reduceWhole">;
def Braid_VarCorrectionOp : Braid_ReductionOp<"var_correction", "aten::var.correction",
  [T<"self">, IntList<"dim">, Scalar<"correction">, Bool<"keepdim">], "variance", "varCorrection", "reduceWhole">;
def Braid_VarDimOp : Braid_ReductionOp<"var_dim", "aten::var.dim",
  [T<"self">, IntList<"dim">, Bool<"unbiased", "true">, Bool<"keepdim">], "variance", "varDim", "reduceWhole">;
def Braid_StdCorrectionOp : Braid_ReductionOp<"std_correction", "aten::std.correction",
  [T<"self">, IntList<"dim">, Scalar<"correction">, Bool<"keepdim">], "variance", "byAutograd", "reduceWhole">;
def Braid_VectorNormOp : Braid_ReductionOp<"linalg_vector_norm", "aten::linalg_vector_norm",
  [T<"self">, Scalar<"ord">, IntList<"dim">, Bool<"keepdim">, Dtype<>], "vectorNorm", "byAutograd", "reduceWhole">;
def Braid_ProdOp : Braid_ReductionOp<"prod", "aten::prod", [T<"self">, Dtype<>], "sum", "byAutograd", "reduceWhole">;
def Braid_ProdDimOp : Braid_ReductionOp<"prod_dim", "aten::prod.dim_int",
  [T<"self">, Int<"dim">, Bool<"keepdim">, Dtype<>], "sum", "byAutograd", "reduceWhole">;
def Braid_AmaxOp : Braid_ReductionOp<"amax", "aten::amax", [T<"self">, IntList<"dim">, Bool<"keepdim">], "extremum",
  "amax", "reduceWhole">;
def Braid_AminOp : Braid_ReductionOp<"amin", "aten::amin", [T<"self">, IntList<"dim">, Bool<"keepdim">], "extremum",
  "amin", "reduceWhole">;
def Braid_MaxOp : Braid_ReductionOp<"max", "aten::max", [T<"self">], "extremum", "max", "reduceWhole">;
def Braid_MinOp : Braid_ReductionOp<"min", "aten::min", [T<"self">], "extremum", "min", "reduceWhole">;
def Braid_MaxDimOp : Braid_IndexedReductionOp<"max_dim", "aten::max.dim", [T<"self">, Int<"dim">, Bool<"keepdim">],
  "extremumDim", "maxDim", "reduceWhole">;
def Braid_MinDimOp : Braid_IndexedReductionOp<"min_dim", "aten::min.dim", [T<"self">, Int<"dim">, Bool<"keepdim">],
  "extremumDim", "minDim", "reduceWhole">;
def Braid_MedianDimOp : Braid_IndexedReductionOp<"median_dim", "aten::median.dim",
  [T<"self">, Int<"dim">, Bool<"keepdim">], "extremumDim", "byAutograd", "reduceWhole">;
def Braid_ArgmaxOp : Braid_ReductionOp<"argmax", "aten::argmax", [T<"self">, OptInt<"dim">, Bool<"keepdim">],
  "argExtremum", "", "reduceWhole">;
def Braid_ArgminOp : Braid_ReductionOp<"argmin", "aten::argmin", [T<"self">, OptInt<"dim">, Bool<"keepdim">],
  "argExtremum", "", "reduceWhole">;
def Braid_AllOp : Braid_ReductionOp<"all", "aten::all", [T<"self">], "allAny", "", "reduceWhole">;
def Braid_AnyOp : Braid_ReductionOp<"any", "aten::any", [T<"self">], "allAny", "", "reduceWhole">;
def Braid_AllDimOp : Braid_ReductionOp<"all_dim", "aten::all.dim", [T<"self">, Int<"dim">, Bool<"keepdim">], "allAny",
  "", "reduceWhole">;
def Braid_AnyDimOp : Braid_ReductionOp<"any_dim", "aten::any.dim", [T<"self">, Int<"dim">, Bool<"keepdim">], "allAny",
  "", "reduceWhole">;
def Braid_LogsumexpOp : Braid_ReductionOp<"logsumexp", "aten::logsumexp", [T<"self">, IntList<"dim">, Bool<"keepdim">],
  "logsumexp", "logsumexp", "reduceWhole">;

// Along one dim.
def Braid_CumsumOp : Braid_ReductionOp<"cumsum", "aten::cumsum", [T<"self">, Int<"dim">, Dtype<>], "cumsum", "cumsum",
  "alongDim">;
def Braid_CumprodOp : Braid_ReductionOp<"cumprod", "aten::cumprod", [T<"self">, Int<"dim">, Dtype<>], "cumsum",
  "byAutograd", "alongDim">;
def Braid_DiffOp : Braid_ReductionOp<"diff", "aten::diff",
  [T<"self">, Int<"n", "1">, Int<"dim", "-1">, OptT<"prepend">, OptT<"append">], "diff", "diff", "alongDim">;
def Braid_SortOp : Braid_IndexedReductionOp<"sort", "aten::sort",
  [T<"self">, Int<"dim", "-1">, Bool<"descending">], "sort", "sort", "alongDim">;
def Braid_TopkOp : Braid_IndexedReductionOp<"topk", "aten::topk",
  [T<"self">, SymInt<"k">, Int<"dim", "-1">, Bool<"largest", "true">, Bool<"sorted", "true">], "topk", "topk",
  "alongDim">;

#endif // BRAID_DIALECT_BRAID_IR_REDUCTIONOPS_TD
