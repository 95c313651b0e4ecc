//===- BraidInterfaces.td - What passes ask of an op --------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_BRAIDINTERFACES_TD
#define BRAID_DIALECT_BRAID_IR_BRAIDINTERFACES_TD

include "mlir/IR/OpBase.td"

def AtenOpInterface : OpInterface<"AtenOpInterface"> {
  let cppNamespace = "::braid";
  let description = [{
    A typed ATen operator. Import and code generation go by these facts alone. braid.aten, which wraps any other
    operator, is no AtenOpInterface; `getAtenCall` answers for both.
  }];
  let methods = [
    StaticInterfaceMethod<[{The operator with its overload: "aten::add.Tensor".}], "::llvm::StringRef", "getAtenName">,
    StaticInterfaceMethod<[{The schema's arguments that the op holds, in the schema's order.}],
                          "::llvm::ArrayRef<::braid::ArgSpec>", "getArgSpecs">
  ];
}

def ShapeOpInterface : OpInterface<"ShapeOpInterface"> {
  let cppNamespace = "::braid";
  let description = [{Shapes and element types of results from those of operands. Every op's rule must also hold for
    dims of size zero. Reports what is wrong as an error at the op.}];
  let methods = [
    InterfaceMethod<"", "::llvm::LogicalResult", "inferShapes",
                    (ins "::braid::ShapeAnalysis &":$analysis,
                         "::llvm::SmallVectorImpl<::braid::TensorShape> &":$results)>
  ];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::braid";
  let description = [{Reverse-mode differentiation: the op emits the cotangents of its operands with the builder.}];
  let methods = [
    StaticInterfaceMethod<[{False if no result depends differentiably on any operand (comparisons, integers).}],
                          "bool", "isDifferentiable">,
    InterfaceMethod<[{Called only if a result has a cotangent and an operand needs one.}],
                    "::llvm::LogicalResult", "buildGradient", (ins "::braid::GradientBuilder &":$gradient)>
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::braid";
  let description = [{The work of an op, for balancing and simulation.}];
  let methods = [
    InterfaceMethod<[{Floating-point operations of one execution; a multiply and an add are two.}],
                    "::braid::plan::Expr", "getFlops", (ins "::braid::ShapeAnalysis &":$analysis)>
  ];
}

def LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::braid";
  let description = [{How dims of operands and results correspond, as an einsum-like factor map (as in Shardy): the
    sample analysis, and layout propagation, are written once over these.}];
  let methods = [
    InterfaceMethod<[{Nothing if the op has no rule: then its operands and results are taken whole.}],
                    "std::optional<::braid::FactorMap>", "getFactorMap", (ins "::braid::ShapeAnalysis &":$analysis),
                    "", "return std::nullopt;">
  ];
}

#endif // BRAID_DIALECT_BRAID_IR_BRAIDINTERFACES_TD
