//===- Emitter.cpp - Where import writes its IR ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "ImportError.h"
#include "Types.h"

#include "braid/Dialect/Braid/IR/Random.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace braid::torchscript {

Emitter::Emitter(ModuleOp module, OpBuilder builder, Weights &weights)
    : builder(builder), shapes(module), weights(weights), loc(module.getLoc()) {
  for (RegisteredOperationName name : builder.getContext()->getRegisteredOperations())
    if (auto *interface = name.getInterface<AtenOpInterface>())
      typedOps.try_emplace(interface->getAtenName(), name);
}

std::string Emitter::where() const {
  std::string text = getPath().empty() ? "in the model" : "in " + getPath();
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    text +=
        " at " + llvm::sys::path::filename(file.getFilename().getValue()).str() + ":" + std::to_string(file.getLine());
  return text;
}

void Emitter::fail(const std::string &message) const {
  emitError(loc) << message << (getPath().empty() ? "" : " (in module " + getPath() + ")");
  throw ImportError::reported();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Value Emitter::emitSource(Tensor &tensor) {
  if (!tensor.parameter.empty()) {
    ParamOp param = weights.lookup(tensor.parameter);
    auto op = GetParamOp::create(builder, loc, param.getTensorType(), param.getSymName());
    finish(op);
    if (param.getRequiresGrad())
      gradients.insert(op);
    return op;
  }
  if (tensor.number.isIndex()) {
    auto op =
        ScalarTensorOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()), tensor.number.index());
    finish(op);
    return op;
  }
  at::Tensor constant = tensor.constant.contiguous();
  Type element = toMlirType(getContext(), constant.scalar_type());
  if (!element)
    fail(std::string("a constant has element type ") + c10::toString(constant.scalar_type()) +
         ", which braid lacks; convert it before tracing");
  auto type = RankedTensorType::get(ArrayRef(constant.sizes().data(), constant.sizes().size()), element);
  DenseElementsAttr values;
  if (constant.scalar_type() == at::kBool) {
    SmallVector<bool> flags(constant.data_ptr<bool>(), constant.data_ptr<bool>() + constant.numel());
    values = DenseElementsAttr::get(type, flags);
  } else {
    values = DenseElementsAttr::getFromRawBuffer(
        type, ArrayRef(static_cast<const char *>(constant.const_data_ptr()), constant.nbytes()));
  }
  auto op = ConstantOp::create(builder, loc, type, values);
  finish(op);
  return op;
}

Value Emitter::read(Tensor &tensor) {
  Value value = readCurrent(tensor);
  if (!noGrad || !needsGradient(value))
    return value;
  auto [known, isNew] = detached.try_emplace({value, call});
  if (isNew)
    known->second = create("aten::detach", {value});
  return known->second;
}

Value Emitter::readCurrent(Tensor &tensor) {
  // A write to a base has overtaken the values of its views: they are made again from the outermost base on.
  SmallVector<Tensor *> chain;
  size_t stale = 0; // so many of the chain
  for (Tensor *view = &tensor; view; view = view->base.get()) {
    if (!view->poison.empty())
      fail(view->poison);
    chain.push_back(view);
    if (view->base && view->baseVersion != view->base->version)
      stale = chain.size();
  }
  for (Tensor *view : llvm::reverse(ArrayRef(chain).take_front(stale))) {
    view->value = view->view(readOwn(*view->base));
    view->baseVersion = view->base->version;
    ++view->version;
  }
  return readOwn(tensor);
}

Value Emitter::readOwn(Tensor &tensor) {
  if (tensor.value)
    return tensor.value;
  if (tensor.cachedCall != call) {
    tensor.cached = emitSource(tensor);
    tensor.cachedCall = call;
  }
  return tensor.cached;
}

void Emitter::write(Tensor &written, Value value) {
  if (noGrad && needsGradient(readCurrent(written)))
    fail("updates in place, without gradients, a tensor that has one: the gradient would not be that of the new value; "
         "copy the tensor with detach().clone() first");
  // From a view to its base, and on to the base of that.
  for (Tensor *tensor = &written; tensor;) {
    if (tensor->base && tensor->isPerhapsView) {
      // From here on the two differ, or do not, as the strides are.
      std::string why = "reads a tensor after an update in place " + where() +
                        " through a reshape, contiguous or to(), which may or may not share its memory; copy it with "
                        "clone() before the update";
      for (TensorRef base = tensor->base; base; base = base->base) {
        base->poison = why;
        ++base->version; // its other views have to ask it
      }
      tensor->base = nullptr;
    }
    Value next;
    if (tensor->base) {
      if (!tensor->writeBack)
        fail("updates a view in place that braid cannot write back to its base; write out of place, with torch.where "
             "or torch.cat");
      next = tensor->writeBack(readCurrent(*tensor->base), value);
      tensor->baseVersion = tensor->base->version + 1; // as the base is written next
    } else if (!tensor->parameter.empty()) {
      if (weights.lookup(tensor->parameter).getRequiresGrad())
        fail("parameter '" + tensor->parameter +
             "' is updated in place while it is trained: the optimizer and forward() "
             "would both write it; make it a buffer, or update it outside of forward()");
      tensor->parameter.clear();
      tensor->isUpdated = true;
    }
    tensor->value = value;
    tensor->number = Item();
    tensor->constant = at::Tensor();
    ++tensor->version;
    tensor = tensor->base.get();
    value = next;
  }
}

