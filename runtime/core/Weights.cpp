//===- Weights.cpp - The model's weight file ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Weights.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <zlib.h>

using namespace braid;
using namespace braid::runtime;
namespace fs = std::filesystem;

/// Where the file may be, best first.
static std::vector<std::string> places(const std::string &recorded, const std::string &given) {
  if (!given.empty())
    return {given};
  std::vector<std::string> result = {recorded};
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) {
    if (fs::path(recorded).is_relative())
      result.push_back((folder / recorded).string());
    result.push_back((folder / fs::path(recorded).filename()).string());
  }
  return result;
}

/// Bytes from the first to behind the last element, or nothing on overflow.
static std::optional<uint64_t> extent(const ModelParameter &parameter) {
  uint64_t last = 0;
  for (size_t i = 0; i < parameter.shape.size(); ++i) {
    if (parameter.shape[i] == 0)
      return 0;
    uint64_t span;
    if (__builtin_mul_overflow(uint64_t(parameter.shape[i] - 1), uint64_t(parameter.strides[i]), &span) ||
        __builtin_add_overflow(last, span, &last))
      return std::nullopt;
  }
  uint64_t bytes;
  if (__builtin_add_overflow(last, uint64_t(1), &last) ||
      __builtin_mul_overflow(last, uint64_t(info(parameter.dtype).bytes), &bytes))
    return std::nullopt;
  return bytes;
}

Weights::Weights(std::shared_ptr<const MappedFile> file, std::vector<plan::ArchiveRecord> records)
    : file(std::move(file)), records(std::move(records)) {
  std::sort(this->records.begin(), this->records.end(),
            [](const plan::ArchiveRecord &a, const plan::ArchiveRecord &b) { return a.offset < b.offset; });
}

plan::Result<Weights> Weights::open(const Program &program, const std::string &given) {
  const WeightsFile &recorded = program.weights;
  std::vector<std::string> candidates = places(recorded.file, given);
  std::string path;
  std::error_code ignored;
  for (const std::string &candidate : candidates)
    if (path.empty() && fs::is_regular_file(candidate, ignored))
      path = candidate;
  if (path.empty())
    return plan::Error{text("the weight file is missing: there is no ", joined(candidates, ", nor "),
                            "; put it there or pass --weights FILE")};
  plan::Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file)
    return plan::Error{file.error()};
  plan::Result<plan::ArchiveDirectory> directory =
      plan::readArchiveDirectory({reinterpret_cast<const char *>((*file)->data()), (*file)->size()});
  if (!directory)
    return plan::Error{text("the weight file ", path, " cannot be used: ", directory.error())};
  if (directory->bytes != recorded.bytes || directory->digest != recorded.digest)
    return plan::Error{text("the weight file ", path, " has changed since the program was compiled: it has ",
                            directory->bytes, " bytes and digest ", directory->digest, ", and the program wants ",
                            recorded.bytes, " and ", recorded.digest,
                            "; compile the program again, or pass the old file by --weights FILE")};
  for (const ModelParameter &parameter : program.parameters) {
    std::optional<uint64_t> bytes = extent(parameter);
    if (!bytes || parameter.offset > (*file)->size() || *bytes > (*file)->size() - parameter.offset)
      return plan::Error{text("the program's plan is broken: ", parameter.name, " of shape ",
                              shapeText(parameter.shape), " at byte ", parameter.offset, " reaches past the ",
                              (*file)->size(), " bytes of ", path, "; compile the program again")};
  }
  return Weights(std::move(*file), std::move(directory->records));
}

plan::Status Weights::check(const Program &program, int rank) const {
  std::set<const plan::ArchiveRecord *> checked;
  for (size_t number = 0; number < program.parameters.size(); ++number) {
    const ModelParameter &parameter = program.parameters[number];
    uint64_t bytes = extent(parameter).value_or(0);
    if (!bytes || !program.uses(rank, static_cast<int>(number)))
      continue;
    auto record = std::upper_bound(records.begin(), records.end(), parameter.offset,
                                   [](uint64_t offset, const plan::ArchiveRecord &r) { return offset < r.offset; });
    if (record == records.begin() || parameter.offset + bytes > (--record)->offset + record->bytes)
      return plan::Error{text("the program's plan is broken: ", parameter.name, " at byte ", parameter.offset,
                              " lies in no record of ", file->path(), "; compile the program again")};
    if (!checked.insert(&*record).second)
      continue;
    auto *data = reinterpret_cast<const Bytef *>(file->data() + record->offset);
    if (uLong crc = crc32_z(0, data, record->bytes); crc != record->crc)
      return plan::Error{text("the weights of ", parameter.name, " are damaged: record ", record->name, " of ",
                              file->path(), " has checksum ", crc, " and the archive's directory says ", record->crc,
                              "; save the model again and compile it, or restore the file")};
  }
  return {};
}

Tensor Weights::load(const ModelParameter &parameter) const {
  std::byte *data = file->data() + parameter.offset;
  if (reinterpret_cast<uintptr_t>(data) % info(parameter.dtype).bytes == 0) {
    Tensor stored = Tensor::view(data, parameter.dtype, parameter.shape, parameter.strides, file);
    return parameter.updated ? stored.clone() : stored;
  }
  // An archive that was repacked without alignment.
  uint64_t bytes = extent(parameter).value_or(0);
  std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  std::memcpy(copy.get(), data, bytes);
  return Tensor::view(copy.get(), parameter.dtype, parameter.shape, parameter.strides, copy).clone();
}
