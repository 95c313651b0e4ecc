//===- Grid.cpp - A schedule as a text grid -------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Grid.h"

#include <algorithm>
#include <map>
#include <set>

namespace braid::plan {

namespace {
/// Cells of text in columns as wide as their widest cell.
class AlignedText {
public:
  void add(const std::string &label, std::vector<std::string> cells) {
    labelWidth = std::max(labelWidth, label.size());
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
    lines.push_back({label, std::move(cells)});
  }
  std::string str() const {
    std::string text;
    for (const auto &[label, cells] : lines) {
      std::string line = label + std::string(labelWidth - label.size(), ' ') + " |";
      for (size_t i = 0; i < cells.size(); ++i)
        line += " " + cells[i] + std::string(widths[i] - cells[i].size(), ' ');
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

private:
  size_t labelWidth = 0;
  std::vector<size_t> widths;
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
};
} // namespace

static std::string cellText(const Action &action) {
  return action.kind == ActionKind::Idle ? std::string(".") : action.str();
}

std::string drawGrid(const Schedule &schedule, int maxColumns) {
  AlignedText table;
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    std::vector<std::string> cells;
    const std::vector<Action> &row = schedule.rows[rank];
    for (size_t i = 0; i < row.size() && i < static_cast<size_t>(maxColumns); ++i)
      cells.push_back(cellText(row[i]));
    if (row.size() > static_cast<size_t>(maxColumns))
      cells.push_back("...");
    table.add("rank " + std::to_string(rank), std::move(cells));
  }
  return table.str();
}

std::string drawAround(const Schedule &schedule, const std::vector<Place> &places) {
  constexpr int context = 5, maxRows = 16;
  std::set<int> rows;
  std::map<int, int> centre; // of each marked rank
  for (const Place &place : places) {
    if (place.rank < 0 || place.rank >= schedule.ranks() || rows.size() >= maxRows)
      continue;
    centre.try_emplace(place.rank, place.index);
    for (int rank = place.rank - 1; rank <= place.rank + 1; ++rank)
      if (rank >= 0 && rank < schedule.ranks())
        rows.insert(rank);
  }
  AlignedText table;
  int shared = places.empty() ? 0 : places[0].index;
  int previous = -1;
  for (int rank : rows) {
    if (previous >= 0 && rank > previous + 1)
      table.add("...", {});
    previous = rank;
    const std::vector<Action> &row = schedule.rows[rank];
    int middle = centre.count(rank) ? centre[rank] : shared;
    int first = std::max(0, std::min(middle, static_cast<int>(row.size())) - context);
    int last = std::min(static_cast<int>(row.size()), middle + context + 1);
    std::vector<std::string> cells = {first > 0 ? "..." : ""};
    for (int i = first; i <= last; ++i) {
      bool marked = std::any_of(places.begin(), places.end(),
                                [&](const Place &place) { return place.rank == rank && place.index == i; });
      if (i == last && !(marked && i == static_cast<int>(row.size())))
        break;
      std::string text = i == static_cast<int>(row.size()) ? "end" : cellText(row[i]);
      cells.push_back(marked ? ">>" + text + "<<" : text);
    }
    if (last < static_cast<int>(row.size()))
      cells.push_back("...");
    table.add("rank " + std::to_string(rank), std::move(cells));
  }
  return table.str();
}

} // namespace braid::plan
