//===- Dataflow.cpp - Sizes of a table ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Dataflow.h"

#include <algorithm>

namespace braid::plan {

TableShape::TableShape(const Pipeline &pipeline, const Schedule &schedule)
    : pipeline(pipeline), stages(pipeline.numStages()), directions(pipeline.directions()), subs(1),
      microbatches(std::max(pipeline.microbatches, schedule.microbatches)) {
  for (const Stage &stage : pipeline.stages)
    subs = std::max(subs, stage.defers ? 2 : 1);
}

} // namespace braid::plan
