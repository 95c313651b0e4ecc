//===- GradientHarness.cpp - One op, differentiated and run ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include "GradientHarness.h"

#include "braid/Dialect/Braid/Transforms/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace braid::test {

MLIRContext &context() {
  static MLIRContext *shared = [] {
    auto *context = new MLIRContext(MLIRContext::Threading::DISABLED);
    context->loadDialect<BraidDialect, func::FuncDialect, arith::ArithDialect>();
    return context;
  }();
  return *shared;
}

//===----------------------------------------------------------------------===//
// Words of the tables
//===----------------------------------------------------------------------===//

/// One generator for all tables: the same values in every run.
static at::Generator generator() {
  static at::Generator shared = at::detail::createCPUGenerator(20260);
  return shared;
}

Operand x(std::vector<int64_t> sizes) { return {at::randn(sizes, generator(), at::kDouble), true}; }
Operand single(std::vector<int64_t> sizes) { return {x(sizes).value.to(at::kFloat), true}; }
Operand positive(std::vector<int64_t> sizes) { return {at::rand(sizes, generator(), at::kDouble) * 1.5 + 0.5, true}; }
Operand distinct(std::vector<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return {at::randperm(count, generator(), at::kDouble).view(sizes) * 0.3 - 1, true};
}
Operand fixed(at::Tensor value) { return {std::move(value), false}; }
Operand indices(std::vector<int64_t> values, std::vector<int64_t> sizes) {
  return fixed(at::tensor(values, at::kLong).view(sizes));
}
Operand mask(std::vector<int64_t> values, std::vector<int64_t> sizes) {
  return fixed(at::tensor(values, at::kLong).to(at::kBool).view(sizes));
}

static Builder builder() { return Builder(&context()); }
Attribute i(int64_t value) { return builder().getI64IntegerAttr(value); }
Attribute f(double value) { return builder().getF64FloatAttr(value); }
Attribute b(bool value) { return builder().getBoolAttr(value); }
Attribute s(StringRef value) { return builder().getStringAttr(value); }
Attribute ints(std::vector<int64_t> values) { return builder().getDenseI64ArrayAttr(values); }
Attribute bools(std::vector<bool> values) {
  return builder().getDenseBoolArrayAttr(SmallVector<bool>(values.begin(), values.end()));
}
Attribute type(c10::ScalarType type) { return TypeAttr::get(toElementType(&context(), type)); }

std::ostream &operator<<(std::ostream &stream, const Case &test) {
  stream << test.op << "(";
  auto print = [&](const Operand &operand) { stream << operand.value.scalar_type() << operand.value.sizes() << " "; };
  for (const Arg &arg : test.args) {
    if (const auto *operand = std::get_if<Operand>(&arg))
      print(*operand);
    else if (const auto *operands = std::get_if<std::vector<Operand>>(&arg))
      llvm::for_each(*operands, print);
    else if (const auto *attr = std::get_if<Attribute>(&arg)) {
      std::string text;
      llvm::raw_string_ostream(text) << *attr;
      stream << text << " ";
    } else if (const auto *sizes = std::get_if<std::vector<int64_t>>(&arg))
      stream << c10::IntArrayRef(*sizes) << " ";
    else
      stream << "none ";
  }
  return stream << ")";
}

