//===- PlannerFile.cpp - The planner's input and its plan.yaml ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Cost/HardwareReader.h"
#include "braid/Plan/Planner/Planner.h"
#include "braid/Plan/Support/Json.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <sstream>

namespace braid::plan {

static void readCurve(const YAML::Node &node, PlannerComponent &component) {
  int tp = 1, cp = 1;
  CostCurve curve;
  yaml::readKeys(node, "a curve", {"tp", "cp", "a", "b", "c"}, [&](const std::string &key, const YAML::Node &value) {
    if (key == "tp" || key == "cp")
      (key == "tp" ? tp : cp) = static_cast<int>(yaml::integerOf(value, key + " of a curve", 1, 1 << 20));
    else
      (key == "a" ? curve.a : key == "b" ? curve.b : curve.c) = yaml::numberOf(value, key + " of a curve", 0, 1e9);
  });
  if (curve.a == 0 && curve.b == 0 && curve.c == 0)
    yaml::fail(node, "a curve without time; give a, b or c above 0");
  if (!component.curves.emplace(std::pair{tp, cp}, curve).second)
    yaml::fail(node, "a second curve at tp " + std::to_string(tp) + ", cp " + std::to_string(cp) + "; leave one out");
}

/// That attention's heads share the hidden size, and its keys and values the heads.
static void checkHeads(const Transformer &model, const std::map<std::string, YAML::Node> &entries,
                       const std::string &what) {
  auto refuse = [&](const char *entry, const char *whole, const std::string &otherwise) {
    yaml::fail(entries.at(entry), std::string(entry) + " of " + what + " is " + entries.at(entry).Scalar() +
                                      " and does not divide " + whole + ", " + entries.at(whole).Scalar() +
                                      "; choose a divisor" + otherwise);
  };
  if (model.headSize == 0 && std::fmod(model.hidden, model.heads) != 0)
    refuse("heads", "hidden", ", or give head_size");
  if (model.keyValueHeads > 0 && std::fmod(model.heads, model.keyValueHeads) != 0)
    refuse("key_value_heads", "heads", "");
}

static PlannerComponent readComponent(const std::string &name, const YAML::Node &key, const YAML::Node &node) {
  static const std::vector<std::string> known = {
      "modules",         "layers",     "hidden",   "heads",    "key_value_heads", "head_size", "feed_forward", "gated",
      "fused_attention", "vocabulary", "sequence", "segments", "frozen",          "curves",    "samples",      "merge"};
  PlannerComponent component;
  component.name = name;
  Transformer &model = component.model;
  bool hasSegments = false;
  std::map<std::string, YAML::Node> entries;
  model.layers = 0;
  model.heads = 0;
  std::string what = "component '" + name + "'";
  yaml::readKeys(node, what, known, [&](const std::string &entry, const YAML::Node &value) {
    std::string of = entry + " of " + what;
    entries.emplace(entry, value);
    auto size = [&] { return static_cast<double>(yaml::integerOf(value, of, 1, 1000000000000)); };
    if (entry == "modules") {
      if (!value.IsSequence() || value.size() == 0)
        yaml::fail(value, of + " must be a list of module patterns, and is " +
                              (value.IsSequence() ? "empty" : yaml::kindOf(value)));
      for (const YAML::Node &pattern : value) {
        std::string text = yaml::textOf(pattern, "a module pattern of " + what);
        if (std::find(component.modules.begin(), component.modules.end(), text) != component.modules.end())
          yaml::fail(pattern, "the module pattern '" + text + "' comes twice in " + what + "; leave one out");
        component.modules.push_back(text);
      }
    } else if (entry == "curves") {
      if (!value.IsSequence())
        yaml::fail(value, of + " must be a list, and is " + yaml::kindOf(value));
      for (const YAML::Node &curve : value)
        readCurve(curve, component);
    } else if (entry == "samples") {
      std::string columns = yaml::textOf(value, of);
      size_t slash = columns.find('/');
      component.tokensColumn = columns.substr(0, slash);
      component.segmentsColumn = slash == std::string::npos ? "" : columns.substr(slash + 1);
      if (component.tokensColumn.empty())
        yaml::fail(value, of + " names no column; write COLUMN or COLUMN/SEGMENTS, as in vision_tokens/image_count");
    } else if (entry == "layers") {
      model.layers = static_cast<int>(yaml::integerOf(value, of, 1, 1 << 16));
    } else if (entry == "gated") {
      model.gated = yaml::boolOf(value, of);
    } else if (entry == "fused_attention") {
      model.fusedAttention = yaml::boolOf(value, of);
    } else if (entry == "frozen") {
      component.frozen = yaml::boolOf(value, of);
    } else if (entry == "merge") {
      component.merge = yaml::numberOf(value, of, 1, 1e6);
    } else if (entry == "segments") {
      component.segments = yaml::numberOf(value, of, 1e-6, 1e9);
      hasSegments = true;
    } else {
      (entry == "hidden"            ? model.hidden
       : entry == "heads"           ? model.heads
       : entry == "key_value_heads" ? model.keyValueHeads
       : entry == "head_size"       ? model.headSize
       : entry == "feed_forward"    ? model.feedForward
       : entry == "vocabulary"      ? model.vocabulary
                                    : model.sequence) = size();
    }
  });
  for (auto [needed, given] : {std::pair{"layers", double(model.layers)},
                               {"hidden", model.hidden},
                               {"heads", model.heads},
                               {"sequence", component.tokensColumn.empty() ? model.sequence : 1}})
    if (!(given > 0))
      yaml::fail(key, what + " lacks '" + needed + "'; give its size");
  checkHeads(model, entries, what);
  if (!component.tokensColumn.empty() && (model.sequence > 0 || hasSegments))
    yaml::fail(key,
               what + " has " + (hasSegments ? "segments" : "a sequence") + " and columns of samples; leave one out");
  return component;
}

static void readModel(const YAML::Node &node, PlannerProblem &problem) {
  yaml::forEachEntry(node, "model", [&](const std::string &name, const YAML::Node &key, const YAML::Node &value) {
    if (problem.components.size() == 2)
      yaml::fail(key, "a third component '" + name + "'; the planner takes one encoder and one language model");
    problem.components.push_back(readComponent(name, key, value));
  });
}

/// Hardware by name, and figures of the user's own instead of its.
static void readCluster(const YAML::Node &node, PlannerProblem &problem) {
  std::vector<std::string> known = hardwareKeys();
  known.insert(known.end(), {"hardware", "devices", "reserve"});
  std::vector<std::pair<std::string, YAML::Node>> figures;
  yaml::readKeys(node, "cluster", known, [&](const std::string &key, const YAML::Node &value) {
    if (key == "hardware") {
      Result<Hardware> hardware = findHardware(yaml::textOf(value, "hardware"));
      if (!hardware)
        yaml::fail(value, hardware.error());
      problem.hardware = *hardware;
    } else if (key == "devices") {
      problem.devices = static_cast<int>(yaml::integerOf(value, "devices", 1, 1 << 20));
    } else if (key == "reserve") {
      problem.reserve = yaml::numberOf(value, "reserve", 0, 1e15);
    } else {
      figures.emplace_back(key, value);
    }
  });
  if (problem.hardware.name.empty())
    yaml::fail(node, "cluster lacks 'hardware'; name it, as in hardware: h100");
  for (const auto &[key, value] : figures)
    readFigure(key, value, "cluster", problem.hardware);
}

/// A list of names, each one of `choices`; `what` is one of them.
static std::vector<std::string> namesOf(const YAML::Node &node, const std::string &what,
                                        const std::vector<std::string> &choices) {
  if (!node.IsSequence() || node.size() == 0)
    yaml::fail(node, what + "s must be a list of names, as in [" + choices.front() + "], and is " + yaml::kindOf(node));
  std::vector<std::string> names;
  for (const YAML::Node &name : node) {
    names.push_back(yaml::choiceOf(name, what, choices));
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1)
      yaml::fail(name, "'" + names.back() + "' comes twice; leave one out");
  }
  return names;
}

