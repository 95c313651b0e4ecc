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
// No option is taken in silence: each has one of the checks of Values.h, and where something decides whether it is
// read, a rule says so. test/braid-sim/options.py tries every option that --help lists.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_SIM_COMMAND_H
#define BRAID_SIM_COMMAND_H

#include "Values.h"
#include "braid/Plan/Support/Result.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace braid::sim {

/// Options that are read only under a condition, which `where` says in words: "with --table".
struct OptionRule {
  std::vector<CLI::Option *> options;
  std::string where;

  /// An error if one of them is given and the condition does not hold.
  plan::Status check(bool holds) const;
};

class Command {
public:
  /// `examples` are command lines without the tool's name, for the end of the help.
  Command(CLI::App &app, const std::string &name, const std::string &summary, const std::vector<std::string> &examples);

  /// Options are declared as with any CLI::App.
  CLI::App *operator->() const { return app; }
  operator CLI::App *() const { return app; }
  CLI::Option *option(const std::string &name) const { return app->get_option(name); }
  std::vector<CLI::Option *> optionsOf(const std::string &group) const;

  /// These options are read only if `holds` does, once all are known.
  void readOnlyIf(std::vector<CLI::Option *> options, const std::string &where, std::function<bool()> holds);
  void readOnlyIf(std::initializer_list<const char *> names, const std::string &where, std::function<bool()> holds);

  /// `options` outlive the parsing; `run` is called with them when the command line asks for it, and its error becomes
  /// the tool's.
  template <typename Options> void onRun(std::shared_ptr<Options> options, plan::Status (*run)(const Options &)) {
    onRun([options, run] { return run(*options); });
  }

private:
  using Rules = std::vector<std::pair<OptionRule, std::function<bool()>>>;
  void onRun(std::function<plan::Status()> run);

  CLI::App *app;
  std::shared_ptr<Rules> rules = std::make_shared<Rules>();
};

/// Runs the tool: every error is one line that begins with "braid-sim: error:", and exit status 1.
int parseAndRun(CLI::App &app, int argc, char **argv);

/// Says how long it takes, before it begins, if that is minutes. `shorter` are the options that shorten it.
void announce(double seconds, const std::string &shorter);

/// The whole file. `what` names it in the error: "table", "plan".
plan::Result<std::string> readFile(const std::string &what, const std::string &path);
/// Writes to standard output if the path is empty or "-".
plan::Status writeFile(const std::string &path, const std::string &text);

} // namespace braid::sim

#endif // BRAID_SIM_COMMAND_H
