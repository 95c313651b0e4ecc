//===- Command.cpp - Options, rules on them, and errors -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <new>
#include <stdexcept>

using namespace braid;
using braid::sim::Command;

plan::Status sim::OptionRule::check(bool holds) const {
  if (holds)
    return {};
  for (const CLI::Option *option : options)
    if (option->count() > 0)
      return plan::Error{option->get_name() + " is read only " + where + ", which is not so here; leave it out"};
  return {};
}

Command::Command(CLI::App &root, const std::string &name, const std::string &summary,
                 const std::vector<std::string> &examples)
    : app(root.add_subcommand(name, summary)) {
  std::string footer = "Examples:";
  for (const std::string &example : examples)
    footer += "\n  braid-sim " + example;
  app->footer(footer);
}

std::vector<CLI::Option *> Command::optionsOf(const std::string &group) const {
  return app->get_options([&](const CLI::Option *option) { return option->get_group() == group; });
}

void Command::readOnlyIf(std::vector<CLI::Option *> options, const std::string &where, std::function<bool()> holds) {
  rules->push_back({OptionRule{std::move(options), where}, std::move(holds)});
}

void Command::readOnlyIf(std::initializer_list<const char *> names, const std::string &where,
                         std::function<bool()> holds) {
  std::vector<CLI::Option *> options;
  for (const char *name : names)
    options.push_back(option(name));
  readOnlyIf(std::move(options), where, std::move(holds));
}

/// That memory runs out, or that standard output takes no more, is an error like any other.
static plan::Status attempt(const std::function<plan::Status()> &run) {
  const char *tooLarge = "this does not fit into memory; ask for fewer ranks, micro-batches, samples or columns";
  try {
    if (plan::Status status = run(); !status)
      return status;
  } catch (const std::bad_alloc &) {
    return plan::Error{tooLarge};
  } catch (const std::length_error &) {
    return plan::Error{tooLarge};
  }
  if (!std::cout.flush() || std::fflush(stdout) != 0)
    return plan::Error{"cannot write to standard output; check that it is open and its disk has room"};
  return {};
}

void sim::announce(double seconds, const std::string &shorter) {
  if (seconds > 60)
    std::fprintf(stderr, "braid-sim: this takes some %.0f minutes; fewer %s shorten it\n", std::ceil(seconds / 60),
                 shorter.c_str());
}

static int fail(const std::string &message) {
  std::cerr << "braid-sim: error: " << message << "\n";
  return 1;
}

void Command::onRun(std::function<plan::Status()> run) {
  // CLI11 calls this before it looks for words that nothing took.
  app->final_callback([app = app, rules = rules, run = std::move(run)] {
    for (const auto &[rule, holds] : *rules)
      if (plan::Status status = rule.check(holds()); !status)
        throw CLI::RuntimeError(fail(status.error() + "; see braid-sim " + app->get_name() + " --help"));
    if (plan::Status status = attempt(run); !status)
      throw CLI::RuntimeError(fail(status.error()));
  });
}

static std::vector<std::string> longNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// What is wrong with a word before the subcommand, or instead of one.
static std::string noSubcommand(const CLI::App &root, const std::string &word) {
  std::vector<std::string> names;
  for (const CLI::App *command : root.get_subcommands({}))
    names.push_back(command->get_name());
  for (const CLI::App *command : root.get_subcommands({})) {
    std::vector<std::string> options = longNames(*command);
    if (std::find(options.begin(), options.end(), word) != options.end())
      return word + " stands before the subcommand; write it behind, as in braid-sim " + command->get_name() + " " +
             word;
  }
  if (word.starts_with("-"))
    return "there is no option '" + word + "' before the subcommand; see braid-sim --help";
  return "there is no subcommand '" + word + "'" + plan::suggest(word, names);
}

/// What is wrong with a word that the subcommand takes neither as an option nor as a value.
static std::string noOption(const CLI::App &root, const CLI::App &command, const std::string &word) {
  const std::string &name = command.get_name(), help = "; see braid-sim " + name + " --help";
  if (!word.starts_with("-"))
    return "nothing of " + name + " takes '" + word + "'" + help;
  std::string others;
  for (const CLI::App *other : root.get_subcommands({})) {
    std::vector<std::string> names = longNames(*other);
    if (std::find(names.begin(), names.end(), word) != names.end())
      others += (others.empty() ? "" : ", ") + other->get_name();
  }
  std::string near = plan::nearest(word, longNames(command));
  return name + " has no option '" + word + "'" +
         (!others.empty() ? ", which is one of " + others + help
          : near.empty()  ? help
                          : "; did you mean '" + near + "'?");
}

int sim::parseAndRun(CLI::App &app, int argc, char **argv) {
  auto command = [&]() -> const CLI::App * {
    std::vector<CLI::App *> given = app.get_subcommands();
    return given.empty() ? nullptr : given.front();
  };
  auto seeHelp = [&] { return "; see braid-sim " + (command() ? command()->get_name() + " " : "") + "--help"; };
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError &error) { // said already
    return error.get_exit_code();
  } catch (const CLI::ArgumentMismatch &error) {
    std::string what = error.what(), name = what.substr(0, what.find(':'));
    bool missing = what.ends_with("missing");
    return fail(name + (missing ? " lacks its value" + seeHelp() : " is given more than once; leave one"));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help
      return app.exit(error);
    if (std::vector<std::string> before = app.remaining(); !before.empty())
      return fail(noSubcommand(app, before.front()));
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
      std::vector<std::string> left = app.remaining(true);
      auto option =
          std::find_if(left.begin(), left.end(), [](const std::string &word) { return word.starts_with("-"); });
      std::string word = option == left.end() ? left.front() : *option;
      return fail(noOption(app, *command(), word.substr(0, word.find('='))));
    }
    std::string what = error.what();
    return fail(what + (what.ends_with("?") ? "" : seeHelp()));
  }
}
