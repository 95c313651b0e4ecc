//===- SampleSet.cpp - Sample sizes from a file, and the step they run in -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleSet.h"

#include "braid/Plan/Balance/StableBatch.h"
#include "braid/Plan/Cost/CostCurve.h"
#include "braid/Plan/Schedule/Partition.h"
#include "braid/Plan/Support/TextTable.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <sstream>

using namespace braid;
using namespace braid::plan;

void sim::addSampleOptions(Command &command, SampleOptions &options) {
  command
      ->add_option("--encoder", options.encoders,
                   "Column with an encoder's rows per sample, COLUMN/SEGMENTS if they are in that many segments "
                   "which attend to themselves only; once for each encoder")
      ->check(named())
      ->capture_default_str();
  command
      ->add_option("--text", options.text, "Column with the language model's rows besides the encoders'; '' for none")
      ->capture_default_str();
  command
      ->add_option("--encoder-cost", options.encoderCosts,
                   "A,B,C of an encoder's load A x^2 + B x for each sample and C for each micro-batch; once for "
                   "each encoder, or once for all")
      ->check(named())
      ->capture_default_str();
  command->add_option("--language-cost", options.languageCost, "The same of the language model")
      ->check(named())
      ->capture_default_str();
  addList(command, "--merge", options.merges,
          "Rows of an encoder that become one of the language model's, for each encoder, or for all",
          numberFrom(1, 1e6));
  addList(command, "--encoder-layers", options.encoderLayers, "Layers of each encoder, or of all",
          integerFrom(1, 4096));
  command->add_option("--language-layers", options.languageLayers, "Layers of the language model")
      ->check(integerFrom(1, 4096))
      ->capture_default_str();
  command->add_option("-p,--stages", options.stages, "Stages of all components together")
      ->check(integerFrom(1, 4096))
      ->capture_default_str();
  addList(command, "--split", options.split, "Stages of each component, encoders first; else as the loads say",
          integerFrom(1, 4096));
  command.readOnlyIf({"--stages"}, "without --split", [&options] { return options.split.empty(); });
  command->add_option("--backward", options.backward, "Time of a backward, in forwards")
      ->check(numberFrom(0))
      ->capture_default_str();
  command->add_option("-c,--latency", options.latency, "Time from one stage to the next")
      ->check(numberFrom(0))
      ->capture_default_str();
}

static Result<CostCurve> parseCost(const std::string &text) {
  CostCurve cost;
  std::istringstream in(text);
  char comma[2] = {}, rest = 0;
  if (!(in >> cost.a >> comma[0] >> cost.b >> comma[1] >> cost.c) || comma[0] != ',' || comma[1] != ',' || in >> rest)
    return Error{"'" + text + "' is no cost; write A,B,C as in 1e-4,6.4,210"};
  for (double value : {cost.a, cost.b, cost.c})
    if (!std::isfinite(value) || value < 0)
      return Error{"the cost '" + text + "' has a negative or infinite part; write A,B,C from 0"};
  return cost;
}

/// One value for each of `count`, from a list with that many or with one for all.
template <typename Value>
static Result<Value> valueFor(const std::vector<Value> &list, size_t index, size_t count, const char *what) {
  if (list.size() == 1)
    return list[0];
  if (list.size() != count)
    return Error{"there are " + std::to_string(list.size()) + " " + what + " for " + std::to_string(count) +
                 " encoders; give one for each, or one for all"};
  return list[index];
}

/// Layers as even as they go: the share of each stage.
static Result<std::vector<double>> sharesOf(int layers, int stages) {
  Result<std::vector<int>> starts = partitionEvenly(std::vector<double>(layers, 1.0), stages);
  if (!starts)
    return Error{starts.error() + "; choose fewer stages with --split or more layers"};
  std::vector<double> shares;
  starts->push_back(layers);
  for (int stage = 0; stage < stages; ++stage)
    shares.push_back(static_cast<double>((*starts)[stage + 1] - (*starts)[stage]) / layers);
  return shares;
}

/// A column of sizes. Where there is none of that name, the error says which option takes it.
static Result<std::vector<double>> sizesOf(const TextTable &table, const std::string &column, const char *option) {
  Result<std::vector<double>> sizes = table.sizes(column);
  if (!sizes && !table.has(column))
    return Error{sizes.error() + "; say with " + option + " which one it is"};
  return sizes;
}

