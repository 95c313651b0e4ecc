//===- Rewrites.cpp - Operators that import resolves or respells ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three kinds: questions about a tensor whose answer import knows (size, dtype, Int), operators that do nothing here
// (contiguous, detach), and second spellings of a typed op (conv2d, rsub, view_as).
//
//===----------------------------------------------------------------------===//

#include "Rewrites.h"
#include "ImportError.h"
#include "Types.h"

using namespace mlir;

namespace braid::torchscript {

using Results = Aten::Results;

Item sizesOf(Aten &aten, Tensor &tensor) {
  std::vector<Item> sizes;
  for (int64_t dim = 0, rank = aten.emitter.shapeOf(tensor).rank(); dim < rank; ++dim)
    sizes.push_back(aten.emitter.sizeOf(tensor, dim));
  return makeList(c10::IntType::get(), std::move(sizes));
}

int64_t rankOf(Aten &aten, const Item &tensor) { return aten.emitter.shapeOf(*tensor.tensor()).rank(); }

c10::ScalarType dtypeOf(Aten &aten, const Item &tensor) {
  return toScalarType(aten.emitter.shapeOf(*tensor.tensor()).elementType);
}

Item makeInts(std::vector<int64_t> values) {
  std::vector<Item> items;
  for (int64_t value : values)
    items.emplace_back(c10::IValue(value));
  return makeList(c10::IntType::get(), std::move(items));
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static Answer size(Aten &aten, const Call &call) {
  if (!call.args[0].isTensor())
    return std::nullopt;
  if (call.args.size() == 1)
    return Results{sizesOf(aten, *call.args[0].tensor())};
  return Results{aten.emitter.sizeOf(*call.args[0].tensor(), aten.toInt(call.args[1]))};
}

static Answer length(Aten &aten, const Call &call) { return Results{aten.emitter.sizeOf(*call.args[0].tensor(), 0)}; }

static Answer numel(Aten &aten, const Call &call) {
  Item product = c10::IValue(1), sizes = sizesOf(aten, *call.args[0].tensor());
  for (const Item &size : sizes.list()->items)
    product = aten.emitter.mul(product, size);
  return Results{product};
}

static Answer rank(Aten &aten, const Call &call) { return Results{c10::IValue(rankOf(aten, call.args[0]))}; }

static Answer dtype(Aten &aten, const Call &call) {
  return Results{c10::IValue(static_cast<int64_t>(dtypeOf(aten, call.args[0])))};
}

static Answer isFloatingPoint(Aten &aten, const Call &call) {
  return Results{c10::IValue(c10::isFloatingType(dtypeOf(aten, call.args[0])))};
}

static Answer device(Aten &, const Call &) { return Results{c10::IValue(c10::Device(c10::kCPU))}; }
static Answer no(Aten &, const Call &) { return Results{c10::IValue(false)}; }
static Answer strided(Aten &, const Call &) { return Results{c10::IValue(static_cast<int64_t>(c10::kStrided))}; }

static Answer requiresGrad(Aten &aten, const Call &call) {
  return Results{c10::IValue(aten.emitter.needsGradient(aten.emitter.read(*call.args[0].tensor())))};
}

/// Int(x), Bool(x), item(x): a tensor's value as a Python number.
static Answer number(Aten &aten, const Call &call) {
  const Item &item = call.args[0].isTensor() ? call.args[0].tensor()->number : call.args[0];
  StringRef name = call.name == "aten::is_nonzero" ? StringRef("Bool") : StringRef(call.schema->name());
  if (item.isNone())
    aten.failDataDependent(call.name + " makes a Python number of a computed tensor, so what follows depends on the "
                                       "values of a tensor");
  if (item.isIndex()) {
    if (name.contains("Bool"))
      return Results{c10::IValue(!aten.emitter.equal(item, c10::IValue(0)))};
    if (name.contains("Float"))
      return Results{c10::IValue(static_cast<double>(aten.toInt(item)))};
    return Results{item};
  }
  at::Scalar scalar = item.constant()->toScalar();
  if (name.contains("Int"))
    return Results{c10::IValue(scalar.to<int64_t>())};
  if (name.contains("Bool"))
    return Results{c10::IValue(scalar.to<bool>())};
  if (name.contains("Float"))
    return Results{c10::IValue(scalar.to<double>())};
  return Results{item};
}

static Answer toTensor(Aten &aten, const Call &call) {
  if (call.args[0].isNone() || call.args[0].list() || call.args[0].isTensor())
    return std::nullopt;
  TensorRef tensor = aten.emitter.makeNumber(call.args[0]);
  if (const c10::IValue *type = call.arg("dtype").constant(); type->isInt())
    tensor = aten.cast(tensor, static_cast<c10::ScalarType>(type->toInt()));
  else if (call.args[0].constant() && call.args[0].constant()->isDouble() && call.name != "prim::NumToTensor.Scalar")
    tensor = aten.cast(tensor, at::typeMetaToScalarType(at::get_default_dtype()));
  return Results{tensor};
}

//===----------------------------------------------------------------------===//
// Nothing to do
//===----------------------------------------------------------------------===//

static Answer same(Aten &, const Call &call) { return Results{call.args[0]}; }
static Answer alias(Aten &aten, const Call &call) { return Results{aten.aliasOf(call.args[0].tensor(), false)}; }
static Answer perhapsCopy(Aten &aten, const Call &call) { return Results{aten.aliasOf(call.args[0].tensor(), true)}; }
static Answer copy(Aten &aten, const Call &call) { return Results{aten.copyOf(call.args[0].tensor())}; }

/// A value that no gradient reaches needs no stop.
static Answer detach(Aten &aten, const Call &call) {
  if (!aten.emitter.needsGradient(aten.emitter.read(*call.args[0].tensor())))
    return alias(aten, call);
  return std::nullopt;
}

static Answer convert(Aten &aten, const Call &call) {
  TensorRef self = call.args[0].tensor();
  c10::ScalarType type = dtypeOf(aten, call.args[0]);
  if (call.arg("other").isTensor())
    type = dtypeOf(aten, call.arg("other"));
  else if (const c10::IValue *wanted = call.arg("dtype").constant(); wanted && wanted->isInt())
    type = static_cast<c10::ScalarType>(wanted->toInt());
  TensorRef result = aten.cast(self, type);
  const c10::IValue *copies = call.arg("copy").constant();
  if (result == self && copies && copies->isBool() && copies->toBool())
    return Results{aten.copyOf(self)};
  return Results{result};
}

//===----------------------------------------------------------------------===//
// Second spellings
//===----------------------------------------------------------------------===//

static Answer viewAs(Aten &aten, const Call &call) {
  return Results{aten.call("aten::view", {call.args[0], sizesOf(aten, *call.args[1].tensor())})};
}
static Answer reshapeAs(Aten &aten, const Call &call) {
  return Results{aten.call("aten::reshape", {call.args[0], sizesOf(aten, *call.args[1].tensor())})};
}

static bool isConstant(const Item &item, int64_t value) {
  return item.constant() && item.constant()->isInt() && item.constant()->toInt() == value;
}

/// A slice of everything.
static Answer slice(Aten &aten, const Call &call) {
  bool whole = call.args[0].isTensor() && (call.args[2].isNone() || isConstant(call.args[2], 0)) &&
               (call.args[3].isNone() || isConstant(call.args[3], INT64_MAX)) && isConstant(call.args[4], 1);
  return whole ? alias(aten, call) : std::nullopt;
}

static Answer selectScatter(Aten &aten, const Call &call) {
  int64_t rank = rankOf(aten, call.args[0]), dim = aten.toInt(call.args[2]);
  Item normal = c10::IValue(dim < 0 ? dim + rank : dim), index = call.args[3];
  Item end = isConstant(index, -1) ? Item(c10::IValue(INT64_MAX)) : aten.emitter.add(index, c10::IValue(1));
  Item part = aten.call("aten::unsqueeze", {call.args[1], normal});
  return Results{aten.call("aten::slice_scatter", {call.args[0], part, normal, index, end, c10::IValue(1)})};
}

static Answer reverseSubtract(Aten &aten, const Call &call) {
  return Results{aten.call("aten::sub.Tensor", {call.args[1], call.args[0], call.args[2]})};
}

static Answer argsort(Aten &aten, const Call &call) {
  const c10::FunctionSchema &sort = c10::Dispatcher::singleton().findSchemaOrThrow("aten::sort", "").schema();
  return Results{aten.run(Call(sort, call.args))[1]};
}

static Answer square(Aten &aten, const Call &call) {
  return Results{aten.call("aten::pow.Tensor_Scalar", {call.args[0], c10::IValue(2)})};
}

static Answer minimum(Aten &aten, const Call &call) {
  return Results{aten.call("aten::minimum", {call.args[0], call.args[1]})};
}
static Answer maximum(Aten &aten, const Call &call) {
  return Results{aten.call("aten::maximum", {call.args[0], call.args[1]})};
}

static Answer transposeLast(Aten &aten, const Call &call) {
  return Results{aten.call("aten::transpose.int", {call.args[0], c10::IValue(-2), c10::IValue(-1)})};
}
static Answer swapAxes(Aten &aten, const Call &call) {
  return Results{aten.call("aten::transpose.int", {call.args[0], call.args[1], call.args[2]})};
}
static Answer reverseDims(Aten &aten, const Call &call) {
  std::vector<int64_t> dims;
  for (int64_t dim = rankOf(aten, call.args[0]); dim-- > 0;)
    dims.push_back(dim);
  return Results{aten.call("aten::permute", {call.args[0], makeInts(dims)})};
}

/// where with a Python number on one side or both.
static Answer whereScalar(Aten &aten, const Call &call) {
  Item self = call.args[1], other = call.args[2];
  auto promote = [&](Item &scalar, Item &tensor) {
    scalar = aten.scalarFor(scalar, aten.emitter.shapeOf(*tensor.tensor()));
    c10::ScalarType type = at::promote_types(dtypeOf(aten, scalar), dtypeOf(aten, tensor));
    TensorShape shape = aten.emitter.shapeOf(*tensor.tensor());
    if (shape.rank() && dtypeOf(aten, scalar) == at::kDouble)
      type = dtypeOf(aten, tensor);
    scalar = aten.cast(scalar.tensor(), type);
    tensor = aten.cast(tensor.tensor(), type);
  };
  if (!self.isTensor() && !other.isTensor()) {
    self = aten.emitter.makeNumber(self);
    other = aten.emitter.makeNumber(other);
    for (Item *side : {&self, &other})
      if (dtypeOf(aten, *side) == at::kDouble)
        *side = aten.cast(side->tensor(), at::typeMetaToScalarType(at::get_default_dtype()));
  } else if (self.isTensor()) {
    promote(other, self);
  } else {
    promote(self, other);
  }
  return Results{aten.call("aten::where.self", {call.args[0], self, other})};
}

/// Uninitialised memory: zeros, so that two runs agree.
template <const char *Name> static Answer zeros(Aten &aten, const Call &call) {
  std::vector<Item> args = {call.args[0]};
  if (StringRef(call.name).starts_with("aten::new_empty"))
    args.push_back(call.args[1]);
  args.push_back(call.arg("dtype"));
  return Results{aten.call(Name, std::move(args))};
}
static constexpr char zerosName[] = "aten::zeros", newZerosName[] = "aten::new_zeros",
                      zerosLikeName[] = "aten::zeros_like";

/// full with a size as its value.
static Answer fullOfSize(Aten &aten, const Call &call) {
  if (!call.args[1].isIndex())
    return std::nullopt;
  TensorRef value = aten.emitter.makeNumber(call.args[1]);
  if (const c10::IValue *type = call.arg("dtype").constant(); type && type->isInt())
    value = aten.cast(value, static_cast<c10::ScalarType>(type->toInt()));
  return Results{aten.call("aten::expand", {value, call.args[0]})};
}

static bool isMask(Aten &aten, const Item &item) {
  if (!item.isTensor())
    return false;
  c10::ScalarType type = dtypeOf(aten, item);
  return type == at::kBool || type == at::kByte;
}

static Answer index(Aten &aten, const Call &call) {
  for (const Item &entry : call.args[1].list()->items)
    if (isMask(aten, entry))
      aten.failDataDependent("indexing with a mask gives a size that depends on the values of a tensor");
  return std::nullopt;
}

/// x[mask] = value, where the value has one element: as masked_fill.
static Answer indexPut(Aten &aten, const Call &call) {
  const std::vector<Item> &indices = call.args[1].list()->items;
  bool masks = llvm::any_of(indices, [&](const Item &entry) { return isMask(aten, entry); });
  if (!masks)
    return std::nullopt;
  Item value = call.args[2];
  bool accumulates = call.args[3].constant() && call.args[3].constant()->toBool();
  if (indices.size() != 1 || accumulates || aten.emitter.shapeOf(*value.tensor()).numElements().constant() != 1)
    aten.failDataDependent("writing several elements through a mask puts them where the values of a tensor say");
  Item mask = indices[0];
  int64_t rank = rankOf(aten, call.args[0]);
  for (int64_t dim = rankOf(aten, mask); dim < rank; ++dim)
    mask = aten.call("aten::unsqueeze", {mask, c10::IValue(-1)});
  if (rankOf(aten, value))
    value = aten.call("aten::view", {value, makeInts({})});
  return Results{aten.call("aten::masked_fill.Tensor", {call.args[0], mask, value})};
}

static Rewrites makeRewrites() {
  Rewrites table = {
      {"aten::size", size},
      {"aten::size.int", size},
      {"aten::sym_size.int", size},
      {"prim::shape", size},
      {"aten::len.Tensor", length},
      {"aten::numel", numel},
      {"aten::sym_numel", numel},
      {"aten::dim", rank},
      {"prim::dtype", dtype},
      {"aten::is_floating_point", isFloatingPoint},
      {"prim::device", device},
      {"prim::layout", strided},
      {"prim::is_cuda", no},
      {"prim::is_sparse", no},
      {"prim::is_nested", no},
      {"prim::is_quantized", no},
      {"prim::is_mkldnn", no},
      {"prim::is_meta", no},
      {"aten::is_complex", no},
      {"prim::requires_grad", requiresGrad},
      {"aten::Int.Tensor", number},
      {"aten::Bool.Tensor", number},
      {"aten::Float.Tensor", number},
      {"aten::IntImplicit", number},
      {"aten::FloatImplicit", number},
      {"aten::ScalarImplicit", number},
      {"aten::item", number},
      {"aten::is_nonzero", number},
      {"aten::_local_scalar_dense", number},
      {"prim::NumToTensor.Scalar", toTensor},
      {"prim::NumToTensor.bool", toTensor},
      {"aten::tensor.int", toTensor},
      {"aten::tensor.float", toTensor},
      {"aten::tensor.bool", toTensor},
      {"aten::scalar_tensor", toTensor},

      {"aten::contiguous", perhapsCopy},
      {"aten::clone", copy},
      {"aten::lift_fresh_copy", copy},
      {"aten::lift_fresh", alias},
      {"aten::alias", alias},
      {"aten::resolve_conj", same},
      {"aten::resolve_neg", same},
      {"aten::positive", same},
      {"aten::requires_grad_", same},
      {"aten::cpu", same},
      {"aten::detach", detach},
      {"prim::data", detach},
      {"aten::to.dtype", convert},
      {"aten::to.dtype_layout", convert},
      {"aten::to.device", convert},
      {"aten::to.other", convert},
      {"aten::to.prim_Device", convert},
      {"aten::to.prim_dtype", convert},
      {"aten::to.prim_other", convert},
      {"aten::type_as", convert},

      {"aten::view_as", viewAs},
      {"aten::reshape_as", reshapeAs},
      {"aten::einsum", einsum},
      {"aten::slice.Tensor", slice},
      {"aten::select_scatter", selectScatter},
      {"aten::rsub.Tensor", reverseSubtract},
      {"aten::argsort", argsort},
      {"aten::square", square},
      {"aten::min.other", minimum},
      {"aten::max.other", maximum},
      {"aten::mT", transposeLast},
      {"aten::swapaxes", swapAxes},
      {"aten::swapdims", swapAxes},
      {"aten::numpy_T", reverseDims},
      {"aten::where.Scalar", whereScalar},
      {"aten::where.ScalarSelf", whereScalar},
      {"aten::where.ScalarOther", whereScalar},
      {"aten::empty.memory_format", zeros<zerosName>},
      {"aten::new_empty", zeros<newZerosName>},
      {"aten::empty_like", zeros<zerosLikeName>},
      {"aten::full", fullOfSize},
      {"aten::index.Tensor", index},
      {"aten::index_put", indexPut},
  };
  addImageRewrites(table);
  addLossRewrites(table);
  addMathRewrites(table);
  addRecurrentRewrites(table);
  addViewRewrites(table);
  addRandomRewrites(table);
  return table;
}

const llvm::StringMap<Aten::Rewrite> &Aten::getRewrites() {
  static const Rewrites table = makeRewrites();
  return table;
}

} // namespace braid::torchscript
