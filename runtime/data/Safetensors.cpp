//===- Safetensors.cpp - Reading and writing safetensors files ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Safetensors.h"
#include "braid/Plan/File/SafetensorsHeader.h"
#include "runtime/core/Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

static constexpr size_t lengthBytes = 8;

/// Elements of the shape times the element's size, or nothing on overflow.
static std::optional<uint64_t> bytesOf(DType dtype, const std::vector<int64_t> &shape) {
  uint64_t bytes = info(dtype).bytes;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
      return std::nullopt;
  return bytes;
}

plan::Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  plan::Result<std::shared_ptr<const MappedFile>> mapped = MappedFile::open(path);
  if (!mapped)
    return plan::Error{mapped.error()};
  const MappedFile &bytes = **mapped;
  auto tensors = plan::readSafetensorsHeader({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  if (!tensors)
    return plan::Error{text(path, ": ", tensors.error(), "; write it again")};
  SafetensorsFile result;
  result.file = *mapped;
  for (auto &[name, tensor] : *tensors)
    result.entries[name] = {static_cast<DType>(tensor.type), std::move(tensor.shape), bytes.data() + tensor.begin,
                            tensor.bytes};
  return result;
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)), file(std::exchange(other.file, -1)),
      sizes(std::move(other.sizes)), next(other.next) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (file < 0)
    return;
  close(file);
  unlink(temporary.c_str());
}

plan::Error SafetensorsWriter::failure(const char *what) const {
  return plan::Error{text("cannot ", what, " ", temporary, " for ", path, ": ", std::strerror(errno))};
}

plan::Result<SafetensorsWriter> SafetensorsWriter::create(std::string path, const std::vector<Spec> &specs) {
  SafetensorsWriter writer;
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"]["format"] = "pt";
  uint64_t end = 0;
  for (const Spec &spec : specs) {
    std::optional<uint64_t> bytes = bytesOf(spec.dtype, spec.shape);
    if (!bytes)
      return plan::Error{text("tensor '", spec.name, "' of shape ", shapeText(spec.shape), " is too large")};
    if (header.contains(spec.name))
      return plan::Error{text("cannot write ", path, ": two tensors are named '", spec.name, "'")};
    header[spec.name] = {
        {"dtype", info(spec.dtype).safetensors}, {"shape", spec.shape}, {"data_offsets", {end, end + *bytes}}};
    end += *bytes;
    writer.sizes.push_back(*bytes);
  }
  std::string json = header.dump();
  json.append((lengthBytes - json.size() % lengthBytes) % lengthBytes, ' '); // so that the data is aligned

  writer.path = std::move(path);
  writer.temporary = text(writer.path, ".", getpid(), ".tmp");
  writer.file = ::open(writer.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (writer.file < 0)
    return writer.failure("create");
  unsigned char length[lengthBytes];
  for (size_t i = 0; i < lengthBytes; ++i)
    length[i] = static_cast<unsigned char>(json.size() >> (8 * i));
  if (plan::Status status = writer.put(length, lengthBytes); !status)
    return plan::Error{status.error()};
  if (plan::Status status = writer.put(json.data(), json.size()); !status)
    return plan::Error{status.error()};
  return writer;
}

plan::Status SafetensorsWriter::put(const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  while (bytes) {
    ssize_t written = ::write(file, at, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failure("write");
    at += written;
    bytes -= written;
  }
  return {};
}

plan::Status SafetensorsWriter::write(const void *data, size_t bytes) {
  if (next >= sizes.size() || bytes != sizes[next])
    return plan::Error{text("tensor ", next, " of ", path, " was announced with ",
                            next < sizes.size() ? sizes[next] : 0, " bytes and written with ", bytes)};
  ++next;
  return put(data, bytes);
}

plan::Status SafetensorsWriter::finish() {
  if (next != sizes.size())
    return plan::Error{text(path, " was announced with ", sizes.size(), " tensors and written with ", next)};
  if (fsync(file) != 0)
    return failure("write");
  close(std::exchange(file, -1));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    plan::Error error = failure("rename");
    unlink(temporary.c_str());
    return error;
  }
  // The rename itself is durable once the folder is.
  std::string folder = std::filesystem::path(path).parent_path().string();
  int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
  return {};
}
