//===- List.cpp - braid-sim list ------------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Schedule/Kinds.h"

#include <cstdio>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {};
} // namespace

static Status run(const Options &) {
  for (const ScheduleKind &kind : scheduleKinds())
    std::printf("%-12s %s\n", kind.name.c_str(), kind.summary.c_str());
  return {};
}

void addList(CLI::App &app) {
  sim::Command command(app, "list", "List the schedules that can be generated", {"list"});
  command.onRun(std::make_shared<Options>(), run);
}
