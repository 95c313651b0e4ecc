//===- RtTypes.td - Handles, sites, argument places ---------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_RT_IR_RTTYPES_TD
#define BRAID_DIALECT_RT_IR_RTTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "braid/Dialect/Rt/IR/RtDialect.td"

def Rt_TensorType : TypeDef<Rt_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let summary = "A handle to a tensor: braid_tensor of the C ABI";
}
/// Buildable, so that assembly formats need not spell it.
def Rt_Tensor : Type<CPred<"::llvm::isa<::braid::rt::TensorType>($_self)">, "tensor handle", "::braid::rt::TensorType">,
                BuildableType<"::braid::rt::TensorType::get($_builder.getContext())">;

def Rt_SiteAttr : AttrDef<Rt_Dialect, "Site"> {
  let mnemonic = "site";
  let summary = "Where a call comes from: module path, Python file and line; for messages only";
  let parameters = (ins "::mlir::StringAttr":$module, "::mlir::StringAttr":$file, "int32_t":$line);
  let assemblyFormat = "`<` $module `,` $file `,` $line `>`";
}

// What stands in a call's list of values for an argument that is an operand. Every other entry is the constant itself.
def Rt_OperandAttr : AttrDef<Rt_Dialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "The next tensor operand";
}
def Rt_SizeAttr : AttrDef<Rt_Dialect, "Size"> {
  let mnemonic = "size";
  let summary = "The next index operand";
}
def Rt_NoneAttr : AttrDef<Rt_Dialect, "None"> {
  let mnemonic = "none";
  let summary = "An argument that is None";
}

#endif // BRAID_DIALECT_RT_IR_RTTYPES_TD
