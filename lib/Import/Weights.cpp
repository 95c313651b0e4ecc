//===- Weights.cpp - Parameters by reference into the file ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "ImportError.h"
#include "Types.h"

using namespace mlir;

namespace braid::torchscript {

Weights::Weights(ModuleOp module, std::shared_ptr<Archive> archive, const torch::jit::Module &model,
                 const std::string &file)
    : builder(module.getBodyRegion()), loc(module.getLoc()), archive(std::move(archive)), file(file) {
  addModule(model, "");
  refuseOverlaps();
  std::string symbol = "weights";
  while (byName.count(symbol))
    symbol += "_";
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  WeightsOp::create(builder, loc, symbol, file, this->archive->size(), this->archive->getDigest());
}

/// Own tensors first, then those of the children: the order of Python's named_parameters().
void Weights::addModule(const torch::jit::Module &module, const std::string &path) {
  paths.emplace(module._ivalue().get(), path);
  const c10::ClassTypePtr &type = module.type();
  std::string prefix = path.empty() ? "" : path + ".";
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    const c10::IValue &value = module._ivalue()->getSlot(slot);
    if (!value.isTensor() || !value.toTensor().defined())
      continue;
    std::string name = prefix + type->getAttributeName(slot);
    StringRef kind = type->is_parameter(slot) ? "parameter" : "buffer";
    ParamOp param = sameMemory(name, value.toTensor(), kind);
    bool isNew = !param;
    if (isNew)
      param = create(name, value.toTensor(), kind);
    slots.push_back(
        {module._ivalue().get(), type->getAttributeName(slot), value.toTensor().unsafeGetTensorImpl(), param});
    if (isNew)
      continue;
    SmallVector<Attribute> aliases;
    if (ArrayAttr before = param.getAliasesAttr())
      llvm::append_range(aliases, before);
    aliases.push_back(builder.getStringAttr(name));
    param.setAliasesAttr(builder.getArrayAttr(aliases));
  }
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    const c10::IValue &value = module._ivalue()->getSlot(slot);
    if (value.isModule())
      addModule(torch::jit::Module(value.toObject()), prefix + type->getAttributeName(slot));
  }
}

/// The declaration of the same tensor under another name, or of another tensor that is the same view of the same memory
/// and trains alike; null if there is none.
ParamOp Weights::sameMemory(const std::string &name, const at::Tensor &tensor, StringRef kind) {
  if (auto known = byTensor.find(tensor.unsafeGetTensorImpl()); known != byTensor.end())
    return known->second;
  if (!tensor.numel())
    return {};
  for (auto &[other, param] : views[tensor.storage().unsafeGetStorageImpl()])
    if (other.storage_offset() == tensor.storage_offset() && other.scalar_type() == tensor.scalar_type() &&
        other.sizes() == tensor.sizes() && other.strides() == tensor.strides() && param.getKind() == kind &&
        param.getRequiresGrad() == (tensor.requires_grad() && kind == "parameter")) {
      remarks.push_back("'" + name + "' and '" + param.getSymName().str() +
                        "' are the same memory; they are one parameter with two names");
      byTensor.emplace(tensor.unsafeGetTensorImpl(), param);
      kept.push_back(tensor);
      return param;
    }
  return {};
}

namespace {
/// The bytes of a storage that a tensor stands on.
struct Extent {
  explicit Extent(const at::Tensor &tensor)
      : tensor(tensor), elementBytes(static_cast<int64_t>(tensor.element_size())) {
    int64_t last = tensor.storage_offset();
    for (int64_t dim = 0; dim < tensor.dim(); ++dim)
      last += (tensor.size(dim) - 1) * tensor.stride(dim);
    begin = tensor.storage_offset() * elementBytes;
    end = (last + 1) * elementBytes;
  }

  /// Byte offsets of the elements, in order.
  std::vector<int64_t> elements() const {
    std::vector<int64_t> offsets = {tensor.storage_offset()};
    for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
      size_t before = offsets.size();
      for (int64_t i = 1; i < tensor.size(dim); ++i)
        for (size_t at = 0; at < before; ++at)
          offsets.push_back(offsets[at] + i * tensor.stride(dim));
    }
    for (int64_t &offset : offsets)
      offset *= elementBytes;
    llvm::sort(offsets);
    return offsets;
  }

  bool overlaps(const Extent &other) const {
    if (begin >= other.end || other.begin >= end)
      return false;
    if (tensor.is_non_overlapping_and_dense() && other.tensor.is_non_overlapping_and_dense())
      return true;
    std::vector<int64_t> mine = elements(), theirs = other.elements();
    for (size_t i = 0, j = 0; i < mine.size() && j < theirs.size();) {
      if (mine[i] + elementBytes <= theirs[j])
        ++i;
      else if (theirs[j] + other.elementBytes <= mine[i])
        ++j;
      else
        return true;
    }
    return false;
  }

