//===- Balance.cpp - braid-sim balance ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BalanceTables.h"

#include "braid/Plan/Balance/BalanceBaselines.h"
#include "braid/Plan/Balance/SampleManifest.h"
#include "braid/Plan/Support/Json.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <numeric>

using namespace braid;
using namespace braid::plan;
using sim::format, sim::joined;

namespace {
struct Options {
  sim::SampleOptions samples;
  sim::TableOptions tables;
  std::vector<std::string> files;
  int replicas = 1;
  uint64_t step = 0;
  std::string format = "text", manifest, output;
  bool writeTables = false;
};
} // namespace

/// Numbers of samples of the table, not of the draw.
static std::vector<int> renumbered(const std::vector<int> &samples, const std::vector<int> &batch) {
  std::vector<int> result;
  for (int sample : samples)
    result.push_back(batch[sample]);
  return result;
}

static Json stepJson(const sim::SampleSet &set, const Options &options, const Comparison &comparison,
                     const std::vector<int> &batch) {
  SampleLoads samples = set.samples.select(batch);
  Json methods = Json::array();
  for (int method = 0; method < numMethods; ++method) {
    const MethodFigures &figures = comparison.methods[method];
    MicrobatchLoads loads = loadsOf(set.model, samples, figures.assignment);
    Json forwards = Json::object(), encoder = Json::array(), language = Json::array();
    for (int component = 0; component < loads.components; ++component) {
      Json &ofComponent = forwards[set.model.components[component].name] = Json::array();
      for (int microbatch = 0; microbatch < loads.microbatches; ++microbatch)
        ofComponent.push_back(loads.forward(component, microbatch));
    }
    for (int microbatch = 0; microbatch < loads.microbatches; ++microbatch) {
      encoder.push_back(renumbered(figures.assignment.samples[microbatch], batch));
      language.push_back(renumbered(figures.assignment.languageSamples(microbatch), batch));
    }
    methods.push_back({{"name", methodName(static_cast<Method>(method))},
                       {"step_time", figures.stepTime},
                       {"peak_rows", figures.peakMemory},
                       {"variation", figures.variation},
                       {"deviation", figures.deviation},
                       {"loads", std::move(forwards)},
                       {"encoder", std::move(encoder)},
                       {"language", std::move(language)}});
  }
  return {{"set", set.name},
          {"seed", options.tables.balance.seed},
          {"step", options.step},
          {"samples", batch.size()},
          {"microbatches", options.tables.microbatches},
          {"stages", set.split},
          {"bound", comparison.bound},
          {"effective_microbatches", comparison.effective},
          {"methods", std::move(methods)}};
}

static std::string stepText(const sim::SampleSet &set, const Options &options, const Comparison &comparison,
                            const std::vector<int> &batch) {
  SampleLoads samples = set.samples.select(batch);
  int components = samples.components();
  std::string text = set.name + ", step " + std::to_string(options.step) + ": " + std::to_string(batch.size()) +
                     " samples in " + std::to_string(options.tables.microbatches) + " micro-batches, stages " +
                     joined(set.split) + "\n\n                ";
  for (const StepComponent &component : set.model.components)
    text += format("  cv %-10s", component.name.c_str());
  text += "   step time  over bound  peak rows\n";
  for (int method = 0; method < numMethods; ++method) {
    const MethodFigures &figures = comparison.methods[method];
    text += format("%-16s", std::string(methodName(static_cast<Method>(method))).c_str());
    for (int component = 0; component < components; ++component)
      text += format("  %13.4f", figures.variation[component]);
    text += format("%12.6g  %10.3f  %9.0f\n", figures.stepTime, timesAsLong(figures.stepTime, comparison.bound),
                   figures.peakMemory);
  }
  text += format("lower bound %.6g; the paper's number of micro-batches is %d; cv is standard deviation over mean\n",
                 comparison.bound, comparison.effective);
  auto time = [&](Method method) { return comparison.methods[static_cast<int>(method)].stepTime; };
  text += format("shortest is %.2f times as fast as random order\n\n",
                 timesAsLong(time(Method::Random), time(Method::Shortest)));
  const MethodFigures &chosen =
      comparison.methods[static_cast<int>(options.tables.balance.aim == Aim::Even ? Method::Even : Method::Shortest)];
  MicrobatchLoads loads = loadsOf(set.model, samples, chosen.assignment);
  text += "micro-batch  samples  deferred";
  for (const StepComponent &component : set.model.components)
    text += format("  %10s", component.name.c_str());
  text += "\n";
  double most = 1e-300;
  for (int component = 0; component < components; ++component)
    for (int microbatch = 0; microbatch < loads.microbatches; ++microbatch)
      most = std::max(most, loads.forward(component, microbatch));
  for (int microbatch = 0; microbatch < loads.microbatches; ++microbatch) {
    text += format("%11d  %7zu  %8zu", microbatch, chosen.assignment.samples[microbatch].size(),
                   chosen.assignment.deferred[microbatch].size());
    std::string bars;
    for (int component = 0; component < components; ++component) {
      double load = loads.forward(component, microbatch);
      text += format("  %10.5g", load);
      std::string bar(static_cast<size_t>(20 * load / most + 0.5), component + 1 < components ? '#' : '=');
      bar.resize(21, ' ');
      bars += bar;
    }
    bars.erase(bars.find_last_not_of(' ') + 1);
    text += "  " + bars + "\n";
  }
  return text;
}