Result<sim::SampleSet> sim::loadSamples(const std::string &path, const SampleOptions &options) {
  SampleSet set;
  set.name = std::filesystem::path(path).stem().string();
  Result<std::string> text = readFile("sample table", path);
  if (!text)
    return Error{text.error()};
  Result<TextTable> table = TextTable::parse(*text, path);
  if (!table)
    return Error{table.error()};
  size_t encoders = options.encoders.size();
  std::set<std::string> columns;
  for (const std::string &spec : options.encoders)
    if (std::string column = spec.substr(0, spec.find('/')); !columns.insert(column).second)
      return Error{"two encoders have the rows of column '" + column + "'; name another with --encoder"};
  if (columns.count(options.text))
    return Error{"column '" + options.text + "' is an encoder's, whose rows the language model reads already; name " +
                 "another with --text, or '' for none"};
  std::vector<double> language(table->rows.size());
  std::vector<int> layers;
  auto addComponent = [&](const std::string &name, const CostCurve &cost, const std::vector<double> &rows,
                          const std::vector<double> &segments) {
    std::vector<double> loads(rows.size());
    for (size_t sample = 0; sample < rows.size(); ++sample)
      loads[sample] = cost.ofSample(rows[sample], segments.empty() ? 1 : segments[sample]);
    set.samples.loads.push_back(std::move(loads));
    set.samples.rows.push_back(rows);
    set.model.components.push_back({.name = name, .shares = {}, .constant = cost.c, .memoryPerRow = 1});
  };
  for (size_t encoder = 0; encoder < encoders; ++encoder) {
    const std::string &spec = options.encoders[encoder];
    size_t slash = spec.find('/');
    Result<std::vector<double>> rows = sizesOf(*table, spec.substr(0, slash), "--encoder COLUMN/SEGMENTS");
    if (!rows)
      return Error{rows.error()};
    std::vector<double> segments;
    if (slash != std::string::npos) {
      const std::string column = spec.substr(slash + 1);
      if (Result<std::vector<double>> found = sizesOf(*table, column, "--encoder COLUMN/SEGMENTS"); !found)
        return Error{found.error()};
      Result<std::vector<double>> found = table->segments(column, spec.substr(0, slash));
      if (!found)
        return Error{found.error()};
      segments = std::move(*found);
    }
    Result<std::string> costText = valueFor(options.encoderCosts, encoder, encoders, "costs");
    Result<int> count = valueFor(options.encoderLayers, encoder, encoders, "numbers of layers");
    Result<double> merge = valueFor(options.merges, encoder, encoders, "numbers of merged rows");
    if (!costText || !count || !merge)
      return Error{!costText ? costText.error() : !count ? count.error() : merge.error()};
    Result<CostCurve> cost = parseCost(*costText);
    if (!cost)
      return Error{cost.error()};
    layers.push_back(*count);
    addComponent(encoders == 1 ? "encoder" : spec.substr(0, slash), *cost, *rows, segments);
    for (size_t sample = 0; sample < rows->size(); ++sample)
      language[sample] += (*rows)[sample] / *merge;
  }
  if (!options.text.empty()) {
    Result<std::vector<double>> rows = sizesOf(*table, options.text, "--text COLUMN, or '' for none,");
    if (!rows)
      return Error{rows.error()};
    for (size_t sample = 0; sample < rows->size(); ++sample)
      language[sample] += (*rows)[sample];
  }
  Result<CostCurve> cost = parseCost(options.languageCost);
  if (!cost)
    return Error{cost.error()};
  layers.push_back(options.languageLayers);
  addComponent("language", *cost, language, {});
  if (set.samples.size() == 0)
    return Error{path + " has no samples; each line after the first is one"};
  double work = 0;
  for (const std::vector<double> &loads : set.samples.loads)
    work += std::accumulate(loads.begin(), loads.end(), 0.0);
  for (const StepComponent &component : set.model.components)
    work += component.constant;
  if (work > mostOfANumber)
    return Error{"the samples of " + path + " cost more than " + std::to_string(int64_t(mostOfANumber)) +
                 " in all; write the costs in a larger unit"};
  if (work == 0)
    return Error{"the samples of " + path +
                 " take no time; give --encoder-cost or --language-cost a part above 0, and "
                 "--encoder or --text a column with rows"};

  set.split = options.split;
  if (set.split.empty()) {
    Result<std::vector<int>> split = splitDevices(set.samples.totals(), options.stages);
    if (!split)
      return Error{split.error()};
    set.split = std::move(*split);
  }
  if (set.split.size() != layers.size())
    return Error{"--split names " + std::to_string(set.split.size()) + " components and there are " +
                 std::to_string(layers.size()) + "; give the stages of each encoder and of the language model"};
  for (size_t component = 0; component < layers.size(); ++component) {
    Result<std::vector<double>> shares = sharesOf(layers[component], set.split[component]);
    if (!shares)
      return Error{shares.error()};
    set.model.components[component].shares = std::move(*shares);
  }
  set.model.backward = options.backward;
  set.model.latency = options.latency;
  if (Status status = set.model.check(); !status)
    return Error{status.error()};
  return set;
}
