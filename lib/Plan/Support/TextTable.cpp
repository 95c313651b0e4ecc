//===- TextTable.cpp - CSV files with a header ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/TextTable.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace braid::plan {

Result<TextTable> TextTable::parse(std::string_view text, const std::string &name) {
  TextTable table;
  table.name = name;
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    text.remove_prefix(3);
  int line = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++line;
    if (!row.empty() && row.back() == '\r')
      row.remove_suffix(1);
    if (row.empty())
      continue;
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] == '"' && quoted && i + 1 < row.size() && row[i + 1] == '"')
        cells.back() += row[++i];
      else if (row[i] == '"')
        quoted = !quoted;
      else if (row[i] == ',' && !quoted)
        cells.emplace_back();
      else
        cells.back() += row[i];
    }
    if (quoted)
      return Error{name + ":" + std::to_string(line) + ": a quote is opened and not closed in its line; close it"};
    if (table.columns.empty()) {
      table.columns = std::move(cells);
      continue;
    }
    if (cells.size() > table.columns.size())
      return Error{name + ":" + std::to_string(line) + ": there are " + std::to_string(cells.size()) +
                   " cells, and the first line names " + std::to_string(table.columns.size()) +
                   " columns; name them or put cells with commas in quotes"};
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
    table.lines.push_back(line);
  }
  if (table.columns.empty())
    return Error{name + " is empty; its first line names the columns"};
  return table;
}

bool TextTable::has(std::string_view column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::string TextTable::text(size_t row, std::string_view column) const {
  auto at = std::find(columns.begin(), columns.end(), column);
  return at == columns.end() || row >= rows.size() ? "" : rows[row][at - columns.begin()];
}

Result<double> TextTable::number(size_t row, std::string_view column) const {
  if (!has(column))
    return Error{name + " has no column '" + std::string(column) + "'" + suggest(column, columns)};
  if (row >= rows.size())
    return Error{name + " has " + std::to_string(rows.size()) + " rows and no row " + std::to_string(row)};
  std::string cell = text(row, column);
  double value = 0;
  auto [stop, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || stop != cell.data() + cell.size() || !std::isfinite(value))
    return Error{name + ":" + std::to_string(lines[row]) + ": '" + cell.substr(0, 40) + "' in column '" +
                 std::string(column) + "' is no number"};
  return value;
}

} // namespace braid::plan
