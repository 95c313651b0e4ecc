//===- Aten.cpp - ATen operators, run on symbolic tensors -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Aten.h"
#include "ImportError.h"
#include "Types.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace braid::torchscript {

Call::Call(const c10::FunctionSchema &schema, std::vector<Item> args) : schema(&schema), args(std::move(args)) {
  name = schema.name();
  if (!schema.overload_name().empty())
    name += "." + schema.overload_name();
}

const Item &Call::arg(StringRef argument) const {
  static const Item none;
  std::optional<int> index = schema->argumentIndexWithName(std::string_view(argument.data(), argument.size()));
  return index ? args[*index] : none;
}

Aten::Aten(Emitter &emitter, ImportReport &report) : emitter(emitter), report(report) {}

Aten::Results Aten::run(const Call &call) {
  auto rewrite = getRewrites().find(call.name);
  if (rewrite != getRewrites().end())
    if (std::optional<Results> results = rewrite->second(*this, call))
      return *results;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (const c10::AliasInfo *alias = call.schema->arguments()[i].alias_info(); alias && alias->isWrite())
      return runInPlace(call, i);
  refuseRandom(call);
  if (std::optional<Results> results = runOnNumbers(call))
    return *results;
  std::optional<Results> results = runTyped(call);
  if (!results)
    results = runOpaque(call);
  attachViews(call, *results);
  return *results;
}

Item Aten::call(StringRef name, std::vector<Item> args) {
  auto [base, overload] = name.split('.');
  std::optional<c10::OperatorHandle> handle =
      c10::Dispatcher::singleton().findSchema(c10::OperatorName(base.str(), overload.str()));
  if (!handle)
    emitter.fail("this LibTorch has no operator " + name.str());
  const c10::FunctionSchema &schema = handle->schema();
  for (size_t i = args.size(); i < schema.arguments().size(); ++i) {
    const std::optional<c10::IValue> &value = schema.arguments()[i].default_value();
    if (!value || !value->isList()) {
      args.push_back(value.value_or(c10::IValue()));
      continue;
    }
    std::vector<Item> items;
    for (const c10::IValue &element : value->toListRef())
      items.emplace_back(element);
    args.push_back(makeList(value->toList().elementType(), std::move(items)));
  }
  return run(Call(schema, std::move(args))).at(0);
}

void Aten::refuseRandom(const Call &call) {
  StringRef plain = call.schema->name();
  plain.consume_back("_");
  if (plain == "aten::rand" || plain == "aten::dropout" || plain == "aten::scaled_dot_product_attention")
    return; // these have streams
  bool random = StringRef(call.name).contains("dropout"); // composite, and so without the tag
  if (auto handle =
          c10::Dispatcher::singleton().findSchema(c10::OperatorName(call.schema->name(), call.schema->overload_name())))
    random |= handle->hasTag(at::Tag::nondeterministic_seeded);
  // Operators with a dropout inside (attention, recurrent layers) draw only if it drops something.
  for (StringRef name : {"dropout_p", "dropout"})
    if (const c10::IValue *probability = call.arg(name).constant(); probability && probability->isDouble()) {
      const c10::IValue *train = call.arg("train").constant();
      random = probability->toDouble() != 0 && !(train && train->isBool() && !train->toBool());
    }
  if (random)
    emitter.fail(call.name + " draws random numbers in a way that braid does not know; draw them with torch.rand, "
                             "torch.randn or Tensor.bernoulli_, or trace the model with a dropout probability of 0 "
                             "there");
}

void Aten::failDataDependent(const std::string &what) {
  emitter.fail(what + ": data-dependent control flow and sizes are not supported; compute it in the data loader or use "
                      "torch.where");
}

TensorRef Aten::scalarFor(const Item &scalar, const TensorShape &self) {
  auto category = [](c10::ScalarType type) { return type == at::kBool ? 0 : c10::isIntegralType(type, false) ? 1 : 2; };
  c10::ScalarType selfType = toScalarType(self.elementType);
  const c10::IValue *constant = scalar.constant();
  c10::ScalarType type = !constant || constant->isInt() ? at::kLong : constant->isBool() ? at::kBool : at::kDouble;
  // A Python number yields to the tensor's type; where its kind is higher, it counts as the default type.
  TensorRef number = emitter.makeNumber(scalar);
  if (category(type) > category(selfType))
    return type == at::kDouble ? cast(number, at::typeMetaToScalarType(at::get_default_dtype())) : number;
  return self.rank() == 0 ? cast(number, selfType) : number;
}

TensorRef Aten::cast(const TensorRef &tensor, c10::ScalarType type) {
  if (toScalarType(emitter.shapeOf(*tensor).elementType) == type)
    return tensor;
  if (tensor->constant.defined())
    return emitter.makeConstant(tensor->constant.to(type));
  Type element = toMlirType(emitter.getContext(), type);
  if (!element)
    emitter.fail(std::string("converts a tensor to ") + c10::toString(type) + ", which braid lacks");
  return emitter.makeTensor(
      emitter.create("aten::to.dtype", {emitter.read(*tensor), Attribute(TypeAttr::get(element))}));
}

TensorRef Aten::aliasOf(const TensorRef &base, bool perhaps) {
  auto alias = std::make_shared<Tensor>();
  alias->value = emitter.read(*base);
  alias->base = base;
  alias->baseVersion = base->version;
  alias->view = [](Value value) { return value; };
  alias->writeBack = [](Value, Value part) { return part; };
  alias->isPerhapsView = perhaps;
  alias->number = base->number;
  alias->constant = base->constant;
  return alias;
}

TensorRef Aten::copyOf(const TensorRef &tensor) {
  if (tensor->number.constant() && !tensor->number.isNone())
    return emitter.makeConstant(tensor->constant);
  if (tensor->number.isIndex())
    return emitter.makeNumber(tensor->number);
  return emitter.makeTensor(emitter.read(*tensor));
}

int64_t Aten::toInt(const Item &item) {
  if (!item.isInt())
    emitter.fail("expected an int, got " + kindName(item));
  return emitter.fixToExample(item);
}

bool isIgnorable(const c10::Argument &argument, const Item &item) {
  static constexpr StringLiteral names[] = {
      "device",        "layout",        "pin_memory",   "memory_format", "non_blocking",  "copy",      "implicit",
      "requires_grad", "cudnn_enabled", "cudnn_enable", "benchmark",     "deterministic", "allow_tf32"};
  if (item.isNone() || llvm::is_contained(names, StringRef(argument.name())))
    return true;
  const std::optional<c10::IValue> &standard = argument.default_value();
  std::optional<c10::IValue> value = toIValue(item, argument.type());
  return standard && value && *standard == *value;
}

} // namespace braid::torchscript