/// What the manifest's step takes on its slowest replica, and what it would without balancing: samples dealt out as
/// they are drawn.
static std::string manifestText(const sim::SampleSet &set, StepTimer &timer, const SampleManifest &manifest,
                                const std::vector<int> &batch) {
  double slowest = 0, random = 0;
  size_t worst = 0;
  for (size_t replica = 0; replica < manifest.replicas.size(); ++replica) {
    const SampleManifest::Replica &of = manifest.replicas[replica];
    SampleLoads loads = set.samples.select(of.samples);
    double time = timer.time(loadsOf(set.model, loads, of.assignment));
    worst = time > slowest ? replica : worst;
    slowest = std::max(slowest, time);
    size_t share = batch.size() / manifest.replicas.size();
    loads = set.samples.select({batch.begin() + replica * share, batch.begin() + (replica + 1) * share});
    random = std::max(random, timer.time(loadsOf(set.model, loads, randomOrder(loads, timer.microbatches(), replica))));
  }
  return format("manifest of %zu replicas, %zu samples: the slowest, %zu, takes %.6g; in random order %.6g\n",
                manifest.replicas.size(), batch.size(), worst, slowest, random);
}

/// What a run of some minutes needs, said before it begins. The game takes about 20 ns for a round, stage and
/// micro-batch, local improvement 40 for a step that it times, and evening out grows with the square of the samples.
static void announce(const Options &options) {
  const sim::TableOptions &tables = options.tables;
  const int stages = options.samples.split.empty()
                         ? options.samples.stages
                         : std::accumulate(options.samples.split.begin(), options.samples.split.end(), 0);
  const double cells = double(stages) * tables.microbatches, draws = options.writeTables ? tables.draws : 1;
  double seconds = 0;
  for (double count : tables.counts) {
    const BalanceOptions &balance = tables.balance;
    double evaluations =
        balance.evaluations >= 0 ? balance.evaluations : evaluationsFor(static_cast<int>(count), tables.microbatches);
    seconds += 2e-8 * cells * (2.0 * balance.profileRounds + draws * balance.boundRounds) +
               draws * (4e-8 * cells * evaluations + 1.2e-10 * count * count);
  }
  seconds *= static_cast<double>(options.files.size());
  sim::announce(seconds, "--microbatches, --samples, --rounds, --evaluations or --draws");
}

static Status run(const Options &options) {
  for (int count : options.tables.counts)
    if (count < options.tables.microbatches)
      return Error{std::to_string(count) + " samples leave " + std::to_string(options.tables.microbatches - count) +
                   " of " + std::to_string(options.tables.microbatches) + " micro-batches empty; choose at most " +
                   std::to_string(count) + " with --microbatches, or more with --samples"};
  for (auto file = options.files.begin(); file != options.files.end(); ++file)
    if (std::find(options.files.begin(), file, *file) != file)
      return Error{*file + " is given twice; leave one out"};
  announce(options);
  if (options.writeTables) {
    Result<std::string> text = sim::balanceTables(options.files, options.samples, options.tables);
    return text ? sim::writeFile(options.output, *text) : Status(Error{text.error()});
  }
  std::string text;
  Json steps = Json::array();
  if (options.tables.counts.size() > 1)
    return Error{"--samples names " + std::to_string(options.tables.counts.size()) +
                 " numbers, and one step has one; leave one, or print --tables"};
  if (!options.manifest.empty() && options.files.size() > 1)
    return Error{"--manifest takes the samples of one file, and " + std::to_string(options.files.size()) +
                 " are given"};
  for (const std::string &file : options.files) {
    Result<sim::SampleSet> set = sim::loadSamples(file, options.samples);
    if (!set)
      return Error{set.error()};
    int count = options.tables.counts[0];
    double scale = static_cast<double>(count) / set->samples.size();
    Result<Comparer> comparer =
        Comparer::create(set->model, options.tables.microbatches, set->samples, scale, options.tables.balance);
    if (!comparer)
      return Error{comparer.error()};
    std::vector<int> batch = drawBatch(set->samples.size(), count, options.tables.balance.seed, options.step);
    Result<Comparison> comparison = comparer->compare(set->samples.select(batch), options.step);
    if (!comparison)
      return Error{file + ": " + comparison.error()};
    if (options.format == "json")
      steps.push_back(stepJson(*set, options, *comparison, batch));
    else
      text += (text.empty() ? "" : "\n") + stepText(*set, options, *comparison, batch);
    if (options.manifest.empty())
      continue;
    if (int64_t(count) * options.replicas > 1 << 24)
      return Error{"a manifest of " + std::to_string(int64_t(count) * options.replicas) +
                   " samples is too large; choose --samples and --replicas with a product of at most 16777216"};
    Result<SampleManifest> manifest =
        makeManifest(comparer->getBalancer(options.tables.balance.aim), set->samples, count * options.replicas,
                     options.replicas, options.tables.balance.seed, options.step);
    if (!manifest)
      return Error{file + ": " + manifest.error()};
    if (Status status = sim::writeFile(options.manifest, manifest->json()); !status)
      return status;
    if (options.format == "text")
      text += "\n" + manifestText(*set, comparer->getBalancer(options.tables.balance.aim).getTimer(), *manifest,
                                  drawBatch(set->samples.size(), count * options.replicas, options.tables.balance.seed,
                                            options.step));
  }
  return sim::writeFile(options.output, options.format == "json" ? jsonText(steps) + "\n" : text);
}

