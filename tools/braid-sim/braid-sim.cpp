//===- braid-sim.cpp - Schedules without a model or a GPU -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#define BRAID_SIM_COMMAND(NAME) void add##NAME(CLI::App &app);
#include "Commands.inc"
#undef BRAID_SIM_COMMAND

int main(int argc, char **argv) {
  CLI::App app{
      "Simulates, verifies, draws, converts and searches pipeline schedules (docs/Schedules.md), plans reshards "
      "(docs/Reshards.md), balances samples (docs/Balancing.md), predicts costs and plans a cluster "
      "(docs/Costs.md)."};
  app.require_subcommand(1);
#define BRAID_SIM_COMMAND(NAME) add##NAME(app);
#include "Commands.inc"
#undef BRAID_SIM_COMMAND
  app.footer("braid-sim SUBCOMMAND --help ends with examples.");
  return braid::sim::parseAndRun(app, argc, argv);
}