std::vector<Case> allCases() {
  std::vector<Case> all;
  for (auto family : {elementwiseCases, reductionCases, viewCases, contractionCases, normAttentionCases, recurrentCases,
                      poolingCases, gatherScatterCases, lossCases})
    llvm::append_range(all, family());
  return all;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static std::string symbolFor(int64_t size) { return "n" + std::to_string(size); }

std::string Program::str() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

static TensorShape shapeOf(const at::Tensor &tensor, bool symbolic) {
  TensorShape shape;
  shape.elementType = toElementType(&context(), tensor.scalar_type());
  for (int64_t size : tensor.sizes())
    shape.dims.push_back(symbolic && size != 1 ? Expr::symbol(symbolFor(size)) : Expr(size));
  return shape;
}

static DictionaryAttr dimsOf(const TensorShape &shape) {
  return DictionaryAttr::get(&context(),
                             NamedAttribute(StringAttr::get(&context(), dimsAttrName), getDimsAttr(&context(), shape)));
}

Program buildProgram(const Case &test, bool symbolic) {
  Program program;
  Location loc = NameLoc::get(StringAttr::get(&context(), test.op));
  OpBuilder builder(&context());
  program.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(program.module->getBody());

  std::vector<Operand> operands;
  for (const Arg &arg : test.args) {
    if (const auto *operand = std::get_if<Operand>(&arg))
      operands.push_back(*operand);
    else if (const auto *list = std::get_if<std::vector<Operand>>(&arg))
      llvm::copy_if(*list, std::back_inserter(operands),
                    [](const Operand &operand) { return operand.value.defined(); });
  }
  SmallVector<Type> types;
  SmallVector<NamedAttribute> examples;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    program.inputs.push_back(operand.value);
    if (operand.grad)
      program.wanted.push_back(number);
    types.push_back(shapeOf(operand.value, symbolic).toType());
    for (int64_t size : operand.value.sizes())
      if (symbolic && size != 1)
        program.evaluator.symbols[symbolFor(size)] = size;
  }
  for (const auto &[name, size] : program.evaluator.symbols)
    examples.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(size)));
  (*program.module)->setAttr(symbolsAttrName, builder.getDictionaryAttr(examples));

  program.function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType(types, {}));
  for (auto [number, operand] : llvm::enumerate(operands))
    program.function.setArgAttrs(number, dimsOf(shapeOf(operand.value, symbolic)));
  builder.setInsertionPointToStart(program.function.addEntryBlock());

  ShapeAnalysis shapes(*program.module);
  SmallVector<ArgValue> values;
  unsigned next = 0;
  for (const Arg &arg : test.args) {
    if (std::holds_alternative<Operand>(arg)) {
      values.push_back(Value(program.function.getArgument(next++)));
    } else if (const auto *list = std::get_if<std::vector<Operand>>(&arg)) {
      ArgValue::Tensors tensors;
      for (const Operand &operand : *list)
        tensors.push_back(operand.value.defined() ? Value(program.function.getArgument(next++)) : Value());
      values.push_back(tensors);
    } else if (const auto *attr = std::get_if<Attribute>(&arg)) {
      values.push_back(*attr);
    } else if (const auto *sizes = std::get_if<std::vector<int64_t>>(&arg)) {
      ArgValue::Sizes list;
      for (int64_t size : *sizes) {
        bool named = program.evaluator.symbols.count(symbolFor(size));
        list.push_back(shapes.materialize(builder, loc, named ? Expr::symbol(symbolFor(size)) : Expr(size)));
      }
      values.push_back(list);
    } else {
      values.push_back(std::nullopt);
    }
  }
  FailureOr<Operation *> op = buildAtenOp(builder, loc, OperationName("braid." + test.op, &context()), values, shapes);
  if (failed(op))
    throw std::runtime_error("the op cannot be built");
  func::ReturnOp::create(builder, loc, (*op)->getResults());
  program.function.setType(builder.getFunctionType(types, (*op)->getResultTypes()));
  if (failed(verify(*program.module)))
    throw std::runtime_error("the program does not verify:\n" + program.str());
  return program;
}

//===----------------------------------------------------------------------===//
// Differentiating
//===----------------------------------------------------------------------===//

static bool isFloat(Value value) { return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()); }

