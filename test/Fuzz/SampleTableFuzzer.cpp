//===- SampleTableFuzzer.cpp - Any bytes as a table of sample sizes -------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Samples.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Result<SampleTable> table = SampleTable::parse(text, "s.csv");
  if (!table) {
    if (table.error().rfind("s.csv", 0) != 0)
      __builtin_trap(); // every error names the file
    return 0;
  }
  for (const std::string &name : table->columns) {
    Result<std::vector<double>> column = table->column(name);
    if (column && column->size() != table->rows())
      __builtin_trap();
  }
  return 0;
}
