//===- Passes.td - Passes on the model graph ----------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_TRANSFORMS_PASSES_TD
#define BRAID_DIALECT_BRAID_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Freeze : Pass<"braid-freeze", "::mlir::ModuleOp"> {
  let summary = "Freezes the parameters of the plan's frozen components";
  let description = [{
    A parameter belongs to the component of its module; that of a frozen one loses `requires_grad`, so nothing is
    computed for its gradient.
  }];
  let options = [Option<"planFile", "plan", "std::string", "\"\"", "plan.yaml">];
  let statistics = [Statistic<"numFrozen", "frozen", "Parameters frozen">];
}

def AssignCollateRules : Pass<"braid-assign-collate-rules", "::mlir::ModuleOp"> {
  let summary = "Gives the inputs of @main the collate rules of the plan";
  let description = [{
    Says by `braid.collate` how an input divides among micro-batches (docs/Samples.md), and checks that the rules fit
    the inputs and each other. An input without a rule is stacked where its dim 0 counts the samples, else shared.
    ```mlir
    func.func @main(%x: tensor<?x12xf64> {braid.input = "pixels", braid.dims = ["patches", "12"]})           // before
    func.func @main(%x: tensor<?x12xf64> {braid.input = "pixels", braid.dims = ["patches", "12"],
                                          braid.collate = "concat(0)"})                                     // after
    ```
  }];
  let options = [Option<"planFile", "plan", "std::string", "\"\"", "plan.yaml">];
}

def InlineModules : Pass<"braid-inline-modules", "::mlir::ModuleOp"> {
  let summary = "Inlines the functions of module calls into @main";
  let description = [{
    Each op gets the path of the module that it came from as `path`; `braid.classes` on the module keeps the class of
    each path.
    ```mlir
    %0 = call @net.up(%x) : ...                 // before
    %0 = braid.linear(...) {path = "net.up"}    // after
    ```
  }];
}

def Autocast : Pass<"braid-autocast", "::mlir::ModuleOp"> {
  let summary = "Computes products in bfloat16 with float32 weights, where the plan says so";
  let description = [{
    Types become those of `torch.autocast` by its lists for CUDA: operands of matrix products, convolutions and attention
    are cast to bf16, those of sums, norms, exponentials and losses to float32, and other ops compute in their operands'
    types. Parameters, their gradients, buffers and the loss keep their types.
    ```mlir
    %0 = braid.linear(input = %x, weight = %w) : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>   // before
    %1 = braid.to(self = %x, dtype = bf16) : (tensor<?x4xf32>) -> tensor<?x4xbf16>                       // after
    %2 = braid.to(self = %w, dtype = bf16) : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %3 = braid.linear(input = %1, weight = %2) : (tensor<?x4xbf16>, tensor<8x4xbf16>) -> tensor<?x8xbf16>
    ```
  }];
  let options = [Option<"planFile", "plan", "std::string", "\"\"", "plan.yaml, whose precision.compute replaces type">,
                 Option<"type", "type", "std::string", "\"\"", "bf16, or nothing">];
  let statistics = [Statistic<"numCasts", "casts", "Casts inserted">];
}

def ResolveShapes : Pass<"braid-resolve-shapes", "::mlir::ModuleOp"> {
  let summary = "Turns every size into an expression over named symbols";
  let description = [{
    After it there is no `braid.size`, no -1, and every index value is arith over `braid.symbol` and constants. Result
    types are as static as the expressions are. Equalities that an op needed and the example fulfils become
    `braid.guards`.
    ```mlir
    %s = braid.size %x, 1                              // before
    %y = braid.view(self = %x, size = [-1, %s, 32])
    %s = braid.symbol "seq"                            // after
    %b = braid.symbol "batch"
    %y = braid.view(self = %x, size = [%b, %s, 32])
    ```
  }];
  let statistics = [Statistic<"numGuards", "guards", "Equalities assumed from the example">];
}

