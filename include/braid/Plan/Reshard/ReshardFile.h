//===- ReshardFile.h - Reshards as YAML, text and JSON ----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that states one reshard (docs/Reshards.md, section 7), and how its plan is shown.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_RESHARD_RESHARDFILE_H
#define BRAID_PLAN_RESHARD_RESHARDFILE_H

#include "braid/Plan/Reshard/Reshard.h"

#include <string>

namespace braid::plan {

struct ReshardProblem {
  ValueShape shape;
  Sharding source, destination;
  Network links;
  ReshardOptions options;
};

/// Reads the text of a file; `fileName` is for errors, which read "FILE:LINE:COLUMN: ...".
Result<ReshardProblem> parseReshard(const std::string &text, const std::string &fileName);

/// Figures, steps, messages (at most `mostMessages` of a step) and the adjoint, as a table.
std::string printReshard(const ReshardPlan &plan, int mostMessages = 64);
/// All of it, with the slices.
std::string reshardJson(const ReshardPlan &plan);

} // namespace braid::plan

#endif // BRAID_PLAN_RESHARD_RESHARDFILE_H
