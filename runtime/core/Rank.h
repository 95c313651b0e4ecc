//===- Rank.h - One rank's training run --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_RANK_H
#define BRAID_RUNTIME_CORE_RANK_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/core/Options.h"
#include "runtime/core/Program.h"
#include "runtime/core/Weights.h"
#include "runtime/data/Batches.h"
#include "runtime/transport/Transport.h"

#include <optional>
#include <vector>

namespace braid::runtime {

/// What all ranks of a run share; none changes it.
struct Session {
  Program program;
  RunOptions options; // steps, accumulate and clipNorm are set
  Weights weights;
  Batches batches;
  std::optional<Batches> evaluation;
  std::optional<Checkpoint> resumed;
  std::vector<ParameterRates> rates; // by parameter
};

/// Trains as one rank. `transport` is null for a program of one rank. A failure is told to the other ranks before this
/// returns, and is worded without the number of this rank.
plan::Status trainRank(const Session &session, int rank, Transport *transport);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_RANK_H
