//===- Interpreter.cpp - Runs TorchScript graphs --------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpreter.h"
#include "ImportError.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

using namespace mlir;
namespace jit = torch::jit;

namespace braid::torchscript {

Item Interpreter::run(const jit::Module &model, std::vector<Item> inputs) {
  emitter.calls.push_back({"", model.type()->name()->name(), -1, emitter.getLoc()});
  running.push_back(model._ivalue());
  callCounts[model._ivalue().get()] = 1;
  jit::Function &forward = model.get_method("forward").function();
  inputs.insert(inputs.begin(), Item(c10::IValue(model._ivalue())));
  return runFunction(forward, std::move(inputs));
}

Location Interpreter::locate(jit::Node *node) {
  auto position = [](const jit::SourceRange &range) -> std::optional<std::tuple<std::string, size_t, size_t>> {
    if (!range.source())
      return std::nullopt;
    auto place = range.file_line_col();
    if (place && (std::get<0>(*place).empty() || std::get<1>(*place) == 0))
      return std::nullopt;
    return place;
  };
  jit::SourceRange range = node->sourceRange();
  std::optional<std::tuple<std::string, size_t, size_t>> place;
  if (auto original = range.findSourceRangeThatGenerated())
    place = position(*original);
  if (!place)
    return emitter.getLoc();
  auto [file, line, column] = *place;
  return FileLineColLoc::get(emitter.getContext(), file, line, column);
}

Item Interpreter::runFunction(jit::Function &function, std::vector<Item> args) {
  if (++depth > 512)
    emitter.fail("calls nest deeper than 512; does '" + function.name() + "' call itself?");
  std::shared_ptr<jit::Graph> graph = jit::toGraphFunction(function).graph();
  Environment values;
  if (graph->inputs().size() != args.size())
    emitter.fail("'" + function.name() + "' takes " + std::to_string(graph->inputs().size()) + " arguments, not " +
                 std::to_string(args.size()));
  for (size_t i = 0; i < args.size(); ++i)
    values[graph->inputs()[i]] = std::move(args[i]);
  runBlock(graph->block(), values);
  --depth;
  if (graph->outputs().empty())
    return Item();
  return values.at(graph->outputs()[0]);
}

/// A call on another module is a call of that module; a method that calls a sibling stays in the same one.
Item Interpreter::callMethod(const Object &object, const std::string &name, std::vector<Item> args) {
  jit::Function &method = object->type()->getMethod(name);
  args.insert(args.begin(), Item(c10::IValue(object)));
  if (object == running.back() || !emitter.weights.hasPath(object.get()))
    return runFunction(method, std::move(args));
  std::string path = emitter.weights.pathOf(object.get());
  if (int count = callCounts[object.get()]++)
    path += "#" + std::to_string(count);
  int caller = emitter.call;
  Location callerLoc = emitter.getLoc();
  emitter.call = static_cast<int>(emitter.calls.size());
  emitter.calls.push_back({path, object->type()->name()->name(), caller, callerLoc});
  running.push_back(object);
  Item result = runFunction(method, std::move(args));
  running.pop_back();
  emitter.call = caller;
  emitter.setLoc(callerLoc);
  return result;
}

void Interpreter::runBlock(jit::Block *block, Environment &values) {
  for (jit::Node *node : block->nodes())
    runNode(node, values);
}

void Interpreter::runNode(jit::Node *node, Environment &values) {
  emitter.setLoc(locate(node));
  if (node->kind() == c10::prim::If)
    return runIf(node, values);
  if (node->kind() == c10::prim::Loop)
    return runLoop(node, values);
  std::vector<Item> args;
  for (const jit::Value *input : node->inputs()) {
    auto found = values.find(input);
    if (found == values.end())
      emitter.fail("a value is used before it is computed; the graph is damaged");
    args.push_back(found->second);
  }
  Results results;
  if (std::optional<Results> primitive = runPrimitive(node, args)) {
    results = std::move(*primitive);
  } else {
    auto holdsTensor = [](const Item &item) {
      const ListItem *list = item.list();
      return item.isTensor() ||
             (list && llvm::any_of(list->items, [](const Item &element) { return element.isTensor(); }));
    };
    const c10::FunctionSchema *schema = node->maybeSchema();
    if (!schema)
      emitter.fail(std::string("'") + node->kind().toQualString() + "' is no operator that braid knows");
    std::optional<Results> containers = runOnContainers(node, Call(*schema, {}).name, args);
    bool onTensors = llvm::any_of(args, holdsTensor);
    bool makesTensor = llvm::any_of(schema->returns(), [](const c10::Argument &result) {
      return result.type()->kind() == c10::TypeKind::TensorType;
    });
    try {
      results = containers                 ? *containers
                : onTensors || makesTensor ? aten.run(Call(*schema, args))
                                           : runScalars(node, args);
    } catch (const ImportError &) {
      throw;
    } catch (const std::exception &error) {
      emitter.fail(std::string(node->kind().toQualString()) + ": " + firstLine(error));
    }
  }
  if (results.size() < node->outputs().size())
    emitter.fail(std::string(node->kind().toQualString()) + " gives " + std::to_string(results.size()) +
                 " values where the model takes " + std::to_string(node->outputs().size()));
  for (size_t i = 0; i < node->outputs().size(); ++i)
    values[node->outputs()[i]] = std::move(results[i]);
}

bool Interpreter::toBool(const Item &item, const std::string &what) {
  if (const c10::IValue *constant = item.constant(); constant && constant->isBool())
    return constant->toBool();
  if (item.isTensor() && item.tensor()->number.constant() && !item.tensor()->number.isNone())
    return item.tensor()->number.constant()->toScalar().to<bool>();
  aten.failDataDependent(what + " depends on the values of a tensor");
}

void Interpreter::runIf(jit::Node *node, Environment &values) {
  bool taken = toBool(values.at(node->input()), "the condition of an if");
  jit::Block *block = node->blocks()[taken ? 0 : 1];
  runBlock(block, values);
  for (size_t i = 0; i < node->outputs().size(); ++i)
    values[node->outputs()[i]] = values.at(block->outputs()[i]);
}

void Interpreter::runLoop(jit::Node *node, Environment &values) {
  static constexpr int64_t maxTrips = 100000;
  Location loc = emitter.getLoc();
  const Item &trips = values.at(node->inputs()[0]);
  int64_t count = aten.toInt(trips);
  bool running = toBool(values.at(node->inputs()[1]), "the condition of a loop");
  std::vector<Item> carried;
  for (size_t i = 2; i < node->inputs().size(); ++i)
    carried.push_back(values.at(node->inputs()[i]));
  jit::Block *body = node->blocks()[0];
  for (int64_t trip = 0; running && trip < count; ++trip) {
    if (trip == maxTrips) {
      emitter.setLoc(loc);
      emitter.fail("a loop runs more than " + std::to_string(maxTrips) + " times; write it as an operator on tensors");
    }
    values[body->inputs()[0]] = c10::IValue(trip);
    for (size_t i = 0; i < carried.size(); ++i)
      values[body->inputs()[i + 1]] = carried[i];
    runBlock(body, values);
    running = toBool(values.at(body->outputs()[0]), "the condition of a loop");
    for (size_t i = 0; i < carried.size(); ++i)
      carried[i] = values.at(body->outputs()[i + 1]);
  }
  for (size_t i = 0; i < carried.size(); ++i)
    values[node->outputs()[i]] = carried[i];
}

TensorRef &Interpreter::tensorOf(const at::Tensor &tensor) {
  auto [entry, isNew] = tensors.try_emplace(tensor.unsafeGetTensorImpl());
  if (isNew)
    kept.push_back(tensor);
  return entry->second;
}

Item Interpreter::fromIValue(const c10::IValue &value) {
  if (value.isTensor()) {
    if (!value.toTensor().defined())
      return Item();
    TensorRef &tensor = tensorOf(value.toTensor());
    if (!tensor)
      tensor = emitter.makeConstant(value.toTensor());
    return tensor;
  }
  if (value.isList()) {
    std::vector<Item> items;
    for (const c10::IValue &element : value.toListRef())
      items.push_back(fromIValue(element));
    return makeList(value.toList().elementType(), std::move(items));
  }
  if (value.isTuple()) {
    std::vector<Item> items;
    for (const c10::IValue &element : value.toTupleRef().elements())
      items.push_back(fromIValue(element));
    return makeTuple(std::move(items));
  }
  if (value.isGenericDict()) {
    auto dict = std::make_shared<DictItem>();
    dict->keyType = value.toGenericDict().keyType();
    dict->valueType = value.toGenericDict().valueType();
    for (const auto &entry : value.toGenericDict())
      dict->entries.emplace_back(fromIValue(entry.key()), fromIValue(entry.value()));
    return dict;
  }
  return Item(value);
}

Item Interpreter::getAttribute(const Object &object, const std::string &name) {
  auto found = replaced.find({object.get(), name});
  if (found != replaced.end())
    return found->second;
  jit::Object holder(object);
  c10::IValue value = holder.attr(name);
  if (value.isTensor() && value.toTensor().defined()) {
    TensorRef &tensor = tensorOf(value.toTensor());
    if (!tensor) {
      tensor = std::make_shared<Tensor>();
      tensor->parameter = emitter.weights.declare(value.toTensor()).getSymName().str();
    }
    return tensor;
  }
  Item item = fromIValue(value);
  if (item.list() || item.dict())
    replaced[{object.get(), name}] = item; // changes to a container are seen by its next reader
  return item;
}

/// Buffers are kept from step to step; a Python value is not, and a model that counts in one would count wrongly.
void Interpreter::setAttribute(const Object &object, const std::string &name, const Item &value) {
  if (emitter.weights.hasPath(object.get())) {
    c10::IValue before = jit::Object(object).attr(name);
    const c10::IValue *after = value.constant();
    bool isBuffer = before.isTensor() && before.toTensor().defined();
    bool isNumber = before.isScalar() || before.isBool() || before.isString();
    if (isBuffer && !value.isTensor())
      emitter.fail("sets the buffer '" + name + "' to a " + kindName(value) + "; it holds a tensor");
    if (isNumber && !(after && *after == before))
      emitter.fail("changes the attribute '" + name +
                   "', a Python value that training does not keep from step to "
                   "step; make it a buffer (register_buffer) that holds a tensor");
    if (!isBuffer && !isNumber)
      emitter.remarks.push_back("attribute '" + name + "' is set " + emitter.where() +
                                "; it is no buffer, so each step starts with what the file holds");
  }
  replaced[{object.get(), name}] = value;
}

std::vector<std::pair<ParamOp, TensorRef>> Interpreter::updatedBuffers() {
  std::vector<std::pair<ParamOp, TensorRef>> result;
  for (const Weights::Slot &slot : emitter.weights.getSlots()) {
    TensorRef last;
    if (auto known = tensors.find(slot.tensor); known != tensors.end() && known->second && known->second->isUpdated)
      last = known->second;
    if (auto set = replaced.find({slot.holder, slot.attribute}); set != replaced.end())
      last = set->second.tensor();
    bool same = last && last->parameter == ParamOp(slot.param).getSymName(); // set to itself
    bool known = llvm::any_of(result, [&](const auto &entry) { return entry.first == slot.param; });
    if (last && !same && !known)
      result.emplace_back(slot.param, last);
  }
  return result;
}

std::optional<Interpreter::Results> Interpreter::runPrimitive(jit::Node *node, const std::vector<Item> &args) {
  namespace prim = c10::prim;
  auto object = [&](const Item &item) -> Object {
    if (!item.constant() || !item.constant()->isObject())
      emitter.fail("takes an attribute of a " + kindName(item));
    return item.constant()->toObject();
  };
  c10::Symbol kind = node->kind();
  switch (kind) {
  case prim::Constant: {
    std::optional<c10::IValue> value = jit::toIValue(node->output());
    return Results{value ? fromIValue(*value) : Item()};
  }
  case prim::GetAttr:
    return Results{getAttribute(object(args[0]), node->s(c10::attr::name))};
  case prim::SetAttr:
    setAttribute(object(args[0]), node->s(c10::attr::name), args[1]);
    return Results{};
  case prim::CallMethod:
    return Results{callMethod(object(args[0]), node->s(c10::attr::name), {args.begin() + 1, args.end()})};
  case prim::CallFunction: {
    jit::Function *function = node->inputs()[0]->type()->expectRef<c10::FunctionType>().function();
    return Results{runFunction(*function, {args.begin() + 1, args.end()})};
  }
  case prim::ListConstruct:
    return Results{makeList(node->output()->type()->expectRef<c10::ListType>().getElementType(), args)};
  case prim::ListUnpack: {
    ListItem *list = args[0].list();
    if (!list || list->items.size() != node->outputs().size())
      emitter.fail("unpacks a list of " + std::to_string(list ? list->items.size() : 0) + " into " +
                   std::to_string(node->outputs().size()) + " values");
    return list->items;
  }
  case prim::TupleConstruct:
    return Results{makeTuple(args)};
  case prim::TupleUnpack:
    return args[0].tuple()->items;
  case prim::TupleIndex: {
    const std::vector<Item> &items = args[0].tuple()->items;
    int64_t index = aten.toInt(args[1]);
    index += index < 0 ? static_cast<int64_t>(items.size()) : 0;
    if (index < 0 || index >= static_cast<int64_t>(items.size()))
      emitter.fail("takes an entry of a tuple that it does not have");
    return Results{items[index]};
  }
  case prim::TupleSlice: {
    const std::vector<Item> &items = args[0].tuple()->items;
    return Results{makeTuple({items.begin() + node->i(c10::attr::beg), items.begin() + node->i(c10::attr::end)})};
  }
  case prim::DictConstruct: {
    auto dict = std::make_shared<DictItem>();
    auto type = node->output()->type()->expect<c10::DictType>();
    dict->keyType = type->getKeyType();
    dict->valueType = type->getValueType();
    for (size_t i = 0; i + 1 < args.size(); i += 2)
      dict->entries.emplace_back(args[i], args[i + 1]);
    return Results{dict};
  }
  case prim::CreateObject: {
    auto type = node->output()->type()->expect<c10::ClassType>();
    return Results{c10::IValue(c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), type->numAttributes()))};
  }
  case prim::unchecked_cast:
  case prim::unchecked_unwrap_optional:
    return Results{args[0]};
  case prim::isinstance: {
    // What the item is decides; a None fits only optional types and None itself.
    for (const c10::TypePtr &type : node->tys(c10::attr::types)) {
      if (args[0].isNone()     ? c10::NoneType::get()->isSubtypeOf(*type)
          : args[0].isTensor() ? type->kind() == c10::TypeKind::TensorType
          : args[0].isIndex()  ? type->kind() == c10::TypeKind::IntType
                               : node->inputs()[0]->type()->isSubtypeOf(*type))
        return Results{c10::IValue(true)};
      if (args[0].constant() && !args[0].isNone() && args[0].constant()->type()->isSubtypeOf(*type))
        return Results{c10::IValue(true)};
    }
    return Results{c10::IValue(false)};
  }
  case prim::Enter:
    return Results{callMethod(object(args[0]), "__enter__", {})};
  case prim::Exit:
    return Results{callMethod(object(args[0]), "__exit__", {Item(), Item(), Item()})};
  case prim::Uninitialized:
    return Results{Item()};
  case prim::RaiseException: {
    const c10::IValue *message = args[0].constant();
    emitter.fail("the model raises an exception for the example's sizes: " +
                 (message && message->isString() ? message->toStringRef() : "without a message"));
  }
  case prim::Print:
    return Results{};
  case prim::PythonOp:
    emitter.fail("calls Python code, which is not part of the TorchScript file; replace it by operators of torch");
  default:
    break;
  }
  StringRef name = kind.toQualString();
  if (name == "aten::warn")
    return Results{};
  // What torch.no_grad() and its kin are made of.
  if (name == "aten::is_grad_enabled")
    return Results{c10::IValue(!emitter.noGrad)};
  if (name == "aten::set_grad_enabled") {
    emitter.noGrad = !toBool(args[0], "whether gradients are computed");
    return Results{};
  }
  return std::nullopt;
}

} // namespace braid::torchscript
