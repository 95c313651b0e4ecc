//===- Draw.h - Pictures of a simulated schedule ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_DRAW_DRAW_H
#define BRAID_PLAN_DRAW_DRAW_H

#include "braid/Plan/Simulator/Simulator.h"

#include <string>

namespace braid::plan {

struct DrawOptions {
  std::string title;
  int width = 1100;   // pixels of an SVG's time axis
  int columns = 150;  // characters of a text timeline, at most
  int maxRanks = 256; // further rows are left out, and said to be
};

/// One line per rank, as wide as time allows: "F3" forward of micro-batch 3, "I", "W", "B", "." idle.
std::string drawText(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline,
                     const DrawOptions &options = {});
/// A stand-alone SVG file.
std::string drawSvg(const Pipeline &pipeline, const Schedule &schedule, const Timeline &timeline,
                    const DrawOptions &options = {});
/// Chrome's and Perfetto's JSON. One unit of time is one microsecond.
std::string drawTrace(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                      const Timeline &timeline);
/// One page without outside references: figures, the timeline, memory over time of each rank by cause.
std::string drawHtml(const Pipeline &pipeline, const Schedule &schedule, const CostModel &costs,
                     const Timeline &timeline, const DrawOptions &options = {});

} // namespace braid::plan

#endif // BRAID_PLAN_DRAW_DRAW_H
