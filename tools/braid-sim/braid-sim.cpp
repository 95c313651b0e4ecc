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
  CLI::App app{"Simulates, verifies, draws and converts pipeline schedules. docs/Schedules.md explains them."};
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  braid-sim draw --kind zb_h1 -p 4 -m 8\n  braid-sim draw --kind amdp -p 8 -m 24 --format html "
      "-o amdp.html\n  braid-sim verify --table mine.csv\n  braid-sim search -p 8 -m 32 --max-memory 8");
#define BRAID_SIM_COMMAND(NAME) add##NAME(app);
#include "Commands.inc"
#undef BRAID_SIM_COMMAND
  CLI11_PARSE(app, argc, argv);
  return 0;
}
