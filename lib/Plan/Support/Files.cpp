//===- Files.cpp - Files that people name ---------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/Files.h"

#include <filesystem>

namespace braid::plan {

Status checkRegularFile(const std::string &path) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status) || std::filesystem::is_regular_file(status))
    return {};
  const char *what = std::filesystem::is_directory(status) ? "a folder" : "a pipe, a device or a socket";
  return Error{"cannot read " + path + ": it is " + what + "; name a file"};
}

} // namespace braid::plan
