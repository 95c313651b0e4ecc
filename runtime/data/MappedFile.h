//===- MappedFile.h - Files in memory ----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_DATA_MAPPEDFILE_H
#define BRAID_RUNTIME_DATA_MAPPEDFILE_H

#include "braid/Plan/Support/Result.h"

#include <cstddef>
#include <memory>
#include <string>

namespace braid::runtime {

/// A file mapped privately: pages are read when they are touched, and writing to them never reaches the file.
///
/// Touching what somebody cut off the file meanwhile is a bus error. What is read again and again while a run lasts is
/// better read().
class MappedFile {
public:
  static plan::Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return name; }
  std::byte *data() const { return start; }
  size_t size() const { return bytes; }

  /// Copies what the file holds now, at the place of `from` in the mapping; fails where the file has become shorter.
  plan::Status read(const std::byte *from, void *to, size_t count) const;

private:
  MappedFile(std::string path, int file, std::byte *start, size_t bytes);

  std::string name;
  int file;
  std::byte *start;
  size_t bytes;
  int watched; // its place among the files that bus errors are explained by, or -1
};

/// From now on a bus error in a mapped file ends the process with exit status 1 and a message that names the file.
void explainBusErrors();

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_MAPPEDFILE_H