void addBalance(CLI::App &app) {
  auto options = std::make_shared<Options>();
  sim::Command command(app, "balance",
                       "Spread samples of uneven size over micro-batches, and compare with other orders",
                       {"balance samples.csv -n 64 -m 16", "balance samples.csv --format json -o step.json",
                        "balance samples.csv --manifest manifest.json --replicas 4 --step 3",
                        "balance samples.csv --tables -n 64,128 --draws 2"});
  sim::TableOptions &tables = options->tables;
  command->add_option("files", options->files, "CSV files with a line for each sample")
      ->required()
      ->check(sim::named());
  sim::addSampleOptions(command, options->samples);
  sim::addList(command, "-n,--samples", tables.counts, "Samples of a replica in a step; several for --tables",
               sim::integerFrom(1, 1 << 18));
  command->add_option("-m,--microbatches", tables.microbatches, "Micro-batches of the table")
      ->check(sim::integerFrom(1, 4096))
      ->capture_default_str();
  sim::addChoice<Aim>(command, "--aim", tables.balance.aim,
                      "Whose micro-batches are listed: even, or time for those of the shortest step",
                      {{"even", Aim::Even}, {"time", Aim::StepTime}});
  command
      ->add_option("--max-memory", tables.balance.maxMemory,
                   "Rows that a rank may hold activations of, a stage's share of its component's each; -1: any")
      ->check(sim::numberOrMinusOne())
      ->capture_default_str();
  command
      ->add_option(
          "--evaluations", tables.balance.evaluations,
          "Steps that local improvement may time; else 130, and more where a micro-batch has less than 16 samples")
      ->check(sim::integerFrom(0, 1000000));
  command->add_option("--rounds", tables.balance.profileRounds, "Rounds of the game for profile and bound")
      ->check(sim::integerFrom(1, 100000))
      ->capture_default_str();
  command->add_option("--seed", tables.balance.seed, "Of the batches drawn")
      ->check(sim::integerFrom(0, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->add_option("--step", options->step, "Step whose batch is drawn")
      ->check(sim::integerFrom(0, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->add_option("--format", options->format, "text or json")
      ->check(sim::oneOf({"text", "json"}))
      ->capture_default_str();
  command->add_option("--replicas", options->replicas, "Replicas of the manifest")
      ->check(sim::integerFrom(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--manifest", options->manifest, "Write the step's manifest to this file, as JSON")
      ->check(sim::outputFile());
  command->add_flag("--tables", options->writeTables, "Print the tables of docs/Balancing.md for these files instead");
  command->add_option("--draws", tables.draws, "Steps that the tables are means of")
      ->check(sim::integerFrom(1, 1000000))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write; standard output without")
      ->check(sim::outputFile());
  auto writesTables = [options = options.get()] { return options->writeTables; };
  command.readOnlyIf({"--step", "--format", "--manifest", "--aim"}, "without --tables",
                     [writesTables] { return !writesTables(); });
  command.readOnlyIf({"--draws"}, "with --tables", writesTables);
  command.readOnlyIf({"--replicas"}, "with --manifest",
                     [options = options.get()] { return !options->manifest.empty(); });
  command.readOnlyIf({"--aim"}, "with --format text or --manifest",
                     [options = options.get()] { return options->format == "text" || !options->manifest.empty(); });
  command.onRun(options, run);
}
