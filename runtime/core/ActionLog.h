//===- ActionLog.h - The last actions of a rank ------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_ACTIONLOG_H
#define BRAID_RUNTIME_CORE_ACTIONLOG_H

#include "braid/Plan/Schedule/Schedule.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace braid::runtime {

/// A ring of what a rank did last and how long it took, for the message of a failure.
class ActionLog {
public:
  void begin(int64_t step, const plan::Action &action) {
    finish();
    entries[count++ % entries.size()] = {step, action, Clock::now(), {}};
  }
  void finish() {
    if (count && entries[(count - 1) % entries.size()].end == Clock::time_point())
      entries[(count - 1) % entries.size()].end = Clock::now();
  }

  /// "0F0 1.2 ms, 0SEND_F0 0.1 ms, 0RECV_B0 (now)", oldest first.
  std::string str() const {
    std::string result;
    for (size_t i = count - std::min(count, entries.size()); i < count; ++i) {
      const Entry &entry = entries[i % entries.size()];
      result += (result.empty() ? "" : ", ") + entry.action.str();
      char time[32] = " (now)";
      if (entry.end != Clock::time_point())
        std::snprintf(time, sizeof time, " %.1f ms",
                      std::chrono::duration<double, std::milli>(entry.end - entry.begin).count());
      result += time;
    }
    return result;
  }

private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    int64_t step = 0;
    plan::Action action;
    Clock::time_point begin, end;
  };
  std::array<Entry, 16> entries;
  size_t count = 0;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_ACTIONLOG_H