Differentiated differentiate(Program &original, const std::vector<unsigned> &wanted,
                             const std::vector<at::Tensor> &cotangents) {
  Differentiated result;
  Program &program = result.program;
  program.module = original.module->clone();
  program.function = *program.module->getOps<func::FuncOp>().begin();
  program.inputs = original.inputs;
  program.wanted = wanted;
  program.evaluator = original.evaluator;

  func::FuncOp function = program.function;
  Operation *end = function.getBody().front().getTerminator();
  ShapeAnalysis shapes(*program.module);
  if (failed(decompose(function, shapes)))
    throw std::runtime_error("the program cannot be decomposed");

  // What depends on the wanted arguments through differentiable ops.
  llvm::DenseSet<Value> active;
  for (unsigned number : wanted)
    active.insert(function.getArgument(number));
  SmallVector<Operation *> tape;
  for (Operation &op : function.getBody().front().without_terminator()) {
    result.forward.insert(&op);
    auto rule = dyn_cast<GradientOpInterface>(op);
    if (!rule || !rule.isDifferentiable() ||
        !llvm::any_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    tape.push_back(&op);
    for (Value value : op.getResults())
      if (isFloat(value))
        active.insert(value);
  }

  OpBuilder builder(end);
  auto needed = [&](Value value) { return active.contains(value); }; // the builder keeps a reference
  GradientBuilder gradient(builder, shapes, needed);
  for (auto [number, value] : llvm::enumerate(end->getOperands())) {
    if (number >= cotangents.size() || !cotangents[number].defined())
      continue;
    FailureOr<TensorShape> shape = shapes.shapeOf(value);
    if (failed(shape) ||
        failed(function.insertArgument(function.getNumArguments(), value.getType(), dimsOf(*shape), function.getLoc())))
      throw std::runtime_error("the result has no shape");
    program.inputs.push_back(cotangents[number]);
    Value cotangent = function.getArguments().back();
    if (active.contains(value))
      gradient.add(value, cotangent);
  }
  for (Operation *op : llvm::reverse(tape)) {
    SmallVector<Value> ofResults;
    for (Value value : op->getResults())
      ofResults.push_back(gradient.gradients.lookup(value));
    if (llvm::none_of(ofResults, [](Value value) { return static_cast<bool>(value); }))
      continue;
    gradient.startOp(op, ofResults);
    if (failed(gradient.checkShapes(op)) || failed(cast<GradientOpInterface>(op).buildGradient(gradient)) ||
        gradient.hasFailed())
      throw std::runtime_error("no gradient for:\n" + program.str());
  }

  SmallVector<Value> results(end->getOperands());
  for (unsigned number : wanted) {
    Value value = gradient.gradients.lookup(function.getArgument(number));
    result.present.push_back(static_cast<bool>(value));
    if (value)
      results.push_back(value);
  }
  end->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  if (failed(verify(*program.module)))
    throw std::runtime_error("the gradients do not verify:\n" + program.str());
  return result;
}

//===----------------------------------------------------------------------===//
// PyTorch
//===----------------------------------------------------------------------===//

Reference runReference(const Case &test) {
  c10::AutoGradMode recording(true);
  Reference reference;
  auto leaf = [&](const Operand &operand) {
    if (!operand.grad)
      return operand.value;
    reference.leaves.push_back(operand.value.detach().clone().requires_grad_());
    return reference.leaves.back();
  };
  OperationName name("braid." + test.op, &context());
  auto *aten = name.getInterface<AtenOpInterface>();
  if (!aten)
    throw std::runtime_error("braid." + test.op + " is no ATen operator");
  ArrayRef<ArgSpec> specs = aten->getArgSpecs();
  std::map<std::string, c10::IValue> values;
  for (auto [spec, arg] : llvm::zip(specs, test.args)) {
    std::string key = spec.name.str();
    if (const auto *operand = std::get_if<Operand>(&arg)) {
      values[key] = leaf(*operand);
    } else if (const auto *operands = std::get_if<std::vector<Operand>>(&arg)) {
      if (spec.kind == ArgKind::OptionalTensorList) {
        c10::List<std::optional<at::Tensor>> list;
        for (const Operand &operand : *operands)
          list.push_back(operand.value.defined() ? std::optional<at::Tensor>(leaf(operand)) : std::nullopt);
        values[key] = list;
      } else {
        c10::List<at::Tensor> list;
        for (const Operand &operand : *operands)
          list.push_back(leaf(operand));
        values[key] = list;
      }
    } else if (const auto *attr = std::get_if<Attribute>(&arg)) {
      values[key] = toIValue(*attr);
    } else if (const auto *sizes = std::get_if<std::vector<int64_t>>(&arg)) {
      values[key] = c10::List<int64_t>(*sizes);
    }
  }
  // The operator merge_rows is the runtime's own: where nothing is left over it is masked_scatter.
  StringRef callee = test.op == "merge_rows" ? "aten::masked_scatter" : aten->getAtenName();
  reference.results = callAten(callee, [&](StringRef argument) -> std::optional<c10::IValue> {
    auto found = values.find(argument.str());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
  return reference;
}

} // namespace braid::test
