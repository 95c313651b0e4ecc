//===- BraidDialect.td - The model graph dialect ------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_BRAIDDIALECT_TD
#define BRAID_DIALECT_BRAID_IR_BRAIDDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Braid_Dialect : Dialect {
  let name = "braid";
  let summary = "The model graph: ATen operators on tensors, parameters by reference, calls of units";
  let description = [{
    Values are ranked builtin tensors; sizes are `index` values. Operators are named after their ATen schema and keep
    its argument names, so that an op prints as `braid.view(self = %x, size = [%b, 32])`. See docs/Dialects/Braid.md.
  }];
  let cppNamespace = "::braid";
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void addAtenOperations(); // in a file of its own: it is most of the dialect's code
  }];
}

def Braid_ModuleAttr : AttrDef<Braid_Dialect, "Module"> {
  let mnemonic = "module";
  let summary = "The torch module that a function is one call of: its path and class";
  let parameters = (ins "::mlir::StringAttr":$path, "::mlir::StringAttr":$className);
  let assemblyFormat = "`<` $path `,` `class` `=` $className `>`";
}

#endif // BRAID_DIALECT_BRAID_IR_BRAIDDIALECT_TD
