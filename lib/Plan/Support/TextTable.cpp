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

constexpr size_t maxColumns = 1024;
constexpr size_t maxCells = size_t(1) << 26;

/// Cuts the next line off, without its end.
static std::string_view takeLine(std::string_view &text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  return line;
}

/// What of a cell can be shown in a message: at most 40 printable characters.
static std::string shown(std::string_view text) {
  std::string result;
  for (char letter : text.substr(0, 40))
    result += letter >= ' ' && letter <= '~' ? letter : '?';
  return "'" + result + (text.size() > 40 ? "...'" : "'");
}

/// The cells of a line; false if a quote stays open.
static bool splitCells(std::string_view line, std::vector<std::string> &cells) {
  cells.assign(1, {});
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  for (std::string &cell : cells)
    cell = trim(cell);
  return !quoted;
}

/// Nothing, or what is wrong with the first line's names.
static std::string problemOf(const std::vector<std::string> &columns) {
  if (columns.size() > maxColumns)
    return "has more than " + std::to_string(maxColumns) + " columns";
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (column->empty())
      return "has a column without a name";
    if (std::find(columns.begin(), column, *column) != column)
      return "has two columns " + shown(*column);
  }
  return "";
}

Result<TextTable> TextTable::parse(std::string_view text, const std::string &name) {
  TextTable table;
  table.name = name;
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    text.remove_prefix(3);
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = takeLine(text);
    if (trim(line).empty())
      continue;
    auto failed = [&](const std::string &problem) {
      return Error{name + ":" + std::to_string(number) + " " + problem};
    };
    std::vector<std::string> cells;
    if (!splitCells(line, cells))
      return failed("has a quote that is not closed in its line; close it");
    if (table.columns.empty()) {
      if (std::string problem = problemOf(cells); !problem.empty())
        return failed(problem + "; the first line gives each column a name of its own");
      table.columns = std::move(cells);
      continue;
    }
    if (cells.size() != table.columns.size())
      return failed(
          "has " + std::to_string(cells.size()) + " cells and the first line names " +
          std::to_string(table.columns.size()) + " columns; " +
          (cells.size() < table.columns.size() ? "fill it up" : "name them, or put cells with commas in quotes"));
    table.rows.push_back(std::move(cells));
    table.lines.push_back(number);
    if (table.rows.size() * table.columns.size() > maxCells)
      return failed("is beyond cell " + std::to_string(maxCells) + ", the last that is read; split the file");
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
  auto at = std::find(columns.begin(), columns.end(), column);
  if (at == columns.end())
    return Error{name + " has no column " + shown(column) + suggest(column, columns)};
  if (row >= rows.size())
    return Error{name + " has " + std::to_string(rows.size()) + " rows and no row " + std::to_string(row)};
  const std::string &cell = rows[row][at - columns.begin()];
  double value = 0;
  auto [stop, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || stop != cell.data() + cell.size() || !std::isfinite(value))
    return Error{name + ":" + std::to_string(lines[row]) + " has " + shown(cell) + " in column " + shown(column) +
                 "; write a number"};
  return value;
}

Result<std::vector<double>> TextTable::sizes(std::string_view column) const {
  if (!has(column))
    return Error{name + " has no column " + shown(column) + suggest(column, columns)};
  std::vector<double> values;
  for (size_t row = 0; row < rows.size(); ++row) {
    Result<double> value = number(row, column);
    if (!value)
      return Error{value.error()};
    if (*value < 0)
      return Error{name + ":" + std::to_string(lines[row]) + " has " + shown(text(row, column)) + " in column " +
                   shown(column) + "; write a number that is not negative"};
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<double>> TextTable::segments(std::string_view column, std::string_view sizesColumn) const {
  Result<std::vector<double>> counts = sizes(column), all = sizes(sizesColumn);
  for (const auto *list : {&counts, &all})
    if (!*list)
      return Error{list->error()};
  for (size_t row = 0; row < rows.size(); ++row)
    if ((*all)[row] > 0 && (*counts)[row] < 1)
      return Error{name + ":" + std::to_string(lines[row]) + " has " + shown(text(row, column)) + " in column " +
                   shown(column) + " and " + shown(text(row, sizesColumn)) + " in " + shown(sizesColumn) +
                   "; what is there lies in at least one segment"};
  return counts;
}

} // namespace braid::plan
