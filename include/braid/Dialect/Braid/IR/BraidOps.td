//===- BraidOps.td - Structure of a model graph -------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_BRAIDOPS_TD
#define BRAID_DIALECT_BRAID_IR_BRAIDOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "braid/Dialect/Braid/IR/BraidDialect.td"
include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_Op<string mnemonic, list<Trait> traits = []> : Op<Braid_Dialect, mnemonic, traits>;

def Braid_WeightsOp : Braid_Op<"weights", [Symbol]> {
  let summary = "The file that parameters are read from";
  let description = [{
    Nothing of the file is in the IR. `bytes` and `digest` (xxh64 of the archive's directory, which holds a checksum of
    every record) let the runtime refuse another file.
    ```mlir
    braid.weights @weights file("model.pt") {bytes = 263962, digest = "90fe0c1a6be71d55"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$file, I64Attr:$bytes, StrAttr:$digest);
  let assemblyFormat = "$sym_name `file` `(` $file `)` attr-dict";
}

def Braid_ParamOp : Braid_Op<"param", [Symbol]> {
  let summary = "A parameter, buffer or constant of the model, by reference into the weight file";
  let description = [{
    `offset` counts bytes from the start of the file, `strides` elements (absent: row-major). `aliases` are the other
    names of a tied parameter. `kind` is "parameter", "buffer" or "constant".
    ```mlir
    braid.param @"net.up.weight" : tensor<64x32xf32> at 4096 {requires_grad}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, I64Attr:$offset,
                       DefaultValuedOptionalAttr<StrAttr, "\"parameter\"">:$kind, UnitAttr:$requires_grad,
                       OptionalAttr<DenseI64ArrayAttr>:$strides, OptionalAttr<StrArrayAttr>:$aliases);
  let assemblyFormat = "$sym_name `:` $type `at` $offset attr-dict";
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() { return ::llvm::cast<::mlir::RankedTensorType>(getType()); }
  }];
}

