//===- ShapeAnalysis.cpp - Symbolic shapes of values ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Describe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace braid {

Expr TensorShape::numElements() const {
  Expr product(1);
  for (const Expr &dim : dims)
    product = product * dim;
  return product;
}

RankedTensorType TensorShape::toType() const {
  SmallVector<int64_t> sizes;
  for (const Expr &dim : dims)
    sizes.push_back(dim.constant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(sizes, elementType);
}

std::string str(const TensorShape &shape) {
  std::string text = "[";
  for (const Expr &dim : shape.dims)
    text += (text.size() == 1 ? "" : ", ") + dim.str();
  return text + "]";
}

ArrayAttr getDimsAttr(MLIRContext *context, const TensorShape &shape) {
  SmallVector<Attribute> dims;
  for (const Expr &dim : shape.dims)
    dims.push_back(StringAttr::get(context, dim.str()));
  return ArrayAttr::get(context, dims);
}

ShapeAnalysis::ShapeAnalysis(ModuleOp module) : module(module) {
  if (auto symbols = module->getAttrOfType<DictionaryAttr>(symbolsAttrName))
    for (NamedAttribute symbol : symbols)
      if (auto size = dyn_cast<IntegerAttr>(symbol.getValue()))
        examples[symbol.getName().str()] = size.getInt();
  if (auto stored = module->getAttrOfType<ArrayAttr>(guardsAttrName))
    for (Attribute entry : stored) {
      auto parts = dyn_cast<ArrayAttr>(entry);
      if (!parts || parts.size() != 4 || !llvm::all_of(parts, [](Attribute part) { return isa<StringAttr>(part); }))
        continue; // the dialect's verifier refuses these
      auto text = [&](unsigned at) { return cast<StringAttr>(parts[at]).getValue().str(); };
      plan::Result<Expr> left = Expr::parse(text(0)), right = Expr::parse(text(2));
      plan::Result<plan::Relation> relation = plan::parseRelation(text(1));
      if (left && right && relation)
        guards.push_back({*left, *relation, *right, text(3)});
    }
}

void ShapeAnalysis::storeGuards() {
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  for (const Guard &guard : guards)
    entries.push_back(
        builder.getStrArrayAttr({guard.left.str(), plan::spelling(guard.relation), guard.right.str(), guard.why}));
  module->setAttr(guardsAttrName, builder.getArrayAttr(entries));
}

/// Dims as `braid.dims` spells them.
static FailureOr<TensorShape> parseDims(Attribute attr, Type type, Operation *op, const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitError() << what << " is no ranked tensor";
  TensorShape shape;
  shape.elementType = tensor.getElementType();
  auto dims = dyn_cast_or_null<ArrayAttr>(attr);
  if (!dims) {
    if (!tensor.hasStaticShape())
      return op->emitError() << what << " has dynamic dims and no " << dimsAttrName << " that names them";
    for (int64_t size : tensor.getShape())
      shape.dims.push_back(Expr(size));
    return shape;
  }
  if (dims.size() != static_cast<size_t>(tensor.getRank()))
    return op->emitError() << what << " has rank " << tensor.getRank() << " but " << dims.size() << " dims in "
                           << dimsAttrName;
  for (Attribute dim : dims) {
    auto text = dyn_cast<StringAttr>(dim);
    if (!text)
      return op->emitError() << what << ": " << dimsAttrName << " holds strings such as \"batch\"";
    plan::Result<Expr> size = Expr::parse(text.getValue());
    if (!size)
      return op->emitError() << what << ": " << size.error();
    shape.dims.push_back(*size);
  }
  return shape;
}

/// Rules ask for the shapes of their operands. With those inferred first, in order, the recursion stays one op deep,
/// however long the chain of ops is. What cannot be inferred is left to whoever needs it.
LogicalResult ShapeAnalysis::inferSources(Value value) {
  if (isInferring)
    return success();
  llvm::SaveAndRestore inferring(isInferring, true);
  Operation *root = value.getDefiningOp();
  SmallVector<Operation *> work = {root};
  llvm::DenseSet<Operation *> entered;
  while (!work.empty()) {
    Operation *op = work.back();
    if (entered.insert(op).second) {
      for (Value operand : llvm::reverse(op->getOperands()))
        if (Operation *source = operand.getDefiningOp(); source && !isKnown(operand) && !entered.contains(source))
          work.push_back(source);
      continue;
    }
    work.pop_back();
    if (op == root || op->getNumResults() == 0 || isKnown(op->getResult(0)))
      continue;
    bool ready = llvm::all_of(op->getOperands(), [&](Value operand) {
      return isKnown(operand) || (isa<BlockArgument>(operand) && isa<RankedTensorType>(operand.getType()));
    });
    if (!ready)
      continue;
    if (isa<IndexType>(op->getResult(0).getType())) {
      if (failed(valueOf(op->getResult(0))))
        return failure();
    } else if (isa<RankedTensorType>(op->getResult(0).getType())) {
      if (failed(shapeOf(op->getResult(0))))
        return failure();
    }
  }
  return success();
}

FailureOr<TensorShape> ShapeAnalysis::shapeOf(Value tensor) {
  auto known = shapes.find(tensor);
  if (known != shapes.end())
    return known->second;
  if (tensor.getDefiningOp() && failed(inferSources(tensor)))
    return failure();
  FailureOr<TensorShape> shape = inferShape(tensor);
  if (succeeded(shape))
    shapes[tensor] = *shape;
  return shape;
}

FailureOr<TensorShape> ShapeAnalysis::inferShape(Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    if (!function)
      return emitError(tensor.getLoc()) << "only functions may have arguments whose shape is asked for";
    return parseDims(function.getArgAttr(argument.getArgNumber(), dimsAttrName), tensor.getType(), function,
                     "argument " + Twine(argument.getArgNumber()));
  }
  Operation *op = tensor.getDefiningOp();
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  if (auto rule = dyn_cast<ShapeOpInterface>(op)) {
    SmallVector<TensorShape> results;
    if (failed(rule.inferShapes(*this, results)))
      return failure();
    if (results.size() != op->getNumResults())
      return op->emitError() << "has " << op->getNumResults() << " results, but its shape rule gives "
                             << results.size();
    for (auto [value, result] : llvm::zip(op->getResults(), results))
      shapes[value] = result;
    return results[number];
  }
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
    if (!callee)
      return op->emitError() << "calls a function that does not exist";
    return parseDims(callee.getResultAttr(number, dimsAttrName), tensor.getType(), op, "result " + Twine(number));
  }
  return parseDims({}, tensor.getType(), op, "the result");
}

