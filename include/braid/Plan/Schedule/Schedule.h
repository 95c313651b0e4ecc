//===- Schedule.h - Action tables of pipeline schedules ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule is one list of actions per rank: forwards and backwards of (stage, micro-batch), the messages between
// them, and what ends a step. The vocabulary is that of torch.distributed.pipelining's compute_comms tables, plus
// directions, weight versions, recomputation, tied parameters, norm, loss and step. Generators make schedules, the
// verifier proves them, the simulator times them, the compiler emits them and the runtime walks them.
//
// Text of an action (PyTorch's, then our suffixes, each left out at its default and in this order):
//
//   STAGE KIND [MICROBATCH] ['SUB] [>PEER or <PEER] [@DIRECTION] [vVERSION]
//
//   0F0          forward of stage 0, micro-batch 0        2I1  2W1  2B1   input, weight, full backward
//   1SEND_F0     output of 1F0 to stage 2                 2RECV_F0        the receive of it (2 names the receiver)
//   0SEND_F0>2   output of 0F0 to stage 2, a skip edge    2RECV_F0<0      the receive of it
//   1SEND_B0     input gradient of 1B0 to stage 0         0RECV_B0
//   0F4@1        micro-batch 4 runs in direction 1        0F4'            its deferred sub-micro-batch 1
//   0B4v1        reads version 1 of the weights           (0F3;3B1)OVERLAP_F_B   two actions as one block
//   3SEND_GRAD>0 gradient of the tied parameters whose home is stage 0; 0RECV_GRAD<3; values back: 0SEND_PARAM>3
//   0REDUCE_GRAD 0NORM 0STEP 3LOSS 0RECOMPUTE2 0UNSHARD 0RESHARD
//
// A message carries all values (or gradients) of one micro-batch that go from one stage to another, in the order of
// the edges' ids.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_SCHEDULE_H
#define BRAID_PLAN_SCHEDULE_SCHEDULE_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::plan {

enum class ActionKind : uint8_t {
  Idle,
  Forward,
  BackwardInput,
  BackwardWeight,
  FullBackward,
  Recompute,
  SendF,
  RecvF,
  SendB,
  RecvB,
  SendGrad, // gradient of tied parameters, from a copy to the home
  RecvGrad,
  SendParam, // value of tied parameters, from the home to a copy
  RecvParam,
  Unshard,
  Reshard,
  ReduceGrad, // over the data-parallel lanes and the directions of a stage
  Norm,       // of all gradients, over all ranks
  Step,
  Loss,      // from the rank of the stage to rank 0; both rows hold it
  WaitSendF, // PyTorch's: the buffer of a send is free again. We read, keep and check them, and generate none:
  WaitSendB, // our sends are complete when they return
  WaitReduceGrad,
};
constexpr int numActionKinds = static_cast<int>(ActionKind::WaitReduceGrad) + 1;

/// "F", "SEND_F", "REDUCE_GRAD"; empty for Idle.
std::string_view spelling(ActionKind kind);

inline bool isSend(ActionKind kind) {
  return kind == ActionKind::SendF || kind == ActionKind::SendB || kind == ActionKind::SendGrad ||
         kind == ActionKind::SendParam;
}
inline bool isReceive(ActionKind kind) {
  return kind == ActionKind::RecvF || kind == ActionKind::RecvB || kind == ActionKind::RecvGrad ||
         kind == ActionKind::RecvParam;
}
inline bool isMessage(ActionKind kind) { return isSend(kind) || isReceive(kind); }
inline bool isCompute(ActionKind kind) { return kind >= ActionKind::Forward && kind <= ActionKind::Recompute; }
/// The other end's kind of a send or receive.
ActionKind counterpart(ActionKind kind);

/// Small on purpose: tables of 1,024 ranks and 8,192 micro-batches hold fifty million of them.
struct Action {
  ActionKind kind = ActionKind::Idle;
  bool joinsNext = false; // first half of an overlapped block, whose second half is the next action of the row
  int16_t sub = 0;        // 1: the deferred part F' of a micro-batch
  int16_t direction = 0;
  int16_t version = 0; // of the weights: what a compute action reads, what STEP, NORM and REDUCE_GRAD update
  int32_t stage = 0;
  int32_t microbatch = -1; // -1: none
  int32_t peer = -1;       // the other stage of a send or receive; -1 elsewhere

  bool operator==(const Action &other) const = default;

  std::string str() const;
  static Result<Action> parse(std::string_view text);
};

/// The send of a receive, or the receive of a send.
inline Action otherEnd(Action message) {
  message.kind = counterpart(message.kind);
  std::swap(message.stage, message.peer);
  return message;
}
/// Whether two actions are the two ends of one message.
bool areEndsOfOneMessage(const Action &a, const Action &b);

/// Directions, weight versions and parts of a micro-batch are numbered up to this.
constexpr int maxVersion = 1 << 14;

/// A compute action.
inline Action compute(ActionKind kind, int stage, int microbatch, int direction = 0) {
  Action action;
  action.kind = kind;
  action.stage = stage;
  action.microbatch = microbatch;
  action.direction = static_cast<int16_t>(direction);
  return action;
}

struct Schedule {
  std::string name;
  int stages = 0;
  int microbatches = 0; // in the whole table, over all directions and updates
  int directions = 1;
  int updates = 1;        // optimizer steps that the table's micro-batches are divided over, in order
  int staleness = 0;      // most updates between the weights that a gradient was taken at and those it changes
  int weightVersions = 1; // versions of the weights that a rank may hold at once
  std::vector<std::vector<int>> placement; // [direction][stage] -> rank
  std::vector<std::vector<Action>> rows;   // [rank]

  int ranks() const { return static_cast<int>(rows.size()); }
  /// -1 if the direction has no such stage.
  int rankOf(int stage, int direction = 0) const;
  /// Whether any row holds a send or receive (PyTorch's compute_comms dialect rather than compute_only).
  bool hasMessages() const;

  /// The computations alone: PyTorch's compute_only dialect.
  Schedule computeOnly() const;

  /// One row per rank, cells separated by commas, empty cells idle: PyTorch's format.
  std::string csv() const;
  /// Reads csv(). Numbers of stages, micro-batches and directions, and the placement, are taken from the cells.
  static Result<Schedule> parseCsv(std::string_view text);

  /// Nothing, or why torch.distributed.pipelining cannot load this table.
  std::string whyNotPyTorch() const;
};

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_SCHEDULE_H
