//===- Plan.cpp - braid-sim plan ------------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Planner/Planner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  std::string input, samples, curves, output;
  int keep = 5;
};
} // namespace

static void print(const PlannerProblem &problem, const Evaluation &evaluation) {
  double tokens = problem.components.back().segments * problem.components.back().model.sequence;
  std::printf(
      "%s\n  %.4g s a step by the table, %.4g by the closed form; %.4g samples and %.4g tokens a second, %.1f %% "
      "of the peak\n",
      evaluation.candidate.str().c_str(), evaluation.time(), evaluation.seconds, problem.batch / evaluation.time(),
      tokens * problem.batch / evaluation.time(), 100 * flopUtilization(problem, evaluation));
  std::printf("  layers by rank: %s\n", layersOfRanks(problem, evaluation).c_str());
  std::printf("  %d micro-batches; %.1f GB of %.0f on the fullest device (%s)\n", evaluation.microbatches,
              evaluation.peakBytes / 1e9, problem.hardware.memory / 1e9, evaluation.fullest.c_str());
}

/// Takes sizes from --samples and times from --curves. The largest samples' tokens are 0 where there is no table.
static Status complete(PlannerProblem &problem, const Options &options, std::vector<double> &largest) {
  if (!options.curves.empty()) {
    Result<std::string> text = sim::readFile("file of curves", options.curves);
    if (!text)
      return Error{text.error()};
    Result<std::vector<FittedCurve>> curves = parseCurves(*text, options.curves);
    if (!curves)
      return Error{curves.error()};
    if (curves->empty())
      return Error{options.curves + " has no curves; write it with braid-sim fit"};
    if (Status status = useCurves(problem, *curves); !status)
      return Error{options.curves + ": " + status.error()};
  }
  if (options.samples.empty()) {
    for (const PlannerComponent &component : problem.components)
      if (!component.tokensColumn.empty())
        return Error{options.input + ": component '" + component.name +
                     "' takes its sizes from samples; give their table with --samples"};
    largest.assign(problem.components.size(), 0);
    return {};
  }
  if (std::all_of(problem.components.begin(), problem.components.end(),
                  [](const PlannerComponent &component) { return component.tokensColumn.empty(); }))
    return Error{options.input + " takes no sizes from samples; write 'samples: COLUMN' into a component, or leave "
                                 "--samples out"};
  Result<std::string> text = sim::readFile("sample table", options.samples);
  if (!text)
    return Error{text.error()};
  Result<TextTable> table = TextTable::parse(*text, options.samples);
  if (!table)
    return Error{table.error()};
  Result<ProfilingBatch> batch = useSamples(problem, *table);
  if (!batch)
    return Error{batch.error()};
  std::printf("%zu samples of %s", table->rows.size(), options.samples.c_str());
  if (batch->groups > 0 && batch->size > 0)
    std::printf(
        "; %d are the smallest batch of a power of two whose loads always split the devices alike, %d : %d of %d",
        batch->size, batch->split[0], batch->split[1], batch->groups);
  else if (batch->groups > 0)
    std::printf("; no batch of them splits the devices alike");
  std::printf("\n");
  largest = batch->largest;
  return {};
}

/// What the plan is for, to be compared with what was meant.
static void printModel(const PlannerProblem &problem, const std::vector<double> &largest) {
  for (size_t i = 0; i < problem.components.size(); ++i) {
    const PlannerComponent &component = problem.components[i];
    const Transformer &model = component.model;
    double parameters = model.layers * model.layerParameters() + 2 * model.vocabulary * model.hidden;
    std::printf("  %s: %.4g sequences of %.0f tokens a sample", component.name.c_str(), component.segments,
                model.sequence);
    if (largest[i] > 0)
      std::printf(" in the mean, %.0f tokens in the largest", largest[i]);
    std::printf("; %.4gB parameters in %d layers%s%s\n", parameters / 1e9, model.layers,
                model.vocabulary > 0 ? ", embedding and head" : "", component.frozen ? ", frozen" : "");
  }
}

