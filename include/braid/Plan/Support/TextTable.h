//===- TextTable.h - CSV files with a header ---------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_TEXTTABLE_H
#define BRAID_PLAN_SUPPORT_TEXTTABLE_H

#include "braid/Plan/Support/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

/// Cells by named column. The first line gives each column a name of its own, every other line has a cell for each;
/// empty lines are skipped. A cell in double quotes may hold commas; two quotes in it are one. Blanks around cells are
/// dropped.
struct TextTable {
  std::string name; // of the file, for errors
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> lines; // in the file, of each row

  static Result<TextTable> parse(std::string_view text, const std::string &name);

  bool has(std::string_view column) const;
  /// The cell, or "" if there is no such column.
  std::string text(size_t row, std::string_view column) const;
  /// A finite number. An error names the line, the column and the cell.
  Result<double> number(size_t row, std::string_view column) const;
  /// The numbers of a column of sizes: none may be negative.
  Result<std::vector<double>> sizes(std::string_view column) const;
  /// The numbers of segments that another column's sizes lie in: at least 1 where there is any size.
  Result<std::vector<double>> segments(std::string_view column, std::string_view sizesColumn) const;
};

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_TEXTTABLE_H
