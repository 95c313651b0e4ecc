//===- RtOps.td - Runtime calls with explicit ownership ------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_RT_IR_RTOPS_TD
#define BRAID_DIALECT_RT_IR_RTOPS_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "braid/Dialect/Rt/IR/RtTypes.td"

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

def Rt_CallOp : Rt_Op<"call", [AttrSizedOperandSegments]> {
  let summary = "Calls an ATen operator; can fail";
  let description = [{
    `names` and `values` list the schema's arguments that are passed; all others take the schema's default. An argument
    is a tensor (`%x`), `none`, `tensors [%x, none]`, a size (`size %n`), a list of sizes (`[%n, 32]`), or a constant.
    ```mlir
    %1 = rt.call "aten::view"(self = %0, size = [%batch, 32]) at <"net.up", "model.py", 12> : !rt.tensor
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Rt_Tensor>:$tensors, Variadic<Index>:$sizes, StrArrayAttr:$names,
                       ArrayAttr:$values, OptionalAttr<Rt_SiteAttr>:$site);
  let results = (outs Variadic<Rt_Tensor>:$results);
  let assemblyFormat = [{
    $name `` custom<Arguments>($tensors, $sizes, $names, $values) (`at` $site^)? attr-dict `:` type($results)
  }];
  let hasVerifier = 1;
}

def Rt_CallGradientOp : Rt_Op<"call_gradient", [AttrSizedOperandSegments]> {
  let summary = "The gradient of an ATen operator by ATen's own autograd; can fail";
  let description = [{
    Arguments are the operator's own. `cotangents` has one entry for each of its results, `wanted` numbers the tensor
    arguments (entries of lists count, absent ones too) whose gradients are the results.
    ```mlir
    %d = rt.call_gradient "aten::erf"(self = %x) cotangents [%dy] wanted [0] : !rt.tensor
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Rt_Tensor>:$tensors, Variadic<Index>:$sizes,
                       Variadic<Rt_Tensor>:$cotangents, StrArrayAttr:$names, ArrayAttr:$values,
                       ArrayAttr:$cotangent_values, DenseI32ArrayAttr:$wanted, OptionalAttr<Rt_SiteAttr>:$site);
  let results = (outs Variadic<Rt_Tensor>:$results);
  let assemblyFormat = [{
    $name `` custom<Arguments>($tensors, $sizes, $names, $values)
    `cotangents` custom<TensorList>($cotangents, $cotangent_values) `wanted` $wanted (`at` $site^)? attr-dict
    `:` type($results)
  }];
  let hasVerifier = 1;
}

def Rt_CheckRowsOp : Rt_Op<"check_rows"> {
  let summary = "Fails unless a mask has as many true entries as there are rows";
  let arguments = (ins Rt_Tensor:$mask, Index:$rows, StrAttr:$what, OptionalAttr<Rt_SiteAttr>:$site);
  let assemblyFormat = "$mask `,` $rows $what (`at` $site^)? attr-dict";
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

class Rt_RandomOp<string mnemonic, dag own, list<Trait> traits = []> : Rt_Op<mnemonic, traits> {
  let arguments = !con(own, (ins I64Attr:$stream, Optional<Index>:$before, Optional<Index>:$samples,
                                 OptionalAttr<Rt_SiteAttr>:$site));
  let results = (outs Rt_Tensor:$result);
}

def Rt_DropoutOp : Rt_RandomOp<"dropout", (ins Rt_Tensor:$input, F64Attr:$p), [AttrSizedOperandSegments]> {
  let summary = "Zeroes elements with probability p and scales the others, while training; can fail";
  let description = [{
    In a function with `rt.streams`, `stream` is a place in the list that its caller passes. Where dims hold samples,
    `before` counts the elements of the dims before them and `samples` the samples of this micro-batch.
    ```mlir
    %y = rt.dropout %x, 1.000000e-01 stream 0 before %c1 samples %batch : !rt.tensor
    ```
  }];
  let assemblyFormat = [{
    $input `,` $p `stream` $stream (`before` $before^)? (`samples` $samples^)? (`at` $site^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Rt_RandOp : Rt_RandomOp<"rand", (ins Variadic<Index>:$sizes, DenseI64ArrayAttr:$static_sizes, TypeAttr:$dtype),
                            [AttrSizedOperandSegments]> {
  let summary = "Uniform numbers in [0, 1); can fail";
  let description = [{`stream`, `before` and `samples` are as for rt.dropout.
    ```mlir
    %u = rt.rand [%batch, 1] f32 stream 3 before %c1 samples %batch : !rt.tensor
    ```
  }];
  let assemblyFormat = [{
    custom<DynamicIndexList>($sizes, $static_sizes) $dtype `stream` $stream (`before` $before^)? (`samples` $samples^)?
    (`at` $site^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Rt_KernelOp : Rt_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "A loop over elements, compiled to machine code";
  let description = [{
    The body says what is computed for one element of a space of `rank` dims, in scalars: its arguments are the inputs'
    elements, what it yields are the outputs'. An input of kind 0 has the last dim of the space; one of kind 1 is the
    same along it (a *row* value); one of kind 2 lacks that dim, and has all others. Outputs of kind 1 keep the last dim
    with size 1, those of kind 2 lack it. Other dims of inputs broadcast. `rt.row_sum` and `rt.row_max` combine a value over the row.
    ```mlir
    rt.kernel @rms rank 3 inputs [0, 0] outputs [0] {
    ^bb0(%x: f32, %w: f32):
      %0 = arith.mulf %x, %x : f32
      %1 = rt.row_sum %0 : f32
      ...
      rt.yield %5 : f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$rank, DenseI32ArrayAttr:$inputs, DenseI32ArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `rank` $rank `inputs` $inputs `outputs` $outputs attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Rt_YieldOp : Rt_Op<"yield", [Terminator, Pure, HasParent<"KernelOp">]> {
  let summary = "The elements of a kernel's outputs";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

class Rt_RowOp<string mnemonic, string text> : Rt_Op<mnemonic, [Pure, HasParent<"KernelOp">, SameOperandsAndResultType]> {
  let summary = text # " of a value over the row, in a kernel";
  let arguments = (ins AnyFloat:$value);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}
def Rt_RowSumOp : Rt_RowOp<"row_sum", "The sum">;
def Rt_RowMaxOp : Rt_RowOp<"row_max", "The maximum">;

def Rt_RowSizeOp : Rt_Op<"row_size", [Pure, HasParent<"KernelOp">]> {
  let summary = "The number of elements in a row, in a kernel";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}

def Rt_ColumnOp : Rt_Op<"column", [Pure, HasParent<"KernelOp">]> {
  let summary = "The number of the element in its row, in a kernel";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}

def Rt_LaunchOp : Rt_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over a space of the given sizes; can fail";
  let description = [{
    ```mlir
    %y = rt.launch @rms(%x, %w) over [%batch, %seq, 64] at <"net.norm", "model.py", 12> : !rt.tensor
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$inputs, Variadic<Index>:$sizes,
                       DenseI64ArrayAttr:$static_sizes, OptionalAttr<Rt_SiteAttr>:$site);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `over` custom<DynamicIndexList>($sizes, $static_sizes) (`at` $site^)? attr-dict `:`
    functional-type($inputs, $results)
  }];
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Rt_ConstantOp : Rt_Op<"constant", [Symbol]> {
  let summary = "A tensor that the program's initializer makes once";
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value);
  let assemblyFormat = "$sym_name `=` $value attr-dict";
  let hasVerifier = 1;
}

def Rt_GetConstantOp : Rt_Op<"get_constant", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A constant of the module, borrowed";
  let arguments = (ins FlatSymbolRefAttr:$constant);
  let results = (outs Rt_Tensor:$result);
  let assemblyFormat = "$constant attr-dict";
}

def Rt_ScalarOp : Rt_Op<"scalar"> {
  let summary = "A 0-dim int64 tensor; can fail";
  let arguments = (ins Index:$value, OptionalAttr<Rt_SiteAttr>:$site);
  let results = (outs Rt_Tensor:$result);
  let assemblyFormat = "$value (`at` $site^)? attr-dict";
}

def Rt_SymbolOp : Rt_Op<"symbol", [Pure]> {
  let summary = "The size of a named dim, by its number in the plan";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "$number attr-dict";
}

//===----------------------------------------------------------------------===//
// Functions and ownership
//===----------------------------------------------------------------------===//

def Rt_InvokeOp : Rt_Op<"invoke", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs another compiled function; can fail";
  let description = [{
    The callee sees the same symbols. `path` is the module that the call stands for, where the callee is shared by
    several: a failure inside is then told with it. `streams` are the streams of random numbers of a callee that has
    `rt.streams`, as many as that says.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Rt_Tensor>:$operands, OptionalAttr<StrAttr>:$path,
                       OptionalAttr<DenseI64ArrayAttr>:$streams);
  let results = (outs Variadic<Rt_Tensor>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` (`in` $path^)? (`streams` $streams^)? attr-dict
    `:` functional-type($operands, $results)
  }];
}

def Rt_RetainOp : Rt_Op<"retain"> {
  let summary = "Another owned handle to the same tensor";
  let arguments = (ins Rt_Tensor:$tensor);
  let results = (outs Rt_Tensor:$result);
  let assemblyFormat = "$tensor attr-dict";
}

def Rt_ReleaseOp : Rt_Op<"release"> {
  let summary = "Gives owned handles up";
  let arguments = (ins Variadic<Rt_Tensor>:$tensors);
  let assemblyFormat = "$tensors attr-dict";
}

#endif // BRAID_DIALECT_RT_IR_RTOPS_TD
