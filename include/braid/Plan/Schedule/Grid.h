//===- Grid.h - A schedule as a text grid -----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SCHEDULE_GRID_H
#define BRAID_PLAN_SCHEDULE_GRID_H

#include "braid/Plan/Schedule/Schedule.h"

#include <string>
#include <vector>

namespace braid::plan {

/// The action at rows[rank][index].
struct Place {
  int rank = 0;
  int index = 0;
};

/// One line per rank, one column per action. At most `maxColumns` columns are drawn.
std::string drawGrid(const Schedule &schedule, int maxColumns = 200);

/// The rows of these places and their neighbours, some columns to either side, each place marked as >>0F1<<. An index
/// equal to the row's length marks its end.
std::string drawAround(const Schedule &schedule, const std::vector<Place> &places);

} // namespace braid::plan

#endif // BRAID_PLAN_SCHEDULE_GRID_H
