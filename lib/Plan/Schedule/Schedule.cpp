//===- Schedule.cpp - Action tables of pipeline schedules -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace braid::plan {

static constexpr std::array<std::string_view, numActionKinds> spellings = {"",
                                                                           "F",
                                                                           "I",
                                                                           "W",
                                                                           "B",
                                                                           "RECOMPUTE",
                                                                           "SEND_F",
                                                                           "RECV_F",
                                                                           "SEND_B",
                                                                           "RECV_B",
                                                                           "SEND_GRAD",
                                                                           "RECV_GRAD",
                                                                           "SEND_PARAM",
                                                                           "RECV_PARAM",
                                                                           "UNSHARD",
                                                                           "RESHARD",
                                                                           "REDUCE_GRAD",
                                                                           "NORM",
                                                                           "STEP",
                                                                           "LOSS",
                                                                           "WAIT_SEND_F",
                                                                           "WAIT_SEND_B",
                                                                           "WAIT_REDUCE_GRAD"};

std::string_view spelling(ActionKind kind) { return spellings[static_cast<size_t>(kind)]; }

ActionKind counterpart(ActionKind kind) {
  // Sends and receives alternate in the enumeration.
  int index = static_cast<int>(kind);
  return static_cast<ActionKind>(isSend(kind) ? index + 1 : index - 1);
}

bool areEndsOfOneMessage(const Action &a, const Action &b) {
  if (!isMessage(a.kind) || !isMessage(b.kind) || counterpart(a.kind) != b.kind)
    return false;
  Action other = otherEnd(a);
  return other.stage == b.stage && other.peer == b.peer && other.microbatch == b.microbatch && other.sub == b.sub &&
         other.direction == b.direction;
}

/// The stage that a message without a written peer goes to or comes from: the neighbour.
static int32_t neighbour(ActionKind kind, int32_t stage) {
  switch (kind) {
  case ActionKind::SendF:
  case ActionKind::RecvB:
    return stage + 1;
  case ActionKind::RecvF:
  case ActionKind::SendB:
    return stage - 1;
  default:
    return -1;
  }
}

std::string Action::str() const {
  if (kind == ActionKind::Idle)
    return "";
  std::string text = std::to_string(stage);
  text += spelling(kind);
  if (microbatch >= 0)
    text += std::to_string(microbatch);
  if (sub > 0)
    text += sub == 1 ? "'" : "'" + std::to_string(sub);
  if (isMessage(kind) && peer != neighbour(kind, stage))
    text += (isSend(kind) ? ">" : "<") + std::to_string(peer);
  if (direction > 0)
    text += "@" + std::to_string(direction);
  if (version > 0)
    text += "v" + std::to_string(version);
  return text;
}

namespace {
class ActionReader {
public:
  explicit ActionReader(std::string_view text) : text(text) {}