FailureOr<Expr> ShapeAnalysis::valueOf(OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return valueOf(value);
  return Expr(cast<IntegerAttr>(cast<Attribute>(size)).getInt());
}

FailureOr<Expr> ShapeAnalysis::valueOf(Value index) {
  auto known = values.find(index);
  if (known != values.end())
    return known->second;
  Operation *op = index.getDefiningOp();
  if (!op)
    return emitError(index.getLoc()) << "an integer that comes from outside has no size expression";
  if (failed(inferSources(index)))
    return failure();
  FailureOr<Expr> value = inferValue(op);
  if (succeeded(value))
    values[index] = *value;
  return value;
}

FailureOr<Expr> ShapeAnalysis::inferValue(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    return Expr(constant.value());
  if (auto symbol = dyn_cast<SymbolOp>(op))
    return Expr::symbol(symbol.getName().str());
  if (auto size = dyn_cast<SizeOp>(op)) {
    FailureOr<TensorShape> shape = shapeOf(size.getTensor());
    if (failed(shape))
      return failure();
    if (size.getDim() >= shape->dims.size())
      return op->emitError() << "asks for dim " << size.getDim() << " of a tensor of rank " << shape->rank();
    return shape->dims[size.getDim()];
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp, arith::FloorDivSIOp>(op))
    return op->emitError() << "is no size arithmetic: sizes are computed by arith from braid.size and constants";
  FailureOr<Expr> a = valueOf(op->getOperand(0));
  if (failed(a))
    return failure();
  FailureOr<Expr> b = valueOf(op->getOperand(1));
  if (failed(b))
    return failure();
  if (isa<arith::AddIOp>(op))
    return *a + *b;
  if (isa<arith::SubIOp>(op))
    return *a - *b;
  if (isa<arith::MulIOp>(op))
    return *a * *b;
  if (isa<arith::MaxSIOp>(op))
    return Expr::max(*a, *b);
  if (b->constant() == 0)
    return op->emitError() << "divides a size by zero";
  return Expr::floorDiv(*a, *b);
}

