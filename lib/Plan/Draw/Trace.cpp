//===- Trace.cpp - Timelines as Chrome traces ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Draw/Draw.h"
#include "braid/Plan/Support/Json.h"

namespace braid::plan {

std::string drawTrace(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                      const Timeline &timeline) {
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  auto event = [&](const Json &body) { text += (text.back() == '[' ? "\n" : ",\n") + jsonText(body); };
  std::vector<std::vector<MemoryPoint>> memory = memoryOverTime(pipeline, schedule, costs, timeline, schedule.ranks());
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    std::string name = "rank " + std::to_string(rank);
    event({{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", rank}, {"args", {{"name", name}}}});
    const std::vector<Action> &row = schedule.rows[rank];
    for (size_t i = 0; i < row.size(); ++i) {
      double start = timeline.start[rank][i], end = timeline.end[rank][i];
      if (end <= start)
        continue;
      event({{"name", row[i].str()},
             {"cat", spelling(row[i].kind)},
             {"ph", "X"},
             {"pid", 0},
             {"tid", rank},
             {"ts", start},
             {"dur", end - start},
             {"args", {{"stage", row[i].stage}, {"microbatch", row[i].microbatch}, {"direction", row[i].direction}}}});
    }
    for (const MemoryPoint &point : memory[rank])
      event({{"name", "memory of " + name},
             {"ph", "C"},
             {"pid", 0},
             {"ts", point.time},
             {"args",
              {{"state", point.state},
               {"activations", point.activations},
               {"kept for weight gradients", point.weightInputs},
               {"received", point.waiting},
               {"waiting for a link", point.sending}}}});
  }
  return text + "\n]}\n";
}

} // namespace braid::plan