def RaiseMergeRows : Pass<"braid-raise-merge-rows", "::mlir::ModuleOp"> {
  let summary = "Recognises masked_scatter of whole rows as a merge of features into a sequence";
  let description = [{
    `braid.merge_rows` checks that the mask has as many rows as the source, so that dividing the batch cannot give one
    sample's features to another. HuggingFace's models check the same before they trace.
    ```mlir
    %m = braid.masked_scatter(self = %x, mask = %mask, source = %rows)   // before
    %m = braid.merge_rows(self = %x, mask = %mask, source = %rows)       // after
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Merges found">];
}

def SplitLoss : Pass<"braid-split-loss", "::mlir::ModuleOp"> {
  let summary = "Makes each loss term a sum divided by a count from @prologue";
  let description = [{
    The mean of cross entropy, MSE or BCE becomes its sum divided by a count that @main takes as an argument with
    `braid.count`; @prologue computes the counts from the inputs alone, so that micro-batches of unequal size add up to
    the loss of the whole batch. Terms may be added, stacked, and scaled by what is the same for all samples. Where the
    model divides a sum by what it counts itself, sums over masks, labels and weights of the inputs in the divisor, and
    multiples of the batch's size, become counts as well; weights are summed in float64. `braid.nonzero` says which
    counts leave the loss undefined where they are 0. What no input enters, such as a penalty on parameters or a
    number, is divided by the number of parts, an argument with `braid.parts`, and added by each of them.
    A loss of another form stays whole, and `braid.whole_loss` on the module says why: then the batch cannot be divided.
  }];
  let statistics = [Statistic<"numTerms", "terms", "Loss terms with a count">];
}

def AnalyzeSamples : Pass<"braid-analyze-samples", "::mlir::ModuleOp"> {
  let summary = "Proves that the batch may be divided into micro-batches";
  let description = [{
    Follows the sample dim of the inputs through factor maps to the loss. Where an op mixes samples, or nothing is known
    of it, `braid.whole_loss` on the module says which and where; the batch is then not divided.
  }];
}

def RaiseLinearCrossEntropy : Pass<"braid-raise-linear-cross-entropy", "::mlir::ModuleOp"> {
  let summary = "Makes one op of a language model's head and its summed cross entropy";
  let description = [{
    The logits of a large vocabulary are the largest tensor of a step. `braid.linear_cross_entropy` computes them for the
    rows whose target counts, once, and turns them into their own gradient in place. The linear may be followed by views
    and slices that leave its last dim alone, as of models that shift the labels; they move to its input. Only float32
    and float64, targets that are classes, no class weights, no smoothing, and logits that nothing else reads.
    ```mlir
    %0 = braid.linear(input = %x, weight = %w)                                   // before
    %1 = braid.view(self = %0, size = [%n, 8192])
    %2 = braid.cross_entropy_loss(self = %1, target = %t, reduction = 2)
    %0 = braid.view(self = %x, size = [%n, 256])                                 // after
    %1:2 = braid.linear_cross_entropy(input = %0, weight = %w, target = %t)
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Heads found">];
}

def OutlineUnits : Pass<"braid-outline-units", "::mlir::ModuleOp"> {
  let summary = "Makes @main a graph of calls to units";
  let description = [{
    A unit is what a pipeline may cut: an element of the outermost module list (a transformer layer), or the outermost
    module with parameters outside of such lists. Ops of outer modules (masks, rotary tables, loss) become glue units,
    grouped by which units they depend on and which depend on them, so that the graph stays acyclic. Units with equal
    bodies share one function.
    ```mlir
    %1 = braid.call @LlamaDecoderLayer(%0, %mask) params(%w0, ...) {path = "net.model.layers.0"}
    %2 = braid.call @LlamaDecoderLayer(%1, %mask) params(%w1, ...) {path = "net.model.layers.1"}
    ```
  }];
  let statistics = [Statistic<"numUnits", "units", "Calls in @main">,
                    Statistic<"numFunctions", "functions", "Distinct unit functions">];
}

def Decompose : Pass<"braid-decompose", "::mlir::ModuleOp"> {
  let summary = "Rewrites ops whose gradient needs saved statistics into their parts";
  let description = [{
    layer_norm becomes native_layer_norm, cross_entropy_loss becomes log softmax and nll_loss_forward,
    scaled_dot_product_attention the fused kernel with its logsumexp or, where that does not apply, its mathematical
    form.
  }];
}

def Differentiate : Pass<"braid-differentiate", "::mlir::ModuleOp"> {
  let summary = "Gives each unit its forward and backward functions";
  let description = [{
    For each unit and each set of needed gradients: forward (values and residuals), backward-input, backward-weight
    and the fused backward, tied by a `braid.derivative`. Residuals and carries are tensors, and hold no parameter and
    nothing that is computed from parameters, constants and symbols alone: backward computes that again.

    Calls whose module the plan's `recompute` (or the option of that name) gives a policy have derivatives of their own,
    marked with it; braid-recompute does the rest.
  }];
  let options = [
    Option<"planFile", "plan", "std::string", "\"\"", "plan.yaml: its recompute">,
    Option<"recompute", "recompute", "std::string", "\"\"", "none, selective or full for all units, instead of the plan's">
  ];
  let statistics = [Statistic<"numDerivatives", "derivatives", "Units differentiated">];
}

def VerifyContract : Pass<"braid-verify-contract", "::mlir::ModuleOp"> {
  let summary = "Checks what may be assumed after a phase";
  let description = [{Each phase ends with it; docs/Architecture.md says what is checked.}];
  let options = [Option<"phase", "phase", "std::string", "\"import\"", "import, shapes, units or differentiate">];
}

#endif // BRAID_DIALECT_BRAID_TRANSFORMS_PASSES_TD
