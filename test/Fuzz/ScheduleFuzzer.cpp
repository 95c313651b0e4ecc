//===- ScheduleFuzzer.cpp - Any bytes as a table of actions ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Schedule.h"
#include "braid/Plan/Verifier/Verifier.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  Result<Schedule> schedule = Schedule::parseCsv(text);
  if (!schedule)
    return 0;
  Result<Schedule> again = Schedule::parseCsv(schedule->csv());
  if (!again || again->rows != schedule->rows)
    __builtin_trap(); // what is read and written is read again as the same
  int64_t size64 = int64_t(schedule->stages) * schedule->microbatches * schedule->directions;
  if (schedule->directions == 1 && schedule->stages <= 64 && size64 <= 4096 && schedule->microbatches > 0)
    (void)verify(Pipeline::chain(schedule->stages, schedule->microbatches,
                                 [&] {
                                   std::vector<int> placement = schedule->placement[0];
                                   for (int &rank : placement)
                                     rank = rank < 0 ? 0 : rank;
                                   return placement;
                                 }()),
                 *schedule);
  return 0;
}
