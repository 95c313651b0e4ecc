//===- Safetensors.h - Reading and writing safetensors files -----*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A safetensors file is the length of its header in 8 bytes, a JSON header with dtype, shape and place of each tensor,
// and the data: https://huggingface.co/docs/safetensors. The reader trusts nothing of a header that it has not checked;
// the writer leaves either the whole new file or the old one.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_DATA_SAFETENSORS_H
#define BRAID_RUNTIME_DATA_SAFETENSORS_H

#include "runtime/data/DType.h"
#include "runtime/data/MappedFile.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace braid::runtime {

struct TensorEntry {
  DType dtype;
  std::vector<int64_t> shape;
  std::byte *data = nullptr; // row-major, in the mapped file; not always aligned to the element
  size_t bytes = 0;
};

class SafetensorsFile {
public:
  static plan::Result<SafetensorsFile> open(const std::string &path);

  const std::map<std::string, TensorEntry> &tensors() const { return entries; }
  const std::string &path() const { return file->path(); }
  /// Keeps the data of the entries alive.
  const std::shared_ptr<const MappedFile> &mapping() const { return file; }

private:
  std::shared_ptr<const MappedFile> file;
  std::map<std::string, TensorEntry> entries;
};

/// Names and shapes first, then the data of each tensor in the same order; finish() makes the file appear.
class SafetensorsWriter {
public:
  struct Spec {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
  };
  static plan::Result<SafetensorsWriter> create(std::string path, const std::vector<Spec> &specs);
  SafetensorsWriter(SafetensorsWriter &&other) noexcept;
  SafetensorsWriter &operator=(SafetensorsWriter &&) = delete;
  ~SafetensorsWriter(); // removes the temporary file unless finished

  /// The bytes of the next tensor, all of them.
  plan::Status write(const void *data, size_t bytes);
  plan::Status finish();

private:
  SafetensorsWriter() = default;
  plan::Status put(const void *data, size_t bytes);
  plan::Error failure(const char *what) const;

  std::string path, temporary;
  int file = -1;
  std::vector<size_t> sizes;
  size_t next = 0;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_SAFETENSORS_H
