//===- Safetensors.cpp - Reading and writing safetensors files ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Safetensors.h"
#include "runtime/core/Json.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

static constexpr size_t lengthBytes = 8;
static constexpr uint64_t maxHeader = 100'000'000; // the limit of the reference implementation

/// Elements of the shape times the element's size, or nothing on overflow.
static std::optional<uint64_t> bytesOf(DType dtype, const std::vector<int64_t> &shape) {
  uint64_t bytes = info(dtype).bytes;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
      return std::nullopt;
  return bytes;
}

static TensorEntry readEntry(const JsonNode &node, std::byte *data, uint64_t dataBytes, uint64_t &begin) {
  TensorEntry entry;
  std::string dtype = node["dtype"].string();
  std::optional<DType> known = parseSafetensorsDType(dtype);
  if (!known)
    node["dtype"].fail(text("is ", dtype,
                            ", which braid does not know; convert the tensor to one of F64, F32, BF16, "
                            "F16, I64, I32, I16, I8, U8, BOOL"));
  entry.dtype = *known;
  entry.shape = node["shape"].map([](const JsonNode &size) { return size.integer(); });
  std::vector<int64_t> place = node["data_offsets"].map([](const JsonNode &offset) { return offset.integer(); });
  if (place.size() != 2)
    node["data_offsets"].fail(text("has ", place.size(), " numbers, not 2"));
  uint64_t end = place[1];
  begin = place[0];
  if (begin > end || end > dataBytes)
    node["data_offsets"].fail(text("is ", begin, " to ", end, " and the file holds ", dataBytes, " bytes of data"));
  std::optional<uint64_t> bytes = bytesOf(entry.dtype, entry.shape);
  if (!bytes || *bytes != end - begin)
    node.fail(text("takes ", end - begin, " bytes and ", info(entry.dtype).name, shapeText(entry.shape), " needs ",
                   bytes ? std::to_string(*bytes) : "more than 64 bits count"));
  entry.data = data + begin;
  entry.bytes = *bytes;
  return entry;
}

/// Keys that stand twice in one object, which a JSON object would silently merge.
static nlohmann::json parseHeader(const char *begin, const char *end) {
  std::vector<std::set<std::string>> open;
  auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json &parsed) {
    if (event == nlohmann::json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == nlohmann::json::parse_event_t::object_end)
      open.pop_back();
    else if (event == nlohmann::json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      throw JsonError(text("'", parsed.get<std::string>(), "' stands twice"));
    return true;
  };
  return nlohmann::json::parse(begin, end, watch);
}

plan::Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  plan::Result<std::shared_ptr<const MappedFile>> mapped = MappedFile::open(path);
  if (!mapped)
    return plan::Error{mapped.error()};
  const MappedFile &bytes = **mapped;
  auto broken = [&](const std::string &why) {
    return plan::Error{text(path, " is no sound safetensors file: ", why, "; write it again")};
  };
  if (bytes.size() < lengthBytes)
    return broken(text("it has ", bytes.size(), " bytes, and the length of the header alone takes ", lengthBytes));
  uint64_t header = 0;
  for (int i = lengthBytes - 1; i >= 0; --i)
    header = header << 8 | std::to_integer<uint64_t>(bytes.data()[i]);
  if (header > bytes.size() - lengthBytes)
    return broken(text("it announces a header of ", header, " bytes and has ", bytes.size() - lengthBytes,
                       " bytes after the length"));
  if (header > maxHeader)
    return broken(text("its header has ", header, " bytes, more than ", maxHeader));

  SafetensorsFile result;
  result.file = *mapped;
  const char *begin = reinterpret_cast<const char *>(bytes.data()) + lengthBytes;
  std::byte *data = bytes.data() + lengthBytes + header;
  uint64_t dataBytes = bytes.size() - lengthBytes - header;
  try {
    nlohmann::json json = parseHeader(begin, begin + header);
    if (!json.is_object())
      return broken(text("its header is ", json.type_name(), ", not an object"));
    std::map<uint64_t, std::string> byPlace; // of tensors that have bytes
    for (const auto &[name, value] : json.items()) {
      if (name == "__metadata__")
        continue;
      uint64_t place = 0;
      TensorEntry entry = readEntry(JsonNode(value, text("tensor '", name, "'")), data, dataBytes, place);
      if (entry.bytes && !byPlace.emplace(place, name).second)
        return broken(text("tensors '", byPlace[place], "' and '", name, "' both start at byte ", place));
      result.entries.emplace(name, std::move(entry));
    }
    uint64_t end = 0;
    std::string before;
    for (const auto &[place, name] : byPlace) {
      if (place < end)
        return broken(text("tensor '", before, "' ends at byte ", end, " and tensor '", name, "' starts at ", place));
      if (place > end)
        return broken(text("bytes ", end, " to ", place, " before tensor '", name, "' belong to no tensor"));
      end = place + result.entries[name].bytes;
      before = name;
    }
    if (end != dataBytes)
      return broken(text("its tensors end at byte ", end, " and its data at ", dataBytes));
  } catch (const std::exception &error) {
    return broken(error.what());
  }
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
