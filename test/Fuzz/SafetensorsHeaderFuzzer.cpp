//===- SafetensorsHeaderFuzzer.cpp - Any bytes as a safetensors file ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/SafetensorsHeader.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<std::map<std::string, StoredTensor>> tensors =
      readSafetensorsHeader({reinterpret_cast<const char *>(data), size});
  if (!tensors)
    return 0;
  // Whoever reads the bytes of a tensor stays inside the file.
  for (const auto &[name, tensor] : *tensors)
    if (tensor.begin > size || tensor.bytes > size - tensor.begin)
      __builtin_trap();
  return 0;
}