def Braid_GetParamOp : Braid_Op<"get_param", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of a parameter";
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Braid_ConstantOp : Braid_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A small tensor with its values";
  let description = [{Large constants of a trace are braid.params of kind "constant" instead.}];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Braid_SizeOp : Braid_Op<"size", [Pure]> {
  let summary = "The size of one dim";
  let arguments = (ins AnyRankedTensor:$tensor, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$tensor `,` $dim attr-dict `:` type($tensor)";
  let hasFolder = 1;
}

def Braid_SymbolOp : Braid_Op<"symbol", [Pure]> {
  let summary = "The size of a named dim of the inputs";
  let arguments = (ins StrAttr:$name);
  let results = (outs Index:$result);
  let assemblyFormat = "$name attr-dict";
}

def Braid_ScalarTensorOp : Braid_Op<"scalar_tensor", [Pure, DeclareOpInterfaceMethods<ShapeOpInterface>]> {
  let summary = "A size used as a value: a 0-dim int64 tensor";
  let arguments = (ins Index:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Braid_OpaqueOp : Braid_Op<"aten", [Pure, AttrSizedOperandSegments, DeclareOpInterfaceMethods<ShapeOpInterface>,
                                      DeclareOpInterfaceMethods<GradientOpInterface>]> {
  let summary = "Any ATen operator that has no typed op";
  let description = [{
    `names` and `kinds` spell the arguments as a typed op's specs do; `constants` has one entry for each argument that
    is no operand (unit otherwise), `counts` the number of tensor operands of each argument. `dims` gives each result's
    dims as expressions over the operands' dims: `a.0` is dim 0 of the first tensor operand.
    Its gradient is ATen's own: the operator is run again under autograd.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$tensors, Variadic<Index>:$indices, StrAttr:$name, StrArrayAttr:$names,
                       DenseI64ArrayAttr:$kinds, DenseI64ArrayAttr:$counts, ArrayAttr:$constants, ArrayAttr:$dims);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$name `(` $tensors `)` (`sizes` `(` $indices^ `)`)? attr-dict `:` functional-type($tensors, $results)";
  let hasVerifier = 1;
}

def Braid_AtenGradientOp : Braid_Op<"aten_gradient", [Pure, AttrSizedOperandSegments]> {
  let summary = "The gradient of an operator by running it again under ATen's autograd";
  let description = [{
    For a braid.aten and for typed ops without a gradient of their own. Operands are the operator's, then the cotangents
    of its results (`present_cotangents` says which are there). `wanted` numbers the tensor operands whose gradients are
    the results.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$tensors, Variadic<Index>:$indices,
                       Variadic<AnyRankedTensor>:$cotangents, StrAttr:$name, StrArrayAttr:$names,
                       DenseI64ArrayAttr:$kinds, DenseI64ArrayAttr:$counts, ArrayAttr:$constants,
                       DenseBoolArrayAttr:$present_cotangents, DenseI64ArrayAttr:$wanted);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $name `(` $tensors `)` (`sizes` `(` $indices^ `)`)? `cotangents` `(` $cotangents `)` attr-dict
    `:` functional-type($tensors, $results) `,` type($cotangents)
  }];
}

def Braid_CallOp : Braid_Op<"call", [AttrSizedOperandSegments, CallOpInterface,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>, Pure]> {
  let summary = "Runs a unit";
  let description = [{
    Operands are values, then the unit's parameters as values (`braid.get_param` results in @main, arguments inside a
    stage). The callee is private and takes them in the same order. `streams` numbers the streams of random numbers that
    the callee's ops draw from: `stream = 1` inside of it is the second of them. The callee has `braid.streams`, their
    number.
    ```mlir
    %1 = braid.call @CLIPEncoderLayer(%0) params(%w, %b) {path = "vision.layers.0"} : ...
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$params,
                       OptionalAttr<StrAttr>:$path, OptionalAttr<DenseI64ArrayAttr>:$streams);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `(` $inputs `)` (`params` `(` $params^ `)`)? attr-dict
    `:` functional-type($inputs, $results) (`,` type($params)^)?
  }];
  let extraClassDeclaration = [{
    operand_range getArgOperands() { return getOperands(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() {
      return ::mlir::MutableOperandRange(*this, 0, getNumOperands());
    }
    ::mlir::CallInterfaceCallable getCallableForCallee() { return getCalleeAttr(); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
    ::mlir::ArrayAttr getArgAttrsAttr() { return {}; }
    ::mlir::ArrayAttr getResAttrsAttr() { return {}; }
    void setArgAttrsAttr(::mlir::ArrayAttr) {}
    void setResAttrsAttr(::mlir::ArrayAttr) {}
    ::mlir::Attribute removeArgAttrsAttr() { return {}; }
    ::mlir::Attribute removeResAttrsAttr() { return {}; }
  }];
}

def Braid_DerivativeOp : Braid_Op<"derivative", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Ties a unit to its forward and backward functions";
  let description = [{
    With inputs x, parameters p, results y, residuals R and carries C: forward (x, p) -> (y, R);
    input (p, R, dy) -> (dx, C); weight (p, R, C) -> dp; full (p, R, dy) -> (dx, dp). dy has the results marked in
    `result_grads`, dx the inputs in `input_grads`, dp the parameters in `param_grads`.

    `policy` ("selective", "full") asks for recomputation, and `recompute` has it once braid-recompute has run: forward
    then gives (y, K) for what is kept, and recompute (p, K) -> R comes before the backward.
  }];
  let arguments = (ins FlatSymbolRefAttr:$unit, FlatSymbolRefAttr:$forward,
                       OptionalAttr<FlatSymbolRefAttr>:$recompute, OptionalAttr<FlatSymbolRefAttr>:$input,
                       OptionalAttr<FlatSymbolRefAttr>:$weight, OptionalAttr<FlatSymbolRefAttr>:$full,
                       DenseBoolArrayAttr:$input_grads, DenseBoolArrayAttr:$param_grads,
                       DenseBoolArrayAttr:$result_grads, OptionalAttr<StrAttr>:$policy);
  let assemblyFormat = [{
    $unit `forward` `(` $forward `)` (`recompute` `(` $recompute^ `)`)? (`input` `(` $input^ `)`)?
    (`weight` `(` $weight^ `)`)? (`full` `(` $full^ `)`)? attr-dict
  }];
}

#endif // BRAID_DIALECT_BRAID_IR_BRAIDOPS_TD