  std::optional<int> number(int limit) {
    int value = 0;
    auto [stop, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc() || value < 0 || value > limit || text[at] == '-')
      return std::nullopt;
    at = stop - text.data();
    return value;
  }
  bool eat(char c) {
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool peekDigit() const { return at < text.size() && text[at] >= '0' && text[at] <= '9'; }
  bool done() const { return at == text.size(); }

  std::string_view word() {
    size_t end = at;
    while (end < text.size() && ((text[end] >= 'A' && text[end] <= 'Z') || text[end] == '_'))
      ++end;
    std::string_view result = text.substr(at, end - at);
    at = end;
    return result;
  }

private:
  std::string_view text;
  size_t at = 0;
};
} // namespace

static constexpr int maxIndex = 1 << 24;

Result<Action> Action::parse(std::string_view text) {
  auto fail = [&](const std::string &why) {
    return Error{"'" + std::string(text) + "' is no action: " + why +
                 "; write STAGE KIND MICROBATCH as in 0F3, 1SEND_F0, 2RECV_B1, 0SEND_F0>2, 0F3@1"};
  };
  Action action;
  if (text.empty())
    return action;
  ActionReader reader(text);
  std::optional<int> stage = reader.number(maxIndex);
  if (!stage)
    return fail("it does not start with the number of a stage");
  action.stage = *stage;
  std::string_view word = reader.word();
  auto at = std::find(spellings.begin() + 1, spellings.end(), word);
  if (at == spellings.end())
    return fail("'" + std::string(word) + "' is no kind of action");
  action.kind = static_cast<ActionKind>(at - spellings.begin());
  if (reader.peekDigit()) {
    std::optional<int> microbatch = reader.number(maxIndex);
    if (!microbatch)
      return fail("the micro-batch is no number up to " + std::to_string(maxIndex));
    action.microbatch = *microbatch;
  }
  if (reader.eat('\'')) {
    std::optional<int> sub = reader.peekDigit() ? reader.number(maxVersion) : 1;
    if (!sub)
      return fail("the sub-micro-batch after ' is too large");
    action.sub = static_cast<int16_t>(*sub);
  }
  if (isMessage(action.kind)) {
    action.peer = neighbour(action.kind, action.stage);
    if (reader.eat(isSend(action.kind) ? '>' : '<')) {
      std::optional<int> peer = reader.number(maxIndex);
      if (!peer)
        return fail("the peer after '>' or '<' is no stage");
      action.peer = *peer;
    }
    if (action.peer < 0)
      return fail(isSend(action.kind) ? "it needs the stage that it goes to, as in 3SEND_GRAD>0"
                                      : "it needs the stage that it comes from, as in 0RECV_GRAD<3");
  }
  if (reader.eat('@')) {
    std::optional<int> direction = reader.number(maxVersion);
    if (!direction)
      return fail("the direction after '@' is no number");
    action.direction = static_cast<int16_t>(*direction);
  }
  if (reader.eat('v')) {
    std::optional<int> version = reader.number(maxVersion);
    if (!version)
      return fail("the weight version after 'v' is no number");
    action.version = static_cast<int16_t>(*version);
  }
  if (!reader.done())
    return fail("something follows the action");
  bool needsMicrobatch = isCompute(action.kind) || action.kind == ActionKind::SendF ||
                         action.kind == ActionKind::RecvF || action.kind == ActionKind::SendB ||
                         action.kind == ActionKind::RecvB;
  if (needsMicrobatch && action.microbatch < 0)
    return fail(std::string(word) + " needs a micro-batch");
  return action;
}

int Schedule::rankOf(int stage, int direction) const {
  if (direction < 0 || direction >= static_cast<int>(placement.size()) || stage < 0 ||
      stage >= static_cast<int>(placement[direction].size()))
    return -1;
  return placement[direction][stage];
}

bool Schedule::hasMessages() const {
  return std::any_of(rows.begin(), rows.end(), [](const std::vector<Action> &row) {
    return std::any_of(row.begin(), row.end(), [](const Action &action) { return isMessage(action.kind); });
  });
}

Schedule Schedule::computeOnly() const {
  Schedule result = *this;
  for (std::vector<Action> &row : result.rows)
    std::erase_if(row, [](const Action &action) { return !isCompute(action.kind); });
  return result;
}

static constexpr std::string_view overlapSuffix = ")OVERLAP_F_B";

std::string Schedule::csv() const {
  std::string text;
  for (const std::vector<Action> &row : rows) {
    bool open = false;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i && !open)
        text += ',';
      bool opens = row[i].joinsNext && !open && i + 1 < row.size();
      if (opens)
        text += '(';
      text += row[i].str();
      if (open)
        text += overlapSuffix;
      else if (opens)
        text += ';';
      open = opens;
    }
    text += '\n';
  }
  return text;
}

/// One cell: an action, or a block of two.
static Status parseCell(std::string_view cell, std::vector<Action> &row) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '"' || cell.front() == '\t'))
    cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '"' || cell.back() == '\t'))
    cell.remove_suffix(1);
  if (!cell.empty() && cell.front() == '(') {
    size_t middle = cell.find(';');
    if (middle == std::string_view::npos || !cell.ends_with(overlapSuffix) ||
        middle + 1 > cell.size() - overlapSuffix.size())
      return Error{"'" + std::string(cell) + "' is no overlapped block; write two actions as in (0F3;3B1)OVERLAP_F_B"};
    std::string_view halves[2] = {cell.substr(1, middle - 1),
                                  cell.substr(middle + 1, cell.size() - overlapSuffix.size() - middle - 1)};
    for (std::string_view half : halves) {
      Result<Action> action = Action::parse(half);
      if (!action)
        return Error{action.error()};
      if (!isCompute(action->kind))
        return Error{"'" + std::string(cell) + "' overlaps '" + std::string(half) + "', which is no computation"};
      row.push_back(*action);
    }
    row[row.size() - 2].joinsNext = true;
    return {};
  }
  Result<Action> action = Action::parse(cell);
  if (!action)
    return Error{action.error()};
  row.push_back(*action);
  return {};
}

