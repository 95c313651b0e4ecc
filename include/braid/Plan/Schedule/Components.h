//===- Components.h - Encoders and a language model as one pipeline -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A multimodal model is several pipelines of different depth: encoders, whose outputs a language model reads. Joined at
// their boundaries they are one graph of stages, which 1F1B, GPipe and the search schedule as they do a chain.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_COMPONENTS_H
#define BRAID_PLAN_SCHEDULE_COMPONENTS_H

#include "braid/Plan/Schedule/Generators.h"

#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

struct Component {
  std::string name;
  std::vector<int> ranks; // of its stages, in order; a rank may hold stages of several components
  struct Reader {
    std::string component;
    int stage = 0; // of that component: where the output enters
  };
  std::vector<Reader> readers = {}; // of its last stage's output
  bool trains = true;               // false: its parameters are frozen
  bool defers = false;              // samples may enter its readers one micro-batch later
  /// Each rank holds the whole component and computes its share of each micro-batch, instead of a stage each. The
  /// copies are tied: their gradients are summed.
  bool lanes = false;

  /// NAME:RANKS[:READERS[:FLAGS]], as in `vision:0-3:llm:frozen,defers`, `audio:4,6:llm@2`, `llm:0-7`. Flags are
  /// frozen, defers and lanes.
  static Result<Component> parse(std::string_view text);
};

/// The pipeline of all components: stages in topological order, each component's together, the one that no other reads
/// last. Nothing in front of the first parameters that train has a backward. If a component defers, micro-batch 2k
/// defers to 2k+1.
Result<Pipeline> joinComponents(std::vector<Component> components, int microbatches);

/// Three phases on ranks that encoders and language model share: all encoder forwards of the step, 1F1B of the last
/// component, all encoder backwards. Nothing of an encoder runs between the others' actions, so its parameters may be
/// elsewhere meanwhile; the activations of all its micro-batches are held. (Heterogeneous parallelism, 2026, section 4)
Result<Schedule> threePhase(const Pipeline &pipeline, const GenerateOptions &options = {});

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_COMPONENTS_H
