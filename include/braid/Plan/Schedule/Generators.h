//===- Generators.h - Schedules made from a pipeline ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generator decides in which order each rank computes; addMessages() then places sends and receives, and addUpdate()
// the end of the step. All of them are rules, none a copied table.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_GENERATORS_H
#define BRAID_PLAN_SCHEDULE_GENERATORS_H

#include "braid/Plan/Schedule/Pipeline.h"
#include "braid/Plan/Schedule/Schedule.h"

namespace braid::plan {

struct GenerateOptions {
  bool messages = true;  // add sends and receives
  bool update = true;    // add tied parameters, NORM, STEP and LOSS
  bool recompute = true; // add RECOMPUTE to stages that recompute
  /// Where: before the gradient is received (while the rank may have to wait for it), or right before the backward,
  /// where the least is held.
  bool recomputeEarly = false;
  /// Micro-batches that a stage which defers may have in flight, where 1F1B has fewer: its deferred parts come back one
  /// micro-batch late (Entrain's eager forwards).
  int eager = 0;
};

/// All forwards, then all backwards. (Huang et al., GPipe, 2019)
Result<Schedule> gpipe(const Pipeline &pipeline, const GenerateOptions &options = {});

/// Per stage depth-1 forwards, then a forward and a backward in turn, then the backwards that are left; depth counts
/// the stages from this one to the end of the longest path. Ranks with several stages run backwards first and among
/// these the later stage. (Narayanan et al., PipeDream-Flush, 2021)
Result<Schedule> oneFOneB(const Pipeline &pipeline, const GenerateOptions &options = {});

// The generators below say what they need of the pipeline: chains with a certain placement, which the functions of
// Kinds.h make. They order computations only; finish() adds the rest.

/// Interleaved 1F1B: several chunks per rank, stage s on rank s mod p. Rank r runs 2(p-1-r) + (v-1)p forwards more than
/// backwards, in groups of p micro-batches per chunk. (Narayanan et al., 2021, section 2.2)
Result<Schedule> interleaved(const Pipeline &pipeline);
/// Each chunk runs all micro-batches before the next one starts. (Lamy-Poirier, Breadth-First Pipeline Parallelism,
/// 2023)
Result<Schedule> loopedBfs(const Pipeline &pipeline);

/// ZB-H1 (level 1) and ZB-H2 (level 2): level (p-1-r) forwards, then a forward, an input gradient and, once
/// level * r input gradients have run, the oldest weight gradient. (Qi et al., Zero Bubble Pipeline Parallelism, 2024)
Result<Schedule> zeroBubbleH(const Pipeline &pipeline, int level);
/// ZB-V: two chunks per rank, stages p..2p-1 on the ranks in reverse.
Result<Schedule> zeroBubbleV(const Pipeline &pipeline);
/// V-Half and V-Min: a pattern of six unit slots per micro-batch, repeated; the passes of the four sweeps through the
/// ranks have a fixed distance. (Qi et al., Pipeline Parallelism with Controllable Memory, 2024)
Result<Schedule> vHalf(const Pipeline &pipeline);
Result<Schedule> vMin(const Pipeline &pipeline);

/// Two directions, in units of p micro-batches. Each direction numbers its own. (Li and Hoefler, Chimera, 2021)
Result<Schedule> chimera(const Pipeline &pipeline);
/// Two directions with overlapped forward-backward blocks. (DeepSeek-AI, DualPipe, 2025)
Result<Schedule> dualPipe(const Pipeline &pipeline);
/// DualPipe's halves folded onto one V-shaped pipeline.
Result<Schedule> dualPipeV(const Pipeline &pipeline);

/// PipeDream-2BW: 1F1B without a flush. Each update's micro-batches read the weights of the update before; a rank holds
/// two versions. (Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, 2021)
Result<Schedule> twoBW(const Pipeline &pipeline, int updates);
/// AMDP: p/2 pipelines through the same p ranks, two micro-batches of each per block of p. Its updates fall into the
/// first block of the next window. p is a multiple of 4. (AMDP, 2026, arXiv 2605.29664)
Result<Schedule> amdp(const Pipeline &pipeline, int updates);

/// AMDP with its backwards split, which closes its bubble. Where a forward and an input gradient take one unit each,
/// AMDP's order has no bubble and every rank is at a unit boundary at the same times; so all ranks may pause together.
/// `pauses[t]` weight gradients run after unit t of each 2p units of a block, at the same time on every rank. Their sum
/// is p. A rank that holds p activations runs a weight gradient before its next forward. Empty: one after every second
/// unit.
Result<Schedule> amdpSplit(const Pipeline &pipeline, int updates, std::vector<int> pauses = {});

/// The table without messages and update that a generator starts from: sizes and placement of the pipeline.
Schedule emptySchedule(const Pipeline &pipeline);

/// Makers of chains think that every stage trains. This removes what a frozen one has no need of: backwards of stages
/// that have none, weight gradients of those without trained parameters.
void dropIdleBackwards(const Pipeline &pipeline, Schedule &schedule);

/// Adds messages and update as the options say.
Result<Schedule> finish(const Pipeline &pipeline, Result<Schedule> schedule, const GenerateOptions &options);

/// Actions that a rank runs in this order, of one stage or of one phase of it.
struct Sequence {
  int rank = 0;
  int phase = 0; // a rank starts a phase when it is done with the one before
  std::vector<Action> actions = {};
};
/// Merges sequences into one list of actions per rank: whatever is ready first, backwards before forwards.
Result<Schedule> mergeSequences(const Pipeline &pipeline, const std::vector<Sequence> &sequences);

/// Adds a send and a receive wherever a value or gradient goes to another rank. Both ends get them in one global order
/// in which the values come to exist, so blocking sends cannot deadlock. The schedule must hold no messages yet.
Status addMessages(const Pipeline &pipeline, Schedule &schedule);

/// Adds RECOMPUTE to stages that recompute, one for each backward or input gradient.
void addRecompute(const Pipeline &pipeline, Schedule &schedule, bool early);

/// Appends what ends a step: tied gradients to their homes, REDUCE_GRAD where a stage has several directions, NORM,
/// STEP, tied values to their copies, LOSS.
void addUpdate(const Pipeline &pipeline, Schedule &schedule);

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_GENERATORS_H
