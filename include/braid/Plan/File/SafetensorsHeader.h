//===- SafetensorsHeader.h - What a safetensors file holds --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Eight bytes of length, a JSON object that gives each tensor's dtype, shape and place, then the data. The one reader
// of compiler and runtime: it takes what the reference implementation takes, and nothing that is ambiguous or reaches
// outside of the file.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_FILE_SAFETENSORSHEADER_H
#define BRAID_PLAN_FILE_SAFETENSORSHEADER_H

#include "braid/Plan/File/ElementType.h"
#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

struct StoredTensor {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape; // sizes are 0 or more
  uint64_t begin = 0;         // of its bytes, counted from the start of the file
  uint64_t bytes = 0;         // those that type and shape need; all within the file, and no other tensor's
};

/// Tensors of the file by name. Errors say what is wrong and are worded to stand behind the file's name.
Result<std::map<std::string, StoredTensor>> readSafetensorsHeader(std::string_view file);

} // namespace braid::plan

#endif // BRAID_PLAN_FILE_SAFETENSORSHEADER_H