TensorRef Emitter::makeTensor(Value value) {
  auto tensor = std::make_shared<Tensor>();
  tensor->value = value;
  return tensor;
}

TensorRef Emitter::makeConstant(const at::Tensor &constant) {
  static constexpr size_t inlineBytes = 1024;
  auto tensor = std::make_shared<Tensor>();
  if (!weights.hasValues(constant) || constant.nbytes() > inlineBytes) {
    tensor->parameter = weights.declare(constant).getSymName().str();
    return tensor;
  }
  tensor->constant = constant.detach();
  if (constant.dim() == 0 && !constant.is_complex()) {
    at::Scalar number = constant.item();
    tensor->number = number.isBoolean()         ? Item(c10::IValue(number.toBool()))
                     : number.isIntegral(false) ? Item(c10::IValue(number.toLong()))
                                                : Item(c10::IValue(number.toDouble()));
  }
  return tensor;
}

TensorRef Emitter::makeNumber(Item number) {
  if (const c10::IValue *constant = number.constant())
    return makeConstant(at::scalar_tensor(constant->toScalar(), constant->isBool()  ? at::kBool
                                                                : constant->isInt() ? at::kLong
                                                                                    : at::kDouble));
  auto tensor = std::make_shared<Tensor>();
  tensor->number = std::move(number);
  return tensor;
}

TensorShape Emitter::shapeOf(Value value) {
  FailureOr<TensorShape> shape = shapes.shapeOf(value);
  if (failed(shape))
    throw ImportError::reported();
  return *shape;
}

TensorShape Emitter::shapeOf(Tensor &tensor) {
  if (tensor.value || tensor.base)
    return shapeOf(read(tensor));
  TensorShape shape;
  if (!tensor.parameter.empty()) {
    RankedTensorType type = weights.lookup(tensor.parameter).getTensorType();
    shape.elementType = type.getElementType();
    for (int64_t size : type.getShape())
      shape.dims.push_back(Expr(size));
  } else if (tensor.constant.defined()) {
    shape.elementType = toMlirType(getContext(), tensor.constant.scalar_type());
    for (int64_t size : tensor.constant.sizes())
      shape.dims.push_back(Expr(size));
  } else {
    shape.elementType = builder.getI64Type();
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

std::optional<OperationName> Emitter::lookup(StringRef atenName) const {
  auto found = typedOps.find(atenName);
  return found == typedOps.end() ? std::nullopt : std::optional<OperationName>(found->second);
}

Operation *Emitter::finish(Operation *op) {
  if (call)
    op->setAttr(pathAttrName, builder.getStringAttr(getPath()));
  if (drawsRandomNumbers(op))
    op->setAttr(streamAttrName, builder.getI64IntegerAttr(numStreams++));
  bool fromGradient =
      !isa<DetachOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) { return gradients.contains(operand); });
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType());
        fromGradient && type && isa<FloatType>(type.getElementType()))
      gradients.insert(result);
  return op;
}

Operation *Emitter::create(OperationName name, ArrayRef<ArgValue> values) {
  FailureOr<Operation *> op = buildAtenOp(builder, loc, name, values, shapes);
  if (failed(op))
    throw ImportError::reported();
  for (Value result : (*op)->getResults())
    if (FailureOr<TensorShape> shape = shapes.shapeOf(result); succeeded(shape))
      llvm::for_each(shape->dims, [&](const Expr &size) { checkSize(size); });
  return finish(*op);
}