/// Sizes and curves that a plan does not rest on, although one might think so.
static void printCaveats(const PlannerProblem &problem, const Evaluation &chosen, const std::vector<double> &largest) {
  const PlannerComponent &language = problem.components.back();
  double mean = language.segments * language.model.sequence;
  if (largest.back() > 1.01 * mean)
    std::printf("  memory is that of mean samples; the largest one has %.1f times the tokens\n", largest.back() / mean);
  for (size_t i = 0; i < problem.components.size(); ++i) {
    const PlannerComponent &component = problem.components[i];
    const bool ofEncoder = i + 1 < problem.components.size() && chosen.candidate.placement != Placement::Together;
    const Parallelism &layout = (ofEncoder ? chosen.candidate.encoder : chosen.candidate.language).parallel;
    if (!component.curves.empty() && !component.curves.count({layout.tp, layout.cp}))
      std::printf("  %s has no curve for tp %d, cp %d: its times are the formulas'\n", component.name.c_str(),
                  layout.tp, layout.cp);
  }
}

static Status run(const Options &options) {
  Result<std::string> text = sim::readFile("model", options.input);
  if (!text)
    return Error{text.error()};
  Result<PlannerProblem> problem = parsePlannerProblem(*text, options.input);
  if (!problem)
    return Error{problem.error()};
  std::vector<double> largest;
  if (Status status = complete(*problem, options, largest); !status)
    return status;
  printModel(*problem, largest);
  auto start = std::chrono::steady_clock::now();
  Result<PlannerResult> found = searchPlans(*problem, {.keep = options.keep});
  if (!found)
    return Error{options.input + ": " + found.error()};
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const Evaluation &chosen = found->best.front();
  std::printf("chosen of %lld pipelines in %.2f s (%lld schedules did not fit):\n",
              static_cast<long long>(found->tried), seconds, static_cast<long long>(found->tooLarge));
  print(*problem, chosen);
  const StepParts &parts = chosen.parts;
  double total = parts.total() / 100;
  std::printf("  matrix products %.1f %%, memory traffic %.1f, launches %.1f, links inside nodes %.1f, between nodes "
              "%.1f, bubble %.1f, encoder's phases %.1f, gradients %.1f, optimizer %.1f, reshard %.2f\n",
              parts.matmul / total, parts.memory / total, parts.launch / total, parts.nodeLink / total,
              parts.crossLink / total, parts.bubble / total, parts.encoder / total, parts.gradients / total,
              parts.update / total, parts.reshard / total);
  printCaveats(*problem, chosen, largest);
  for (size_t i = 1; i < found->best.size(); ++i) {
    std::printf("runner-up %zu, %s:\n", i, explain(chosen, found->best[i]).c_str());
    print(*problem, found->best[i]);
  }
  if (options.output.empty())
    return {};
  return sim::writeFile(options.output, planYaml(*problem, chosen));
}

void addPlan(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(
      app, "plan", "Choose meshes, layouts, stages and schedule of a model; docs/Costs.md, section 5",
      {"plan model.yaml -o plan.yaml", "plan sampled.yaml --samples sizes.csv --curves curves.json --keep 2"});
  command->add_option("model", options->input, "YAML file of the model, the batch and the cluster")
      ->required()
      ->check(sim::named());
  command->add_option("--samples", options->samples, "CSV file of sample sizes, for components that name its columns")
      ->check(sim::named());
  command->add_option("--curves", options->curves, "Curves that fit printed, for components of their units' names")
      ->check(sim::named());
  command->add_option("-o,--output", options->output, "Write the chosen plan.yaml here; - is standard output")
      ->check(sim::outputFile());
  command->add_option("--keep", options->keep, "Plans to print")
      ->check(sim::integerFrom(1, 100))
      ->capture_default_str();
  command.onRun(options, run);
}
