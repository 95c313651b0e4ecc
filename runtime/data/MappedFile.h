//===- MappedFile.h - Files in memory ----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_DATA_MAPPEDFILE_H
#define BRAID_RUNTIME_DATA_MAPPEDFILE_H

#include "braid/Plan/Result.h"

#include <cstddef>
#include <memory>
#include <string>

namespace braid::runtime {

/// A file mapped privately: pages are read when they are touched, and writing to them never reaches the file.
class MappedFile {
public:
  static plan::Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return name; }
  std::byte *data() const { return start; }
  size_t size() const { return bytes; }

private:
  MappedFile(std::string path, std::byte *start, size_t bytes) : name(std::move(path)), start(start), bytes(bytes) {}

  std::string name;
  std::byte *start;
  size_t bytes;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_MAPPEDFILE_H