  at::Tensor tensor;
  int64_t elementBytes, begin, end;
};
} // namespace

/// Training gives each parameter memory of its own, so what one parameter's update would change in another is lost.
void Weights::refuseOverlaps() const {
  auto nameOf = [](ParamOp param) { return "'" + param.getSymName().str() + "'"; };
  for (const auto &[storage, sharing] : views) {
    std::vector<std::pair<Extent, ParamOp>> extents;
    for (const auto &[tensor, param] : sharing)
      extents.emplace_back(tensor, param);
    llvm::sort(extents, [](const auto &a, const auto &b) { return a.first.begin < b.first.begin; });
    for (size_t i = 0; i < extents.size(); ++i) {
      auto &[extent, param] = extents[i];
      for (int64_t dim = 0; dim < extent.tensor.dim() && param.getRequiresGrad(); ++dim)
        if (extent.tensor.stride(dim) == 0 && extent.tensor.size(dim) > 1)
          throw ImportError(file + ": " + nameOf(param) + " is expanded in dim " + std::to_string(dim) +
                            ", so its elements share memory and cannot train apart; make it a parameter of size 1 "
                            "there, and expand it in forward");
      for (size_t j = i + 1; j < extents.size() && extents[j].first.begin < extent.end; ++j)
        if (auto &[other, otherParam] = extents[j];
            (param.getRequiresGrad() || otherParam.getRequiresGrad()) && extent.overlaps(other))
          throw ImportError(file + ": " + nameOf(param) + " and " + nameOf(otherParam) +
                            " are views that overlap in memory, so an update of one changes the other; give each its "
                            "own with clone(), or use one of them in both places");
    }
  }
}

ParamOp Weights::create(const std::string &name, const at::Tensor &tensor, StringRef kind) {
  auto fail = [&](const std::string &why) -> ParamOp {
    throw ImportError(file + ": " + kind.str() + " '" + name + "' " + why);
  };
  if (tensor.layout() != at::kStrided || tensor.is_quantized())
    return fail("is sparse or quantised; braid trains dense tensors");
  Type element = toMlirType(builder.getContext(), tensor.scalar_type());
  if (!element)
    return fail(std::string("has element type ") + c10::toString(tensor.scalar_type()) +
                ", which braid lacks; convert it before tracing");
  int64_t offset = 0;
  if (tensor.numel()) {
    std::optional<uint64_t> record = archive->offsetOf(tensor.storage().data());
    if (!record)
      return fail("is not a stored record of the archive (it is compressed, or computed while loading); save the "
                  "model again with torch.jit.save");
    offset = static_cast<int64_t>(*record) + tensor.storage_offset() * static_cast<int64_t>(tensor.element_size());
  }
  DenseI64ArrayAttr strides;
  if (!tensor.is_contiguous())
    strides = builder.getDenseI64ArrayAttr(ArrayRef(tensor.strides().data(), tensor.strides().size()));
  auto type = RankedTensorType::get(ArrayRef(tensor.sizes().data(), tensor.sizes().size()), element);
  if (last)
    builder.setInsertionPointAfter(last);
  auto param = ParamOp::create(builder, loc, name, type, offset, kind, tensor.requires_grad() && kind == "parameter",
                               strides, ArrayAttr());
  last = param;
  byName[name] = param;
  byTensor.emplace(tensor.unsafeGetTensorImpl(), param);
  kept.push_back(tensor);
  if (tensor.numel())
    views[tensor.storage().unsafeGetStorageImpl()].emplace_back(tensor, param);
  return param;
}

ParamOp Weights::declare(const at::Tensor &tensor, StringRef kind) {
  auto known = byTensor.find(tensor.unsafeGetTensorImpl());
  if (known != byTensor.end())
    return known->second;
  std::string name;
  for (size_t number = byTensor.size(); name.empty() || byName.count(name); ++number)
    name = "constant" + std::to_string(number);
  return create(name, tensor, kind);
}

std::string Weights::sharerOf(ParamOp param) const {
  const c10::TensorImpl *first = nullptr;
  for (const Slot &slot : slots) {
    if (slot.param != param)
      continue;
    if (first && slot.tensor != first)
      return paths.at(slot.holder).empty() ? slot.attribute : paths.at(slot.holder) + "." + slot.attribute;
    first = slot.tensor;
  }
  for (const auto &[storage, sharing] : views)
    for (const auto &[tensor, own] : sharing)
      if (own == param)
        for (const auto &[other, otherParam] : sharing)
          if (otherParam != param && Extent(tensor).overlaps(Extent(other)))
            return ParamOp(otherParam).getSymName().str();
  return "";
}

bool Weights::hasValues(const at::Tensor &tensor) const { return !archive->isLeftOut(tensor.storage().data()); }

} // namespace braid::torchscript
