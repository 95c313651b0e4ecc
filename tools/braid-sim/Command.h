//===- Command.h - What the subcommands of braid-sim share ------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A subcommand is one file: NAME.cpp defines `void addNAME(CLI::App &)`, which declares its options and what runs. The
// build collects these files, so a new one needs no list to be changed.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_SIM_COMMAND_H
#define BRAID_SIM_COMMAND_H

#include "braid/Plan/Support/Result.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <memory>
#include <string>

namespace braid::sim {

/// Runs a subcommand. That memory runs out, or that standard output takes no more, is an error like any other.
plan::Status attempt(const std::function<plan::Status()> &run);

/// Declares a subcommand. `options` outlive the parsing; `run` is called with them when the command line asks for it,
/// and its error becomes the tool's.
template <typename Options>
void onRun(CLI::App *command, std::shared_ptr<Options> options, plan::Status (*run)(const Options &)) {
  command->callback([options, run] {
    if (plan::Status status = attempt([&] { return run(*options); }); !status) {
      std::cerr << "braid-sim: error: " << status.error() << "\n";
      throw CLI::RuntimeError(1);
    }
  });
}

/// The whole file. `what` names it in the error: "table", "plan".
plan::Result<std::string> readFile(const std::string &what, const std::string &path);
/// Writes to standard output if the path is empty or "-".
plan::Status writeFile(const std::string &path, const std::string &text);

} // namespace braid::sim

#endif // BRAID_SIM_COMMAND_H