void ShapeAnalysis::erase(Operation *op) {
  op->walk([&](Operation *nested) {
    auto forget = [&](ValueRange range) {
      for (Value value : range) {
        shapes.erase(value);
        values.erase(value);
      }
    };
    forget(nested->getResults());
    for (Region &region : nested->getRegions())
      for (Block &block : region)
        forget(block.getArguments());
  });
  op->erase();
}

bool ShapeAnalysis::equal(const Expr &a, const Expr &b, Operation *op) {
  if (a == b)
    return true;
  if (a.constant() && b.constant())
    return false;
  return assume({a, plan::Relation::Equal, b, describe(op)});
}

bool ShapeAnalysis::assume(Guard guard) {
  if (!guard.holds(examples))
    return false;
  bool symmetric = guard.relation == plan::Relation::Equal || guard.relation == plan::Relation::NotEqual;
  for (const Guard &other : guards)
    if (other.relation == guard.relation && ((other.left == guard.left && other.right == guard.right) ||
                                             (symmetric && other.left == guard.right && other.right == guard.left)))
      return true;
  guards.push_back(std::move(guard));
  return true;
}

/// Builds the value of a polynomial bottom-up; constants fold away.
static Value materializeExpr(OpBuilder &builder, Location loc, const Expr &size) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value sum;
  for (const auto &[monomial, coefficient] : size.getTerms()) {
    Value product;
    for (const auto &[atom, power] : monomial.powers) {
      Value factor;
      if (atom->kind == plan::Atom::Kind::Symbol) {
        factor = SymbolOp::create(builder, loc, builder.getIndexType(), builder.getStringAttr(atom->text));
      } else {
        Value a = materializeExpr(builder, loc, atom->operands[0]);
        Value b = materializeExpr(builder, loc, atom->operands[1]);
        if (atom->kind == plan::Atom::Kind::Max)
          factor = arith::MaxSIOp::create(builder, loc, a, b);
        else
          factor = arith::FloorDivSIOp::create(builder, loc, a, b);
      }
      for (int i = 0; i < power; ++i)
        product = product ? arith::MulIOp::create(builder, loc, product, factor).getResult() : factor;
    }
    if (!product)
      product = constant(coefficient);
    else if (coefficient != 1)
      product = arith::MulIOp::create(builder, loc, product, constant(coefficient));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, product).getResult() : product;
  }
  return sum ? sum : constant(0);
}

Value ShapeAnalysis::materializeIndex(OpBuilder &builder, Location loc, const Expr &size) {
  Value index = materializeExpr(builder, loc, size);
  values[index] = size;
  return index;
}

OpFoldResult ShapeAnalysis::materialize(OpBuilder &builder, Location loc, const Expr &size) {
  if (std::optional<int64_t> constant = size.constant())
    return builder.getI64IntegerAttr(*constant);
  return materializeIndex(builder, loc, size);
}

SmallVector<OpFoldResult> ShapeAnalysis::materialize(OpBuilder &builder, Location loc, ArrayRef<Expr> sizes) {
  SmallVector<OpFoldResult> results;
  for (const Expr &size : sizes)
    results.push_back(materialize(builder, loc, size));
  return results;
}

} // namespace braid
