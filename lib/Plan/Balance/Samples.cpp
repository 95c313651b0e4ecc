//===- Samples.cpp - What each sample of a data set costs -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Support/Random.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace braid::plan {

constexpr size_t maxColumns = 1024;
constexpr size_t maxCells = size_t(1) << 28;

/// Cuts the next line off, without its end.
static std::string_view takeLine(std::string_view &text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  return line;
}

static std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

/// What of a cell can be shown in a message: at most 40 printable characters.
static std::string shown(std::string_view text) {
  std::string result;
  for (char letter : text.substr(0, 40))
    result += letter >= ' ' && letter <= '~' ? letter : '?';
  return "'" + result + (text.size() > 40 ? "...'" : "'");
}

/// Calls visit(cell) for each cell; stops when it returns false.
template <typename Visit> static bool forEachCell(std::string_view line, Visit visit) {
  while (true) {
    size_t end = line.find(',');
    if (!visit(trim(line.substr(0, end))))
      return false;
    if (end == std::string_view::npos)
      return true;
    line = line.substr(end + 1);
  }
}

Result<SampleTable> SampleTable::parse(std::string_view text, const std::string &name) {
  SampleTable table;
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    text.remove_prefix(3);
  if (text.empty())
    return Error{name + " is empty; its first line names the columns"};
  int64_t lineNumber = 1;
  std::string problem;
  forEachCell(takeLine(text), [&](std::string_view cell) {
    if (cell.empty() || table.columns.size() == maxColumns) {
      problem =
          cell.empty() ? "has a column without a name" : "has more than " + std::to_string(maxColumns) + " columns";
      return false;
    }
    if (std::find(table.columns.begin(), table.columns.end(), cell) != table.columns.end()) {
      problem = "has two columns " + shown(cell);
      return false;
    }
    table.columns.emplace_back(cell);
    return true;
  });
  if (!problem.empty())
    return Error{name + ":1 " + problem + "; the first line gives each column a name of its own"};
  table.values.resize(table.columns.size());
  while (!text.empty()) {
    std::string_view line = takeLine(text);
    ++lineNumber;
    if (trim(line).empty())
      continue;
    size_t column = 0;
    forEachCell(line, [&](std::string_view cell) {
      if (column == table.columns.size()) {
        problem = "has more cells than the " + std::to_string(column) + " columns of the first line; remove them";
        return false;
      }
      double value = std::numeric_limits<double>::quiet_NaN();
      if (!cell.empty()) {
        auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error != std::errc() || end != cell.data() + cell.size()) {
          problem = "has " + shown(cell) + " in column " + shown(table.columns[column]) + "; write a number";
          return false;
        }
      }
      table.values[column++].push_back(value);
      return true;
    });
    if (problem.empty() && column < table.columns.size())
      problem = "has " + std::to_string(column) + " cells and the first line names " +
                std::to_string(table.columns.size()) + " columns; fill it up";
    if (problem.empty() && table.rows() * table.columns.size() > maxCells)
      problem = "is cell " + std::to_string(maxCells) + ", the most that are read; split the file";
    if (!problem.empty())
      return Error{name + ":" + std::to_string(lineNumber) + " " + problem};
  }
  return table;
}

Result<std::vector<double>> SampleTable::column(std::string_view name) const {
  auto at = std::find(columns.begin(), columns.end(), name);
  if (at == columns.end())
    return Error{"there is no column " + shown(name) + suggest(name, columns)};
  const std::vector<double> &found = values[at - columns.begin()];
  for (size_t row = 0; row < found.size(); ++row)
    if (!std::isfinite(found[row]) || found[row] < 0)
      return Error{"sample " + std::to_string(row) + " has " +
                   (std::isnan(found[row]) ? std::string("no number") : std::to_string(found[row])) + " in column " +
                   shown(name) + "; give it a finite number that is not negative"};
  return found;
}

SampleLoads SampleLoads::select(const std::vector<int> &samples) const {
  SampleLoads result;
  for (auto [from, to] : {std::pair{&loads, &result.loads}, {&rows, &result.rows}})
    for (const std::vector<double> &values : *from) {
      std::vector<double> &chosen = to->emplace_back();
      chosen.reserve(samples.size());
      for (int sample : samples)
        chosen.push_back(values[sample]);
    }
  return result;
}

Status SampleLoads::check() const {
  if (loads.size() < 2)
    return Error{"there are loads for " + std::to_string(loads.size()) +
                 " components; give them for at least one encoder and the language model"};
  if (rows.size() != loads.size())
    return Error{"there are rows for " + std::to_string(rows.size()) + " components and loads for " +
                 std::to_string(loads.size()) + "; give both for each"};
  for (const auto *lists : {&loads, &rows})
    for (size_t component = 0; component < lists->size(); ++component) {
      const std::vector<double> &values = (*lists)[component];
      if (values.size() != loads[0].size())
        return Error{"component " + std::to_string(component) + " has numbers for " + std::to_string(values.size()) +
                     " samples and component 0 for " + std::to_string(loads[0].size()) + "; give one for each sample"};
      for (size_t sample = 0; sample < values.size(); ++sample)
        if (!std::isfinite(values[sample]) || values[sample] < 0)
          return Error{"sample " + std::to_string(sample) + " has the load or rows " + std::to_string(values[sample]) +
                       " in component " + std::to_string(component) + "; they are finite and not negative"};
    }
  return {};
}

std::vector<int> drawBatch(int size, int count, uint64_t seed, uint64_t step) {
  std::vector<int> batch;
  batch.reserve(count);
  uint64_t position = step * static_cast<uint64_t>(count), samples = static_cast<uint64_t>(size);
  while (batch.size() < static_cast<size_t>(count)) {
    Permutation permutation(samples, mix(seed, position / samples));
    for (uint64_t at = position % samples; at < samples && batch.size() < static_cast<size_t>(count); ++at, ++position)
      batch.push_back(static_cast<int>(permutation[at]));
  }
  return batch;
}

} // namespace braid::plan
