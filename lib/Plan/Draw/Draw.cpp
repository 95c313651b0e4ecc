//===- Draw.cpp - Pictures of a simulated schedule ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Draw/Draw.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace braid::plan {

static std::string percent(double share) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * share);
  return text;
}

static std::string pixels(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

static std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

/// The components whose stages a rank holds, in order.
static std::vector<int> componentsOf(const Pipeline &pipeline, int rank) {
  std::set<int> found;
  for (const std::vector<int> &ranks : pipeline.placement)
    for (int stage = 0; stage < pipeline.numStages(); ++stage)
      if (ranks[stage] == rank)
        found.insert(pipeline.stages[stage].component);
  return {found.begin(), found.end()};
}

/// "rank 3", with the names of its components where there are several.
static std::string rowName(const Pipeline &pipeline, int rank) {
  std::string name = "rank " + std::to_string(rank);
  if (pipeline.components.size() > 1)
    for (int component : componentsOf(pipeline, rank))
      name += (name.find(':') == std::string::npos ? ": " : ", ") + pipeline.components[component];
  return name;
}

std::string drawText(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline,
                     const DrawOptions &options) {
  // A column lasts as long as the shortest action, or as the width allows.
  double unit = std::numeric_limits<double>::infinity();
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (size_t i = 0; i < schedule.rows[rank].size(); ++i)
      if (double length = timeline.end[rank][i] - timeline.start[rank][i];
          isCompute(schedule.rows[rank][i].kind) && length > 0)
        unit = std::min(unit, length);
  if (!std::isfinite(unit))
    return "";
  size_t cell = std::to_string(std::max(0, schedule.microbatches - 1)).size() + 2, labelWidth = 8;
  // Where a rank holds several components, an action starts with its component's first letter.
  std::vector<char> shared(schedule.ranks());
  bool parts = false;
  for (int rank = 0; rank < std::min(schedule.ranks(), options.maxRanks); ++rank) {
    shared[rank] = componentsOf(pipeline, rank).size() > 1;
    labelWidth = std::max(labelWidth, rowName(pipeline, rank).size() + 1);
    parts |= shared[rank];
  }
  const bool deferred =
      std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [](const Stage &stage) { return stage.defers; });
  cell += parts + deferred;
  double columns = std::max(1.0, double(options.columns) / cell);
  unit = std::max(unit, timeline.makespan / columns);
  std::string text;
  std::set<int> several;
  int ranks = std::min(schedule.ranks(), options.maxRanks);
  for (int rank = 0; rank < ranks; ++rank) {
    size_t count = static_cast<size_t>(std::ceil(timeline.makespan / unit - 1e-9));
    std::vector<std::string> cells(count, ".");
    for (size_t i = 0; i < schedule.rows[rank].size(); ++i) {
      const Action &action = schedule.rows[rank][i];
      if (!isCompute(action.kind))
        continue;
      size_t first = static_cast<size_t>(std::lround(timeline.start[rank][i] / unit));
      size_t last = std::max(first + 1, static_cast<size_t>(std::lround(timeline.end[rank][i] / unit)));
      for (size_t at = first; at < last && at < count; ++at)
        cells[at] = at == first
                        ? (shared[rank] ? pipeline.components[pipeline.stages[action.stage].component].substr(0, 1)
                                        : std::string()) +
                              std::string(spelling(action.kind)) + std::to_string(action.microbatch) +
                              (action.sub ? "'" : "")
                        : "-";
    }
    std::string label = rowName(pipeline, rank);
    label.resize(labelWidth, ' ');
    std::string line = label + "|";
    for (const std::string &content : cells) {
      std::string shown = content == "-" ? std::string(cell - 1, '-') : content.substr(0, cell);
      shown.resize(cell, ' ');
      line += shown;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (ranks < schedule.ranks())
    text += "... " + std::to_string(schedule.ranks() - ranks) + " more ranks\n";
  text += "one column = " + decimal(unit) + "; makespan " + decimal(timeline.makespan) + ", bubble " +
          percent(timeline.bubble()) + "\n";
  return text;
}

namespace {
struct Paint {
  const char *fill, *label;
};
} // namespace

/// Colours by kind; a component in front of the last one has hues of its own, and odd directions are lighter.
static Paint paintOf(const Pipeline &pipeline, const Action &action) {
  static constexpr const char *hues[3][4] = {{"#7fa8dc", "#f0b45f", "#8cc596", "#e0906a"},
                                             {"#62bfb4", "#e6cf62", "#b5cf72", "#dd8aa6"},
                                             {"#a99be0", "#eeb394", "#86cfc4", "#c98bd0"}};
  static constexpr const char *light[4] = {"#b7d0ef", "#f7d9a8", "#c3e3c6", "#f0bfa8"};
  int behind = static_cast<int>(pipeline.components.size()) - 1 - pipeline.stages[action.stage].component;
  const char *const *hue = hues[behind <= 0 || pipeline.components.empty() ? 0 : 1 + (behind - 1) % 2];
  if (action.direction % 2)
    hue = light;
  switch (action.kind) {
  case ActionKind::Forward:
    return {hue[0], "forward"};
  case ActionKind::BackwardInput:
    return {hue[1], "input gradient"};
  case ActionKind::BackwardWeight:
    return {hue[2], "weight gradient"};
  case ActionKind::FullBackward:
    return {hue[3], "backward"};
  case ActionKind::Recompute:
    return {"#c9b3e0", "recomputation"};
  case ActionKind::Step:
    return {"#8a8f98", "optimizer step"};
  default:
    return {"#d0d3d8", "communication"};
  }
}

static constexpr int rowHeight = 22, rowGap = 4, topMargin = 46;

/// Room for the names of the rows.
static int leftMarginOf(const Pipeline &pipeline, int ranks) {
  size_t longest = 7;
  for (int rank = 0; rank < ranks; ++rank)
    longest = std::max(longest, rowName(pipeline, rank).size());
  return 18 + static_cast<int>(6.6 * longest);
}

/// The picture without its enclosing <svg>. `bottom` is set to where it ends.
static std::string timelineShapes(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline,
                                  const DrawOptions &options, int ranks, int &bottom) {
  const int leftMargin = leftMarginOf(pipeline, ranks);
  std::string text;
  double scale = timeline.makespan > 0 ? options.width / timeline.makespan : 0;
  int height = ranks * (rowHeight + rowGap);
  // Time axis with about ten ticks at round numbers.
  double raw = timeline.makespan / 10, step = raw > 0 ? std::pow(10, std::floor(std::log10(raw))) : 1;
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (step * factor >= raw) {
      step *= factor;
      break;
    }
  for (double tick = 0; step > 0 && tick <= timeline.makespan + 1e-9; tick += step) {
    std::string x = pixels(leftMargin + tick * scale);
    text += "<line x1='" + x + "' y1='" + std::to_string(topMargin) + "' x2='" + x + "' y2='" +
            std::to_string(topMargin + height) + "' stroke='#e3e6ea'/><text x='" + x + "' y='" +
            std::to_string(topMargin + height + 14) + "' class='s' text-anchor='middle'>" + decimal(tick) + "</text>\n";
  }
  for (int rank = 0; rank < ranks; ++rank) {
    int y = topMargin + rank * (rowHeight + rowGap);
    text += "<rect x='" + std::to_string(leftMargin) + "' y='" + std::to_string(y) + "' width='" +
            std::to_string(options.width) + "' height='" + std::to_string(rowHeight) + "' fill='#f5f6f8'/><text x='" +
            std::to_string(leftMargin - 8) + "' y='" + std::to_string(y + 15) + "' class='r' text-anchor='end'>" +
            escaped(rowName(pipeline, rank)) + "</text>\n";
    const std::vector<Action> &row = schedule.rows[rank];
    for (size_t i = 0; i < row.size(); ++i) {
      double start = timeline.start[rank][i], end = timeline.end[rank][i];
      if (end <= start || row[i].kind == ActionKind::Idle)
        continue;
      // The two actions of an overlapped block share its time: one above the other.
      bool upper = row[i].joinsNext, lower = i > 0 && row[i - 1].joinsNext;
      bool shared = (upper && timeline.start[rank][i + 1] == start) || (lower && timeline.start[rank][i - 1] == start);
      double top = y + (shared && lower ? rowHeight / 2.0 : 0), tall = shared ? rowHeight / 2.0 : rowHeight;
      double x = leftMargin + start * scale, wide = (end - start) * scale;
      std::string name = row[i].str();
      text += "<rect x='" + pixels(x) + "' y='" + pixels(top) + "' width='" + pixels(std::max(0.3, wide - 0.6)) +
              "' height='" + pixels(tall) + "' fill='" + paintOf(pipeline, row[i]).fill + "'><title>" + escaped(name) +
              ": " + decimal(start) + " to " + decimal(end) + "</title></rect>";
      std::string label = row[i].microbatch >= 0 ? std::to_string(row[i].microbatch) + (row[i].sub ? "'" : "") : "";
      bool narrow = shared || wide < 6.5 * label.size() + 1;
      if (!label.empty() && wide > 5 * label.size())
        text += "<text x='" + pixels(x + wide / 2) + "' y='" + pixels(top + tall / 2 + (narrow ? 3 : 4)) + "' class='" +
                (narrow ? "n" : "m") + "' text-anchor='middle'>" + label + "</text>";
      text += "\n";
    }
  }
  // Legend, of what occurs.
  std::vector<std::pair<std::string, std::string>> seen;
  for (int rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < schedule.rows[rank].size(); ++i) {
      if (timeline.end[rank][i] <= timeline.start[rank][i])
        continue;
      Paint paint = paintOf(pipeline, schedule.rows[rank][i]);
      std::string label = paint.label;
      if (schedule.directions > 1 && isCompute(schedule.rows[rank][i].kind))
        label += schedule.rows[rank][i].direction % 2 ? ", odd direction" : ", even direction";
      if (pipeline.components.size() > 1 && isCompute(schedule.rows[rank][i].kind))
        label = escaped(pipeline.components[pipeline.stages[schedule.rows[rank][i].stage].component]) + ": " + label;
      if (std::none_of(seen.begin(), seen.end(), [&](const auto &entry) { return entry.second == label; }))
        seen.push_back({paint.fill, label});
    }
  double x = leftMargin;
  int y = topMargin + height + 28;
  for (const auto &[fill, label] : seen) {
    double wide = 17 + 5.6 * label.size() + 16;
    if (x > leftMargin && x + wide > leftMargin + options.width + 8) {
      x = leftMargin;
      y += 20;
    }
    text += "<rect x='" + pixels(x) + "' y='" + std::to_string(y) + "' width='12' height='12' fill='" + fill +
            "'/><text x='" + pixels(x + 17) + "' y='" + std::to_string(y + 10) + "' class='s'>" + label + "</text>";
    x += wide;
  }
  bottom = y + 12;
  return text + "\n";
}

std::string drawSvg(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline,
                    const DrawOptions &options) {
  int ranks = std::min(schedule.ranks(), options.maxRanks);
  int bottom = 0;
  std::string shapes = timelineShapes(pipeline, schedule, timeline, options, ranks, bottom);
  const int leftMargin = leftMarginOf(pipeline, ranks), width = leftMargin + options.width + 16, height = bottom + 14;
  std::string title = options.title.empty() ? schedule.name : options.title;
  std::string text = "<svg xmlns='http://www.w3.org/2000/svg' width='" + std::to_string(width) + "' height='" +
                     std::to_string(height) + "' viewBox='0 0 " + std::to_string(width) + " " + std::to_string(height) +
                     "' font-family='Helvetica, Arial, "
                     "sans-serif'>\n<style>.m{font-size:11px;fill:#16202c}.n{font-size:8.5px;fill:#16202c}"
                     ".s{font-size:11px;fill:#4a5563}.r{font-size:12px;fill:#222c38}.t{font-size:15px;fill:#16202c;"
                     "font-weight:bold}</style>\n<rect width='100%' height='100%' fill='white'/>\n";
  text += "<text x='" + std::to_string(leftMargin) + "' y='20' class='t'>" + escaped(title) + "</text><text x='" +
          std::to_string(leftMargin) + "' y='37' class='s'>makespan " + decimal(timeline.makespan) + ", bubble " +
          percent(timeline.bubble()) + ", most activations on a rank " +
          decimal(*std::max_element(timeline.peakActivation.begin(), timeline.peakActivation.end())) +
          (ranks < schedule.ranks()
               ? ", first " + std::to_string(ranks) + " of " + std::to_string(schedule.ranks()) + " ranks"
               : "") +
          "</text>\n";
  return text + shapes + "</svg>\n";
}

namespace {
struct Cause {
  const char *fill, *label;
  double MemoryPoint::*value;
};
} // namespace

static constexpr std::array<Cause, 5> causes = {{{"#c5cad3", "weights and state", &MemoryPoint::state},
                                                 {"#7fa8dc", "activations", &MemoryPoint::activations},
                                                 {"#8cc596", "kept for weight gradients", &MemoryPoint::weightInputs},
                                                 {"#c9b3e0", "received, not yet read", &MemoryPoint::waiting},
                                                 {"#e3a0a0", "waiting for a link", &MemoryPoint::sending}}};

/// Stacked memory of one rank over time.
static std::string memoryChart(const std::vector<MemoryPoint> &points, double most, const Timeline &timeline, int width,
                               int height) {
  std::string text = "<svg width='" + std::to_string(width + 2) + "' height='" + std::to_string(height + 2) + "'>";
  auto x = [&](double time) { return timeline.makespan > 0 ? time / timeline.makespan * width : 0; };
  auto y = [&](double value) { return most > 0 ? height - value / most * height : height; };
  for (int layer = static_cast<int>(causes.size()) - 1; layer >= 0; --layer) {
    std::string path = "M0 " + pixels(height);
    bool occurs = false;
    for (size_t i = 0; i < points.size(); ++i) {
      double sum = 0;
      for (int part = 0; part <= layer; ++part)
        sum += points[i].*causes[part].value;
      occurs |= points[i].*causes[layer].value > 0;
      double until = i + 1 < points.size() ? points[i + 1].time : timeline.makespan;
      path += " L" + pixels(x(points[i].time)) + " " + pixels(y(sum)) + " L" + pixels(x(until)) + " " + pixels(y(sum));
    }
    if (occurs)
      text +=
          "<path d='" + path + " L" + pixels(width) + " " + pixels(height) + " Z' fill='" + causes[layer].fill + "'/>";
  }
  return text + "<path d='M0 " + pixels(height + 0.5) + " H" + pixels(width) + "' stroke='#9aa3af'/></svg>";
}

std::string drawHtml(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                     const Timeline &timeline, const DrawOptions &options) {
  std::string title = escaped(options.title.empty() ? schedule.name : options.title);
  std::string text = "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>" + title +
                     "</title>\n<style>body{font-family:Helvetica,Arial,sans-serif;color:#16202c;margin:24px;"
                     "max-width:1280px}table{border-collapse:collapse;font-size:13px}td,th{padding:3px 12px 3px 0;"
                     "text-align:right;border-bottom:1px solid #e3e6ea}th:first-child,td:first-child{text-align:left}"
                     ".wide{overflow-x:auto}h1{font-size:20px}h2{font-size:16px;margin-top:28px}"
                     ".k{display:inline-block;width:12px;height:12px;margin:0 6px 0 14px}.k:first-child{margin-left:0}"
                     "p{font-size:13px;color:#4a5563}</style></head><body>\n";
  text += "<h1>" + title +
          "</h1>\n<table><tr><th>stages</th><th>ranks</th><th>directions</th><th>micro-batches</th>"
          "<th>makespan</th><th>bubble</th><th>longest span</th><th>bubble of it</th><th>latency</th></tr><tr><td>" +
          std::to_string(schedule.stages) + "</td><td>" + std::to_string(schedule.ranks()) + "</td><td>" +
          std::to_string(schedule.directions) + "</td><td>" + std::to_string(schedule.microbatches) + "</td><td>" +
          decimal(timeline.makespan) + "</td><td>" + percent(timeline.bubble()) + "</td><td>" +
          decimal(timeline.longestSpan) + "</td><td>" + percent(timeline.spanBubble()) + "</td><td>" +
          decimal(costs.latency) + "</td></tr></table>\n";
  text += "<h2>Timeline</h2>\n<p>Point at an action to see its name and time.</p><div class='wide'>" +
          drawSvg(pipeline, schedule, timeline, options) + "</div>\n";
  int ranks = std::min({schedule.ranks(), options.maxRanks, 64});
  std::vector<std::vector<MemoryPoint>> memory = memoryOverTime(pipeline, schedule, costs, timeline, ranks);
  double most = 0;
  for (const std::vector<MemoryPoint> &points : memory)
    for (const MemoryPoint &point : points)
      most = std::max(most, point.state + point.activations + point.weightInputs + point.waiting + point.sending);
  text += "<h2>Memory over time</h2>\n<p class='s'>";
  for (const Cause &cause : causes)
    if (std::any_of(memory.begin(), memory.end(), [&](const std::vector<MemoryPoint> &points) {
          return std::any_of(points.begin(), points.end(),
                             [&](const MemoryPoint &point) { return point.*cause.value > 0; });
        }))
      text += std::string("<span class='k' style='background:") + cause.fill + "'></span>" + cause.label;
  text += " &nbsp; The full height of a chart is " + decimal(most) +
          ".</p>\n<table><tr><th>rank</th><th>busy</th><th>most activations</th>"
          "<th>most memory</th><th style='text-align:left'>over time</th></tr>\n";
  for (int rank = 0; rank < ranks; ++rank)
    text += "<tr><td>" + escaped(rowName(pipeline, rank).substr(5)) + "</td><td>" +
            percent(timeline.makespan > 0 ? timeline.busy[rank] / timeline.makespan : 0) + "</td><td>" +
            decimal(timeline.peakActivation[rank]) + "</td><td>" + decimal(timeline.peakMemory[rank]) + "</td><td>" +
            memoryChart(memory[rank], most, timeline, 640, 36) + "</td></tr>\n";
  return text + "</table>\n</body></html>\n";
}

} // namespace braid::plan