static void readLimits(const YAML::Node &node, PlannerProblem &problem) {
  yaml::readKeys(node, "limits", {"tp", "cp", "pp", "zero", "async", "use_at_least", "schedules", "placements"},
                 [&](const std::string &key, const YAML::Node &value) {
                   if (key == "schedules")
                     problem.schedules = namesOf(value, "schedule", planKinds());
                   else if (key == "placements")
                     problem.placements = namesOf(value, "placement", placementNames());
                   else if (key == "async")
                     problem.async = yaml::boolOf(value, key);
                   else if (key == "use_at_least")
                     problem.useAtLeast = yaml::numberOf(value, key, 0, 1);
                   else if (key == "zero")
                     problem.zero = static_cast<int>(yaml::integerOf(value, key, 0, 3));
                   else
                     (key == "tp"   ? problem.maxTp
                      : key == "cp" ? problem.maxCp
                                    : problem.maxPp) =
                         static_cast<int>(yaml::integerOf(value, "the limit of " + key, 1, 1 << 20));
                 });
}

Result<PlannerProblem> parsePlannerProblem(const std::string &text, const std::string &fileName) {
  PlannerProblem problem;
  bool hasModel = false, hasCluster = false, hasBatch = false;
  Status status = yaml::read(text, fileName, "planner's input", [&](const YAML::Node &root) {
    yaml::readKeys(root, "the planner's input", {"model", "batch", "cluster", "limits"},
                   [&](const std::string &entry, const YAML::Node &value) {
                     if (entry == "model") {
                       hasModel = true;
                       readModel(value, problem);
                     } else if (entry == "batch") {
                       hasBatch = true;
                       problem.batch = static_cast<int>(yaml::integerOf(value, "batch", 1, 1 << 30));
                     } else if (entry == "cluster") {
                       hasCluster = true;
                       readCluster(value, problem);
                     } else {
                       readLimits(value, problem);
                     }
                   });
  });
  if (!status)
    return Error{status.error()};
  // The last component takes what the others leave; with "*" for the first, nothing would be left.
  for (size_t i = 0; i < problem.components.size(); ++i) {
    PlannerComponent &component = problem.components[i];
    if (!component.modules.empty())
      continue;
    if (i + 1 < problem.components.size())
      return Error{fileName + ": component '" + component.name + "' lacks 'modules'; name its module paths"};
    component.modules.push_back("*");
  }
  if (!hasModel || !hasCluster || !hasBatch)
    return Error{fileName + " lacks '" + (!hasModel ? "model" : !hasCluster ? "cluster" : "batch") + "'; add it"};
  PlannerProblem sized = problem; // as useSamples() will, to see whether all else is right
  for (PlannerComponent &component : sized.components)
    if (!component.tokensColumn.empty())
      component.model.sequence = 1;
  if (Status check = sized.check(); !check)
    return Error{fileName + ": " + check.error()};
  return problem;
}