Result<Schedule> Schedule::parseCsv(std::string_view text) {
  Schedule schedule;
  schedule.name = "csv";
  int line = 0;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view row = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line;
    if (!row.empty() && row.back() == '\r')
      row.remove_suffix(1);
    std::vector<Action> &actions = schedule.rows.emplace_back();
    int column = 0;
    while (true) {
      size_t comma = row.find(',');
      ++column;
      if (Status status = parseCell(row.substr(0, comma), actions); !status)
        return Error{"row " + std::to_string(line) + ", cell " + std::to_string(column) + ": " + status.error()};
      if (comma == std::string_view::npos)
        break;
      row.remove_prefix(comma + 1);
    }
    // A row of one empty cell is a rank without work.
    if (actions.size() == 1 && actions[0].kind == ActionKind::Idle)
      actions.clear();
  }
  if (schedule.rows.empty())
    return Error{"the table is empty: it needs one row per rank"};

  std::map<std::pair<int, int>, int> ranks; // (direction, stage) -> rank
  std::vector<std::vector<bool>> seen;      // [direction][micro-batch]
  for (int rank = 0; rank < schedule.ranks(); ++rank)
    for (const Action &action : schedule.rows[rank]) {
      if (action.kind == ActionKind::Idle)
        continue;
      schedule.stages = std::max(schedule.stages, action.stage + 1);
      schedule.directions = std::max(schedule.directions, action.direction + 1);
      if (action.kind == ActionKind::Step)
        schedule.updates = std::max(schedule.updates, action.version + 1);
      if (!isCompute(action.kind))
        continue;
      ranks.try_emplace({action.direction, action.stage}, rank);
      if (seen.size() <= static_cast<size_t>(action.direction))
        seen.resize(action.direction + 1);
      std::vector<bool> &microbatches = seen[action.direction];
      if (microbatches.size() <= static_cast<size_t>(action.microbatch))
        microbatches.resize(action.microbatch + 1);
      microbatches[action.microbatch] = true;
    }
  for (const std::vector<bool> &microbatches : seen)
    schedule.microbatches += static_cast<int>(std::count(microbatches.begin(), microbatches.end(), true));
  constexpr int64_t maxPlacement = 1 << 26;
  if (int64_t(schedule.directions) * schedule.stages > maxPlacement)
    return Error{"the table names " + std::to_string(schedule.stages) + " stages in " +
                 std::to_string(schedule.directions) + " directions, more than " + std::to_string(maxPlacement) +
                 " places; number stages and directions from 0 without gaps"};
  schedule.placement.assign(schedule.directions, std::vector<int>(schedule.stages, -1));
  for (const auto &[place, rank] : ranks)
    schedule.placement[place.first][place.second] = rank;
  return schedule;
}

std::string Schedule::whyNotPyTorch() const {
  if (directions > 1)
    return "torch.distributed.pipelining has no directions: each stage lives on one rank";
  for (const std::vector<Action> &row : rows)
    for (const Action &action : row) {
      if (action.sub > 0)
        return "it has no sub-micro-batches, as in " + action.str();
      if (action.version > 0 || action.direction > 0)
        return "it has no weight versions or directions, as in " + action.str();
      if (isMessage(action.kind) && action.peer != neighbour(action.kind, action.stage))
        return "it has no messages between stages that are not neighbours, as in " + action.str();
      switch (action.kind) {
      case ActionKind::Recompute:
      case ActionKind::SendGrad:
      case ActionKind::RecvGrad:
      case ActionKind::SendParam:
      case ActionKind::RecvParam:
      case ActionKind::Norm:
      case ActionKind::Step:
      case ActionKind::Loss:
        return "it has no action " + std::string(spelling(action.kind)) + ", as in " + action.str();
      default:
        break;
      }
    }
  return "";
}

} // namespace braid::plan
