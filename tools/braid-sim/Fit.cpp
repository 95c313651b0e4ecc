//===- Fit.cpp - braid-sim fit --------------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Cost/CostCurve.h"

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  std::string profile, output;
};
} // namespace

static Status run(const Options &options) {
  Result<std::string> text = sim::readFile("profile", options.profile);
  if (!text)
    return Error{text.error()};
  Result<std::vector<Profile>> profiles = parseProfiles(*text, options.profile);
  if (!profiles)
    return Error{profiles.error()};
  if (profiles->empty())
    return Error{options.profile + " has no profiles; docs/Costs.md, section 3, shows one"};
  std::vector<FittedCurve> curves;
  for (const Profile &profile : *profiles) {
    Result<FittedCurve> curve = fitCurve(profile);
    if (!curve)
      return Error{options.profile + ": " + curve.error()};
    curves.push_back(*curve);
  }
  return sim::writeFile(options.output, curvesJson(curves));
}

void addFit(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(app, "fit", "Fit T(x) = a x^2 + b x + c to timed units; docs/Costs.md, section 3",
                       {"fit --profile profile.json -o curves.json"});
  command->add_option("--profile", options->profile, "JSON file of profiles")->required()->check(sim::named());
  command->add_option("-o,--output", options->output, "File to write; standard output without")
      ->check(sim::outputFile());
  command.onRun(options, run);
}