/// A name or pattern as YAML reads it back, whatever is in it: JSON's strings are YAML's too.
static std::string quoted(const std::string &name) { return jsonText(name); }

/// A component's name: bare, where YAML takes it so.
static std::string keyOf(const std::string &name) {
  bool bare = !name.empty() && std::all_of(name.begin(), name.end(),
                                           [](unsigned char letter) { return std::isalnum(letter) || letter == '_'; });
  return bare ? name : quoted(name);
}

static std::string meshText(const Parallelism &parallel, int firstRank) {
  std::ostringstream text;
  text << "{ranks: [" << firstRank << "-" << firstRank + parallel.ranks() - 1 << "], axes: {pp: " << parallel.pp
       << ", dp: " << parallel.dp << ", cp: " << parallel.cp << ", tp: " << parallel.tp << "}}";
  return text.str();
}

std::string planYaml(const PlannerProblem &problem, const Evaluation &evaluation) {
  const Candidate &candidate = evaluation.candidate;
  std::ostringstream text;
  text.precision(4);
  text << "# braid-sim plan: " << candidate.str() << "\n# " << evaluation.time() << " s a step, "
       << problem.batch / evaluation.time() << " samples a second, " << evaluation.peakBytes / 1e9
       << " GB on the fullest device (" << evaluation.fullest << "), predicted\n";
  auto component = [&](const PlannerComponent &one, const Parallelism &parallel, int firstRank) {
    text << "  " << keyOf(one.name) << ":\n    modules: [";
    for (size_t i = 0; i < one.modules.size(); ++i)
      text << (i ? ", " : "") << quoted(one.modules[i]);
    text << "]\n    mesh: " << meshText(parallel, firstRank) << "\n";
    if (parallel.sequenceParallel)
      text << "    layout: {sequence_parallel: true}\n";
    if (one.frozen)
      text << "    frozen: true\n";
  };
  text << "components:\n";
  int first = 0;
  if (candidate.placement == Placement::Colocated || candidate.placement == Placement::Disjoint) {
    component(problem.components.front(), candidate.encoder.parallel, 0);
    if (candidate.placement == Placement::Disjoint)
      first = candidate.encoder.parallel.ranks();
  }
  PlannerComponent language = problem.components.back();
  if (candidate.placement == Placement::Together) // one component for both
    language.modules = {"*"};
  component(language, candidate.language.parallel, first);
  text << "schedule: {kind: " << candidate.kind << ", microbatches: " << evaluation.microbatches;
  if (candidate.chunks > 1)
    text << ", chunks: " << candidate.chunks;
  if (candidate.kind == "amdp")
    text << ", directions: " << candidate.language.parallel.pp / 2 << ", async: true";
  text << "}\n";
  text << "precision: {compute: bf16, master: fp32}\nrecompute: {";
  if (candidate.placement == Placement::Colocated || candidate.placement == Placement::Disjoint)
    text << keyOf(problem.components.front().name) << ": " << spelling(candidate.encoder.recompute) << ", ";
  text << keyOf(language.name) << ": " << spelling(candidate.language.recompute) << "}\n";
  text << "optimizer: {kind: adamw, zero: " << problem.zero << "}\n";
  return text.str();
}

} // namespace braid::plan
