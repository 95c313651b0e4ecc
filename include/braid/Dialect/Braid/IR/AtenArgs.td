//===- AtenArgs.td - Arguments of ATen operators in ODS -----*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One class per kind of schema argument, and the base class that turns a list of them into an op. An op that follows
// its schema is one definition: import, printing, code generation and the runtime call all read the same list.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_ATENARGS_TD
#define BRAID_DIALECT_BRAID_IR_ATENARGS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "braid/Dialect/Braid/IR/BraidDialect.td"
include "braid/Dialect/Braid/IR/BraidInterfaces.td"

/// Int attributes as int64_t; ODS's own I64Attr reads back as unsigned.
def Braid_IntAttr : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer"> {
  let convertFromStorage = "$_self.getInt()";
}
/// An int, float or bool, as Python passed it: at::Scalar.
def Braid_ScalarAttr : Attr<CPred<"::llvm::isa<::mlir::IntegerAttr, ::mlir::FloatAttr>($_self)">, "scalar"> {
  let storageType = "::mlir::TypedAttr";
  let returnType = "::mlir::TypedAttr";
  let convertFromStorage = "$_self";
}

class AtenArg<string argName, string argKind, dag odsArguments, bit isVariadic = false> {
  string name = argName;
  string kind = argKind;
  dag arguments = odsArguments;
  bit variadic = isVariadic;
}

// Operands.
class T<string n> : AtenArg<n, "Tensor", !dag(ins, [AnyRankedTensor], [n])>;
class OptT<string n> : AtenArg<n, "OptionalTensor", !dag(ins, [Optional<AnyRankedTensor>], [n]), true>;
class TList<string n> : AtenArg<n, "TensorList", !dag(ins, [Variadic<AnyRankedTensor>], [n]), true>;
/// Tensor?[]: `present_<name>` says for each entry whether it has an operand.
class OptTList<string n> : AtenArg<n, "OptionalTensorList",
  !dag(ins, [Variadic<AnyRankedTensor>, DenseBoolArrayAttr], [n, "present_" # n]), true>;

// Sizes: an index operand, or a constant in `static_<name>`. In lists kDynamic marks the entries that are operands.
class SymInt<string n> : AtenArg<n, "SymInt",
  !dag(ins, [Optional<Index>, OptionalAttr<Braid_IntAttr>], [n, "static_" # n]), true>;
class SymIntList<string n> : AtenArg<n, "SymIntList",
  !dag(ins, [Variadic<Index>, DenseI64ArrayAttr], [n, "static_" # n]), true>;

// Attributes. A default is the schema's own; an absent attribute leaves the argument to it.
class Int<string n, string default = ""> : AtenArg<n, "Int",
  !dag(ins, [!if(!empty(default), Braid_IntAttr, DefaultValuedOptionalAttr<Braid_IntAttr, default>)], [n])>;
class OptInt<string n> : AtenArg<n, "Int", !dag(ins, [OptionalAttr<Braid_IntAttr>], [n])>;
class Float<string n, string default = ""> : AtenArg<n, "Float",
  !dag(ins, [!if(!empty(default), OptionalAttr<F64Attr>, DefaultValuedOptionalAttr<F64Attr, default>)], [n])>;
class Bool<string n, string default = "false"> : AtenArg<n, "Bool",
  !dag(ins, [DefaultValuedOptionalAttr<BoolAttr, default>], [n])>;
class Str<string n> : AtenArg<n, "Str", !dag(ins, [OptionalAttr<StrAttr>], [n])>;
class Scalar<string n> : AtenArg<n, "Scalar", !dag(ins, [OptionalAttr<Braid_ScalarAttr>], [n])>;
class Dtype<string n = "dtype"> : AtenArg<n, "Dtype", !dag(ins, [OptionalAttr<TypeAttr>], [n])>;
class IntList<string n> : AtenArg<n, "IntList", !dag(ins, [OptionalAttr<DenseI64ArrayAttr>], [n])>;
class BoolList<string n> : AtenArg<n, "BoolList", !dag(ins, [OptionalAttr<DenseBoolArrayAttr>], [n])>;

/// An ATen operator. `shapeRule` and `flopsRule` name C++ functions in braid::shapes and braid::costs that take the op;
/// `gradientRule` one in braid::gradients, or "" if the op is not differentiable; `factorRule` one in braid::factors, or
/// "" if the op has no factor map.
class Braid_AtenOp<string mnemonic, string atenName, list<AtenArg> args, string shapeRule, string gradientRule = "",
                   string flopsRule = "elementwise", dag res = (outs AnyRankedTensor:$result),
                   string factorRule = "">
    : Op<Braid_Dialect, mnemonic, !listconcat(
        // ODS refuses the trait where there is nothing to segment.
        !if(!gt(!foldl(0, args, count, arg, !add(count, arg.variadic)), 1), [AttrSizedOperandSegments], []<Trait>), [
        Pure, DeclareOpInterfaceMethods<AtenOpInterface>,
        DeclareOpInterfaceMethods<ShapeOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface>,
        DeclareOpInterfaceMethods<LayoutOpInterface, ["getFactorMap"]>])> {
  let summary = atenName;
  let arguments = !foldl((ins), args, all, arg, !con(all, arg.arguments));
  let results = res;
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getAtenName() { return "}] # atenName # [{"; }
    ::llvm::ArrayRef<::braid::ArgSpec> $cppClass::getArgSpecs() {
      static constexpr ::braid::ArgSpec specs[] = {}] # !interleave(!foreach(arg, args, "{::braid::ArgKind::" # arg.kind # ", \"" # arg.name # "\"}"), ", ")
      # [{};
      return specs;
    }
    ::llvm::LogicalResult $cppClass::inferShapes(::braid::ShapeAnalysis &analysis,
                                                 ::llvm::SmallVectorImpl<::braid::TensorShape> &results) {
      return ::braid::shapes::}] # shapeRule # [{(*this, analysis, results);
    }
    bool $cppClass::isDifferentiable() { return }] # !if(!empty(gradientRule), "false", "true") # [{; }
    ::llvm::LogicalResult $cppClass::buildGradient(::braid::GradientBuilder &gradient) {
      return }] # !if(!empty(gradientRule), "::llvm::success()",
                      "::braid::gradients::" # gradientRule # "(*this, gradient)") # [{;
    }
    ::braid::plan::Expr $cppClass::getFlops(::braid::ShapeAnalysis &analysis) {
      return ::braid::costs::}] # flopsRule # [{(*this, analysis);
    }
    std::optional<::braid::FactorMap> $cppClass::getFactorMap(::braid::ShapeAnalysis &analysis) {
      return }] # !if(!empty(factorRule), "std::nullopt",
                      "::braid::factors::" # factorRule # "(*this, analysis)") # [{;
    }
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser, ::mlir::OperationState &state) {
      return ::braid::parseAtenOp(getArgSpecs(), parser, state);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { ::braid::printAtenOp(*this, getArgSpecs(), printer); }
  }];
}

/// An ATen operator with two or more results.
class Braid_AtenMultiOp<string mnemonic, string atenName, list<AtenArg> args, dag res, string shapeRule,
                        string gradientRule = "", string flopsRule = "elementwise", string factorRule = "">
    : Braid_AtenOp<mnemonic, atenName, args, shapeRule, gradientRule, flopsRule, res, factorRule>;

#endif // BRAID_DIALECT_BRAID_IR_ATENARGS_TD
