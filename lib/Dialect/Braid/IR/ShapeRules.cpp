//===- ShapeRules.cpp - What shape rules are written with ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeRules.h"

#include "braid/Dialect/Braid/IR/Describe.h"

using namespace mlir;

namespace braid::shapes {

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

InFlightDiagnostic Reader::error() {
  hasFailed = true;
  return op->emitOpError();
}

TensorShape Reader::shape(Value tensor) {
  FailureOr<TensorShape> shape = analysis.shapeOf(tensor);
  if (mlir::succeeded(shape))
    return *shape;
  hasFailed = true;
  return {{}, defaultFloat(op)};
}

SmallVector<TensorShape> Reader::shapes(ValueRange tensors) {
  SmallVector<TensorShape> shapes;
  for (Value tensor : tensors)
    shapes.push_back(shape(tensor));
  return shapes;
}

std::optional<Expr> Reader::size(Value dynamic, std::optional<int64_t> constant) {
  if (!dynamic)
    return constant ? std::optional<Expr>(Expr(*constant)) : std::nullopt;
  FailureOr<Expr> value = analysis.valueOf(dynamic);
  if (mlir::succeeded(value))
    return *value;
  hasFailed = true;
  return Expr(1);
}

Dims Reader::sizes(OperandRange dynamic, ArrayRef<int64_t> constants) {
  Dims sizes;
  auto operand = dynamic.begin();
  for (int64_t constant : constants) {
    if (!ShapedType::isDynamic(constant)) {
      sizes.push_back(Expr(constant));
    } else if (operand == dynamic.end()) {
      error() << "has fewer size operands than its list of sizes has dynamic entries";
      return sizes;
    } else {
      sizes.push_back(*size(*operand++, std::nullopt));
    }
  }
  if (operand != dynamic.end())
    error() << "has more size operands than its list of sizes has dynamic entries";
  return sizes;
}

int64_t Reader::dim(int64_t dim, int64_t rank) {
  int64_t count = std::max<int64_t>(rank, 1);
  if (dim >= -count && dim < count)
    return dim < 0 ? dim + count : dim;
  error() << "names dim " << dim << " of a tensor of rank " << rank << "; dims are " << -count << " to " << count - 1;
  return 0;
}

SmallVector<int64_t> Reader::dims(std::optional<ArrayRef<int64_t>> list, int64_t rank) {
  SmallVector<int64_t> dims;
  if (!list || list->empty()) {
    for (int64_t at = 0; at < rank; ++at)
      dims.push_back(at);
    return dims;
  }
  for (int64_t entry : *list)
    dims.push_back(dim(entry, rank));
  llvm::sort(dims);
  if (auto twice = std::adjacent_find(dims.begin(), dims.end()); twice != dims.end() && !hasFailed)
    error() << "names dim " << *twice << " twice";
  if (rank == 0)
    dims.clear();
  return dims;
}

bool Reader::equal(ArrayRef<Expr> a, ArrayRef<Expr> b) {
  if (a.size() != b.size())
    return false;
  for (auto [left, right] : llvm::zip(a, b))
    if (!equal(left, right))
      return false;
  return true;
}

std::optional<bool> Reader::isNonNegative(const Expr &size) {
  if (size.atLeast(0))
    return true;
  if ((Expr(-1) - size).atLeast(0))
    return false;
  if (analysis.assume({Expr(0), plan::Relation::LessEqual, size, describe(op)}))
    return true;
  if (analysis.assume({size, plan::Relation::Less, Expr(0), describe(op)}))
    return false;
  return std::nullopt;
}

std::optional<int64_t> Reader::fixed(const Expr &size) {
  if (std::optional<int64_t> constant = size.constant())
    return constant;
  std::optional<int64_t> example = analysis.example(size);
  if (example && equal(size, Expr(*example)))
    return example;
  return std::nullopt;
}

/// Of two sizes that are known to be equal, the one that reads better: what follows is compared with it.
static const Expr &simpler(const Expr &a, const Expr &b) {
  if (a == b || a.constant())
    return a;
  return b.constant() || b.str().size() < a.str().size() ? b : a;
}

Dims Reader::broadcast(ArrayRef<TensorShape> shapes) {
  Dims result;
  TensorShape sofar;
  for (const TensorShape &shape : shapes) {
    int64_t rank = std::max(sofar.rank(), shape.rank());
    Dims dims;
    for (int64_t at = 0; at < rank; ++at) {
      int64_t left = at - (rank - sofar.rank()), right = at - (rank - shape.rank());
      Expr a = left < 0 ? Expr(1) : sofar.dims[left], b = right < 0 ? Expr(1) : shape.dims[right];
      if (ShapeAnalysis::isOne(a)) {
        dims.push_back(b);
      } else if (ShapeAnalysis::isOne(b)) {
        dims.push_back(a);
      } else if (equal(a, b)) {
        dims.push_back(simpler(a, b));
      } else {
        error() << "cannot broadcast " << str(sofar) << " with " << str(shape) << ": " << a.str() << " and " << b.str()
                << " differ, and neither is 1";
        return shapes.front().dims;
      }
    }
    sofar.dims = dims;
  }
  return sofar.dims;
}

bool Reader::fits(ArrayRef<Expr> from, ArrayRef<Expr> to) {
  if (from.size() > to.size())
    return false;
  for (auto [a, b] : llvm::zip(from, to.drop_front(to.size() - from.size())))
    if (!ShapeAnalysis::isOne(a) && !equal(a, b))
      return false;
  return true;
}

void Reader::sameElementType(ArrayRef<std::pair<StringRef, TensorShape>> tensors) {
  if (hasFailed)
    return;
  const auto &[firstName, first] = tensors.front();
  for (const auto &[name, shape] : tensors.drop_front())
    if (shape.elementType != first.elementType) {
      error() << "takes operands of one element type, but '" << firstName << "' is " << first.elementType << " and '"
              << name << "' is " << shape.elementType;
      return;
    }
}

void Reader::floating(StringRef name, const TensorShape &shape) {
  if (!hasFailed && !isFloat(shape.elementType))
    error() << "takes floats, but '" << name << "' is " << shape.elementType;
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

bool isBool(Type type) { return type.isInteger(1); }
bool isFloat(Type type) { return isa<FloatType>(type); }
Type i1(Operation *op) { return IntegerType::get(op->getContext(), 1); }
Type i64(Operation *op) { return IntegerType::get(op->getContext(), 64); }
Type defaultFloat(Operation *op) { return Float32Type::get(op->getContext()); }

Type scalarType(TypedAttr scalar) {
  if (isa<FloatAttr>(scalar))
    return Float32Type::get(scalar.getContext());
  return scalar.getType().isInteger(1) ? scalar.getType() : IntegerType::get(scalar.getContext(), 64);
}

/// bool < integers < floats < complex numbers.
static int category(Type type) {
  if (isa<ComplexType>(type))
    return 3;
  return isFloat(type) ? 2 : isBool(type) ? 0 : 1;
}

Type promote(Type a, Type b) {
  if (a == b)
    return a;
  if (category(a) != category(b)) {
    Type higher = category(a) > category(b) ? a : b;
    return category(higher) == 3 ? Type() : higher;
  }
  unsigned left = a.getIntOrFloatBitWidth(), right = b.getIntOrFloatBitWidth();
  if (category(a) == 2)
    // float16 and bfloat16 have no common 16-bit type.
    return left == right ? Type(Float32Type::get(a.getContext())) : left > right ? a : b;
  if (category(a) == 1) {
    if (a.isUnsignedInteger() != b.isUnsignedInteger() && left == right)
      return left == 8 ? Type(IntegerType::get(a.getContext(), 16)) : Type();
    return left > right ? a : b;
  }
  return {};
}

Type resultType(ArrayRef<TensorShape> tensors, ArrayRef<TypedAttr> scalars) {
  Type withDims, withoutDims, numbers;
  auto include = [](Type &group, Type type) { group = group ? promote(group, type) : type; };
  for (const TensorShape &tensor : tensors)
    include(tensor.rank() ? withDims : withoutDims, tensor.elementType);
  for (TypedAttr scalar : scalars)
    include(numbers, scalarType(scalar));
  // A group of lower priority counts only if its category is higher.
  auto combine = [](Type higher, Type lower) {
    if (!higher || !lower)
      return higher ? higher : lower;
    if (category(higher) >= category(lower))
      return higher;
    return category(lower) == 2 || category(higher) == 0 ? promote(higher, lower) : higher;
  };
  return combine(withDims, combine(withoutDims, numbers));
}

} // namespace braid::shapes