Value Emitter::create(StringRef atenName, ArrayRef<ArgValue> values) {
  std::optional<OperationName> name = lookup(atenName);
  if (!name)
    fail("braid lacks a typed op for " + atenName.str());
  return create(*name, values)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Expr Emitter::valueOf(const Item &integer) {
  if (!integer.isIndex())
    return Expr(integer.constant()->toInt());
  FailureOr<Expr> value = shapes.valueOf(integer.index());
  if (failed(value))
    throw ImportError::reported();
  return *value;
}

OpFoldResult Emitter::toSize(const Item &integer) {
  if (integer.isIndex())
    return integer.index();
  return builder.getI64IntegerAttr(integer.constant()->toInt());
}

Value Emitter::toIndex(const Item &integer) {
  if (integer.isIndex())
    return integer.index();
  auto op = arith::ConstantIndexOp::create(builder, loc, integer.constant()->toInt());
  finish(op);
  return op;
}

Item Emitter::sizeOf(Tensor &tensor, int64_t dim) {
  TensorShape shape = shapeOf(tensor);
  if (dim < 0)
    dim += shape.rank();
  if (dim < 0 || dim >= shape.rank())
    fail("asks for the size of a dim that a tensor of shape " + str(shape) + " does not have");
  if (std::optional<int64_t> constant = shape.dims[dim].constant())
    return c10::IValue(*constant);
  auto op = SizeOp::create(builder, loc, builder.getIndexType(), read(tensor), static_cast<uint64_t>(dim));
  finish(op);
  return op.getResult();
}

void Emitter::checkSize(const Expr &size) {
  std::string how;
  if (size.depth() > Expr::maxDepth)
    how = "more than " + std::to_string(Expr::maxDepth) + " divisions one after the other";
  else if (size.length() > Expr::maxLength)
    how = "a formula of more than " + std::to_string(Expr::maxLength) + " characters";
  if (!how.empty())
    fail("computes a size by " + how + "; give the size that it starts from as a constant with --input");
}

template <typename OpTy> Item Emitter::arithmetic(const Item &a, const Item &b, const Expr &value) {
  if (std::optional<int64_t> constant = value.constant())
    return c10::IValue(*constant);
  checkSize(value);
  auto op = OpTy::create(builder, loc, toIndex(a), toIndex(b));
  finish(op);
  shapes.setValue(op, value);
  return op.getResult();
}

Item Emitter::add(const Item &a, const Item &b) { return arithmetic<arith::AddIOp>(a, b, valueOf(a) + valueOf(b)); }
Item Emitter::sub(const Item &a, const Item &b) { return arithmetic<arith::SubIOp>(a, b, valueOf(a) - valueOf(b)); }
Item Emitter::mul(const Item &a, const Item &b) { return arithmetic<arith::MulIOp>(a, b, valueOf(a) * valueOf(b)); }
Item Emitter::floorDiv(const Item &a, const Item &b) {
  Expr divisor = valueOf(b);
  if (divisor.constant() == 0)
    fail("divides a size by zero");
  return arithmetic<arith::FloorDivSIOp>(a, b, Expr::floorDiv(valueOf(a), divisor));
}
Item Emitter::max(const Item &a, const Item &b) {
  Expr left = valueOf(a), right = valueOf(b);
  if ((left - right).atLeast(0))
    return a;
  if ((right - left).atLeast(0))
    return b;
  return arithmetic<arith::MaxSIOp>(a, b, Expr::max(left, right));
}

int64_t Emitter::fixToExample(const Item &integer) {
  Expr value = valueOf(integer);
  if (std::optional<int64_t> constant = value.constant())
    return *constant;
  std::optional<int64_t> example = shapes.example(value);
  if (!example)
    fail("needs the value of " + value.str() + ", which the example does not give");
  shapes.equal(value, Expr(*example), integer.index().getDefiningOp());
  return *example;
}

bool Emitter::assume(const Expr &left, plan::Relation relation, const Expr &right) {
  return shapes.assume({left, relation, right, "a comparison of sizes " + where()});
}

bool Emitter::equal(const Item &a, const Item &b) {
  Expr left = valueOf(a), right = valueOf(b);
  if (left == right)
    return true;
  if ((left - right).atLeast(1) || (right - left).atLeast(1))
    return false;
  if (assume(left, plan::Relation::Equal, right))
    return true;
  if (assume(left, plan::Relation::NotEqual, right))
    return false;
  fail("compares " + left.str() + " with " + right.str() + ", which the example does not decide");
}

bool Emitter::less(const Item &a, const Item &b) {
  Expr left = valueOf(a), right = valueOf(b);
  if ((right - left).atLeast(1))
    return true;
  if ((left - right).atLeast(0))
    return false;
  if (assume(left, plan::Relation::Less, right))
    return true;
  if (assume(right, plan::Relation::LessEqual, left))
    return false;
  fail("compares " + left.str() + " with " + right.str() + ", which the example does not decide");
}

} // namespace braid::torchscript
