//===- MappedFile.cpp - Files in memory -----------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/MappedFile.h"
#include "runtime/core/Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

plan::Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return plan::Error{text("cannot read ", path, ": ", std::strerror(errno))};
  struct stat status;
  void *start = nullptr;
  int failed = fstat(file, &status);
  if (!failed && !S_ISREG(status.st_mode)) {
    close(file);
    return plan::Error{text("cannot read ", path, ": it is no regular file")};
  }
  if (!failed && status.st_size > 0) {
    start = mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    failed = start == MAP_FAILED;
  }
  int code = errno;
  close(file);
  if (failed)
    return plan::Error{text("cannot read ", path, ": ", std::strerror(code))};
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<std::byte *>(start), static_cast<size_t>(status.st_size)));
}

MappedFile::~MappedFile() {
  if (start)
    munmap(start, bytes);
}
