//===- AtenCall.h - Arguments of ATen operators -------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One view of every ATen call in the IR, typed or opaque: a list of named arguments in the schema's order, each made of
// operands and a static part. Import builds calls through it, code generation and printing read them through it.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_ATENCALL_H
#define BRAID_DIALECT_BRAID_IR_ATENCALL_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include <variant>

namespace braid {

class ShapeAnalysis;

enum class ArgKind {
  Tensor,
  OptionalTensor,
  TensorList,
  OptionalTensorList,
  SymInt,
  SymIntList,
  Int,
  Float,
  Bool,
  Str,
  Scalar,
  Dtype,
  IntList,
  BoolList
};

/// True for kinds whose argument has an operand segment.
bool hasOperands(ArgKind kind);
/// True for kinds whose argument has an attribute, named getAttrName(spec).
bool hasAttr(ArgKind kind);

struct ArgSpec {
  ArgKind kind;
  llvm::StringLiteral name;
};

/// "static_size" for a SymIntList named size, "present_indices" for an OptionalTensorList, else the name.
std::string getAttrName(ArgKind kind, llvm::StringRef name);

/// One argument of a call as the op holds it. `operands` are tensors or index values; `attr` is null where absent.
struct AtenArg {
  ArgKind kind;
  llvm::StringRef name;
  mlir::OperandRange operands;
  mlir::Attribute attr;
};

/// A whole call. An absent optional argument stays in the list with no operands and no attribute.
struct AtenCall {
  llvm::StringRef name; // "aten::add.Tensor"
  llvm::SmallVector<AtenArg> args;
};

/// The call that an op stands for: an AtenOpInterface or a braid.aten. Nothing for any other op.
std::optional<AtenCall> getAtenCall(mlir::Operation *op);

/// A value for one argument when building a call: absent, a tensor (possibly null: absent), a constant, or lists.
/// An OpFoldResult is an index value or an integer attribute.
struct ArgValue {
  using Tensors = llvm::SmallVector<mlir::Value>;
  using Sizes = llvm::SmallVector<mlir::OpFoldResult>;
  std::variant<std::monostate, mlir::Value, mlir::OpFoldResult, mlir::Attribute, Tensors, Sizes> storage;

  ArgValue() = default;
  ArgValue(std::nullopt_t) {}
  ArgValue(mlir::Value tensor) {
    if (tensor)
      storage = tensor;
  }
  ArgValue(mlir::OpFoldResult size) : storage(size) {}
  ArgValue(mlir::Attribute attr) : storage(attr) {}
  ArgValue(Tensors tensors) : storage(std::move(tensors)) {}
  ArgValue(Sizes sizes) : storage(std::move(sizes)) {}
};

/// Builds `opName` (an AtenOpInterface) from argument values in the order of its specs; missing trailing values are
/// absent. Result types come from the op's shape rule, which reports errors at `loc`.
mlir::FailureOr<mlir::Operation *> buildAtenOp(mlir::OpBuilder &builder, mlir::Location loc,
                                               mlir::OperationName opName, llvm::ArrayRef<ArgValue> values,
                                               ShapeAnalysis &shapes);

/// `(name = value, ...) {attributes} : (tensor types) -> result types`, for every AtenOpInterface.
mlir::ParseResult parseAtenOp(llvm::ArrayRef<ArgSpec> specs, mlir::OpAsmParser &parser, mlir::OperationState &state);
void printAtenOp(mlir::Operation *op, llvm::ArrayRef<ArgSpec> specs, mlir::OpAsmPrinter &printer);

} // namespace braid

#endif // BRAID_DIALECT_BRAID_IR_ATENCALL_H
