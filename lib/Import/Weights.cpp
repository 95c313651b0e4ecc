//===- Weights.cpp - Parameters by reference into the file ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "ImportError.h"
#include "Types.h"

#include "braid/Plan/ArchiveDigest.h"

using namespace mlir;

namespace braid::torchscript {

Weights::Weights(ModuleOp module, std::shared_ptr<Archive> archive, const torch::jit::Module &model,
                 const std::string &file)
    : builder(module.getBodyRegion()), loc(module.getLoc()), archive(std::move(archive)), file(file) {
  plan::Result<plan::ArchiveDigest> digest = plan::archiveDigest(file);
  if (!digest)
    throw ImportError(digest.error());
  addModule(model, "");
  std::string symbol = "weights";
  while (byName.count(symbol))
    symbol += "_";
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  WeightsOp::create(builder, loc, symbol, file, digest->bytes, digest->digest);
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
    auto known = byTensor.find(value.toTensor().unsafeGetTensorImpl());
    if (known == byTensor.end()) {
      create(name, value.toTensor(), type->is_parameter(slot) ? "parameter" : "buffer");
      continue;
    }
    ParamOp param = known->second;
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

bool Weights::hasValues(const at::Tensor &tensor) const { return !archive->isLeftOut(tensor.storage().data()); }

} // namespace braid::torchscript
