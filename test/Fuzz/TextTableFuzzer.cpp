//===- TextTableFuzzer.cpp - Any bytes as CSV ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/TextTable.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Result<TextTable> table = TextTable::parse(text, "s.csv");
  if (!table) {
    if (table.error().rfind("s.csv", 0) != 0)
      __builtin_trap(); // every error names the file
    return 0;
  }
  for (const std::vector<std::string> &row : table->rows)
    if (row.size() != table->columns.size())
      __builtin_trap();
  for (const std::string &name : table->columns) {
    Result<std::vector<double>> column = table->sizes(name);
    if (column ? column->size() != table->rows.size() : column.error().rfind("s.csv:", 0) != 0)
      __builtin_trap();
  }
  return 0;
}
