//===- PlanFile.cpp - plan.yaml -------------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/PlanFile.h"
#include "../Support/YamlReader.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Support/Files.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace braid::plan {

const PlanComponent *PlanFile::componentOf(std::string_view modulePath) const {
  for (const PlanComponent &component : components)
    for (const PlanPattern &pattern : component.modules)
      if (matchesModule(pattern.text, modulePath))
        return &component;
  return nullptr;
}

using namespace yaml;

namespace {
CollateRule readCollate(const YAML::Node &node) {
  Result<CollateRule> rule = CollateRule::parse(textOf(node, "collate rule"));
  if (!rule)
    fail(node, rule.error());
  return *rule;
}

PlanInput readInput(const std::string &name, const YAML::Node &key, const YAML::Node &node) {
  PlanInput input;
  input.name = name;
  input.location = locate(key.Mark());
  std::string what = "input '" + name + "'";
  readKeys(node, what, {"dims", "collate"}, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "collate") {
      input.collate = readCollate(value);
      return;
    }
    if (!value.IsSequence())
      fail(value, "dims of " + what + " must be a list such as [batch, seq], and is " + kindOf(value));
    for (const YAML::Node &dim : value) {
      Result<Expr> expr = Expr::parse(textOf(dim, "a dim of " + what));
      if (!expr)
        fail(dim, expr.error());
      input.dims.push_back(*expr);
    }
  });
  return input;
}

PlanMesh readMesh(const std::string &component, const YAML::Node &node) {
  static const std::vector<std::string> axisNames = {"dp", "tp", "cp", "pp", "ep"};
  std::string what = "the mesh of component '" + component + "'";
  PlanMesh mesh;
  mesh.location = locate(node.Mark());
  YAML::Node axesNode;
  readKeys(node, what, {"ranks", "axes"}, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "ranks") {
      mesh.ranks = ranksOf(value, what);
      return;
    }
    axesNode.reset(value);
    forEachEntry(value, "the axes of component '" + component + "'",
                 [&](const std::string &axis, const YAML::Node &key, const YAML::Node &size) {
                   if (std::find(axisNames.begin(), axisNames.end(), axis) == axisNames.end())
                     fail(key, "unknown axis '" + axis + "' in " + what + suggest(axis, axisNames));
                   mesh.axes.emplace_back(axis,
                                          static_cast<int>(integerOf(size, "the size of axis " + axis, 1, maxRanks)));
                 });
  });
  if (mesh.ranks.empty())
    fail(node, what + " has no ranks; give it at least one, as in ranks: [0-3]");
  if (mesh.axes.empty())
    mesh.axes.emplace_back("dp", static_cast<int>(mesh.ranks.size()));
  if (Status status = checkMesh(mesh, what); !status)
    fail(axesNode.IsDefined() && !axesNode.IsNull() ? axesNode : node, status.error());
  return mesh;
}

std::vector<PlanPattern> readPatterns(const YAML::Node &node, const std::string &what) {
  std::vector<PlanPattern> patterns;
  auto add = [&](const YAML::Node &item) { patterns.push_back({textOf(item, what), locate(item.Mark())}); };
  if (node.IsSequence())
    for (const YAML::Node &item : node)
      add(item);
  else
    add(node);
  return patterns;
}

PlanComponent readComponent(const std::string &name, const YAML::Node &key, const YAML::Node &node) {
  PlanComponent component;
  component.name = name;
  component.location = locate(key.Mark());
  std::string what = "component '" + name + "'";
  readKeys(node, what, {"modules", "mesh", "layout", "frozen"}, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "mesh") {
      component.mesh = readMesh(name, value);
    } else if (entry == "frozen") {
      component.frozen = boolOf(value, "frozen of " + what);
    } else if (entry == "layout") {
      readKeys(value, "the layout of " + what, {"sequence_parallel"}, [&](const std::string &, const YAML::Node &flag) {
        component.sequenceParallel = boolOf(flag, "sequence_parallel of " + what);
      });
    } else {
      component.modules = readPatterns(value, "a module pattern of " + what);
    }
  });
  if (component.modules.empty())
    fail(key, what + " names no modules; add modules: [\"*\"] or the paths that it holds");
  return component;
}

PlanSchedule readSchedule(const YAML::Node &node) {
  std::vector<std::string> kinds;
  std::set<std::string> late;
  for (const ScheduleKind &kind : scheduleKinds()) {
    kinds.push_back(kind.name);
    if (kind.readsUpdates)
      late.insert(kind.name);
  }
  PlanSchedule schedule;
  YAML::Node kindNode = node;
  readKeys(
      node, "schedule", {"kind", "microbatches", "directions", "chunks", "async", "recompute", "table"},
      [&](const std::string &entry, const YAML::Node &value) {
        if (entry == "kind") {
          schedule.kind = choiceOf(value, "schedule kind", kinds);
          kindNode.reset(value);
        } else if (entry == "microbatches") {
          schedule.microbatches = static_cast<int>(integerOf(value, "microbatches", 1, maxMicrobatches));
        } else if (entry == "directions") {
          schedule.directions = static_cast<int>(integerOf(value, "directions", 1, 1 << 10));
        } else if (entry == "chunks") {
          schedule.chunks = static_cast<int>(integerOf(value, "chunks", 1, 1 << 10));
        } else if (entry == "async") {
          schedule.async = boolOf(value, "async");
        } else if (entry == "recompute") {
          schedule.recomputeEarly = choiceOf(value, "place of recomputation", {"with_backward", "early"}) == "early";
        } else {
          schedule.table = textOf(value, "table");
        }
      });
  if (late.count(schedule.kind) && !schedule.async)
    fail(kindNode, "schedule kind '" + schedule.kind +
                       "' updates with gradients up to one step old; add async: true to accept that, or choose 1f1b");
  return schedule;
}

PlanLearningRate readLearningRate(const YAML::Node &node) {
  PlanLearningRate schedule;
  YAML::Node fall = node; // what sets how a rate falls
  readKeys(node, "optimizer.schedule", {"kind", "warmup", "steps", "minimum"},
           [&](const std::string &entry, const YAML::Node &value) {
             if (entry == "kind")
               schedule.kind = choiceOf(value, "learning rate schedule", {"constant", "linear", "cosine"});
             else if (entry == "warmup")
               schedule.warmup = integerOf(value, "warmup", 0, int64_t(1) << 40);
             else if (fall.reset(value); entry == "steps")
               schedule.steps = integerOf(value, "steps", 1, int64_t(1) << 40);
             else
               schedule.minimum = numberOf(value, "minimum", 0, 1);
           });
  if (schedule.kind == "constant" && (schedule.steps || schedule.minimum > 0))
    fail(fall,
         "a constant learning rate falls to nothing over no steps; choose kind: linear or cosine, or leave it out");
  if (schedule.steps && schedule.warmup > schedule.steps)
    fail(fall, "the learning rate warms up for " + std::to_string(schedule.warmup) + " of " +
                   std::to_string(schedule.steps) + " steps; make the warm-up shorter");
  return schedule;
}

double betaOf(const YAML::Node &node, const std::string &what) {
  double beta = numberOf(node, what, 0, 1);
  if (beta == 1)
    fail(node, what + " is 1 and must be below 1, where the average would never move");
  return beta;
}

PlanGroup readGroup(const YAML::Node &node) {
  PlanGroup group;
  readKeys(node, "a group of optimizer.groups", {"parameters", "lr", "weight_decay"},
           [&](const std::string &entry, const YAML::Node &value) {
             if (entry == "parameters")
               group.parameters = readPatterns(value, "a pattern of optimizer.groups");
             else
               (entry == "lr" ? group.lr : group.weightDecay) = numberOf(value, entry, 0, HUGE_VAL);
           });
  if (group.parameters.empty())
    fail(node, "a group of optimizer.groups names no parameters; add parameters: [\"**.bias\"] or the like");
  if (!group.lr && !group.weightDecay)
    fail(node, "a group of optimizer.groups sets nothing; give it lr, weight_decay or both");
  return group;
}

PlanOptimizer readOptimizer(const YAML::Node &node) {
  static const std::vector<std::string> known = {"kind",   "lr",   "momentum",   "nesterov",
                                                 "betas",  "eps",  "clip",       "schedule",
                                                 "groups", "zero", "accumulate", "weight_decay"};
  PlanOptimizer optimizer;
  std::map<std::string, YAML::Node> given;
  readKeys(node, "optimizer", known, [&](const std::string &entry, const YAML::Node &value) {
    given.emplace(entry, value);
    if (entry == "kind") {
      optimizer.kind = choiceOf(value, "optimizer", {"sgd", "adamw"});
    } else if (entry == "lr") {
      optimizer.lr = numberOf(value, "lr", 0, HUGE_VAL);
    } else if (entry == "momentum") {
      optimizer.momentum = numberOf(value, "momentum", 0, 1);
    } else if (entry == "nesterov") {
      optimizer.nesterov = boolOf(value, "nesterov");
    } else if (entry == "accumulate") {
      optimizer.accumulate = integerOf(value, "accumulate", 1, 1 << 20);
    } else if (entry == "groups") {
      if (!value.IsSequence())
        fail(value, "optimizer.groups must be a list of groups, and is " + kindOf(value));
      for (const YAML::Node &group : value)
        optimizer.groups.push_back(readGroup(group));
    } else if (entry == "betas") {
      if (!value.IsSequence() || value.size() != 2)
        fail(value, "betas must be a list of two numbers, as in [0.9, 0.999]");
      optimizer.betas.emplace(betaOf(value[0], "the first of betas"), betaOf(value[1], "the second of betas"));
    } else if (entry == "eps") {
      optimizer.eps = numberOf(value, "eps", 0, HUGE_VAL);
    } else if (entry == "weight_decay") {
      optimizer.weightDecay = numberOf(value, "weight_decay", 0, HUGE_VAL);
    } else if (entry == "clip") {
      optimizer.clip = numberOf(value, "clip", 0, HUGE_VAL);
    } else if (entry == "schedule") {
      optimizer.schedule = readLearningRate(value);
    } else {
      optimizer.zero = static_cast<int>(integerOf(value, "zero", 0, 3));
    }
  });
  const std::pair<const char *, const char *> owners[] = {
      {"momentum", "sgd"}, {"nesterov", "sgd"}, {"betas", "adamw"}, {"eps", "adamw"}};
  for (auto [key, kind] : owners)
    if (auto found = given.find(key); found != given.end() && optimizer.kind != kind)
      fail(found->second, std::string(key) + " belongs to " + kind + ", and the optimizer is " + optimizer.kind +
                              "; write kind: " + kind + ", or leave it out");
  if (optimizer.nesterov && optimizer.momentum.value_or(0) == 0)
    fail(given["nesterov"], "nesterov needs a momentum above 0; add momentum: 0.9, or leave it out");
  return optimizer;
}

PlanFile readRoot(const YAML::Node &root) {
  static const std::vector<std::string> known = {"inputs",    "components", "schedule",  "balance",
                                                 "precision", "recompute",  "optimizer", "seed"};
  PlanFile plan;
  readKeys(root, "the plan", known, [&](const std::string &entry, const YAML::Node &value) {
    if (entry == "inputs") {
      forEachEntry(value, "inputs", [&](const std::string &name, const YAML::Node &key, const YAML::Node &node) {
        plan.inputs.push_back(readInput(name, key, node));
      });
    } else if (entry == "components") {
      forEachEntry(value, "components", [&](const std::string &name, const YAML::Node &key, const YAML::Node &node) {
        plan.components.push_back(readComponent(name, key, node));
      });
    } else if (entry == "schedule") {
      plan.schedule = readSchedule(value);
    } else if (entry == "balance") {
      readKeys(value, "balance", {"kind"}, [&](const std::string &, const YAML::Node &kind) {
        plan.balance = choiceOf(kind, "balance kind", {"none", "entrain"});
      });
    } else if (entry == "precision") {
      readKeys(value, "precision", {"compute", "master"}, [&](const std::string &which, const YAML::Node &type) {
        if (which == "compute")
          plan.computePrecision = choiceOf(type, "compute precision", {"fp64", "fp32", "bf16", "fp16"});
        else
          plan.masterPrecision = choiceOf(type, "master precision", {"fp64", "fp32"});
      });
    } else if (entry == "recompute") {
      auto add = [&](const std::string &pattern, FileLocation at, const YAML::Node &policy) {
        plan.recompute.push_back({{pattern, at}, choiceOf(policy, "recompute policy", {"none", "selective", "full"})});
      };
      if (value.IsScalar())
        add("*", locate(value.Mark()), value);
      else
        forEachEntry(value, "recompute", [&](const std::string &name, const YAML::Node &key, const YAML::Node &policy) {
          add(name, locate(key.Mark()), policy);
        });
    } else if (entry == "seed") {
      plan.seed = integerOf(value, "seed", 0, std::numeric_limits<int64_t>::max());
    } else {
      plan.optimizer = readOptimizer(value);
    }
  });
  return plan;
}
} // namespace

Result<PlanFile> parsePlan(const std::string &text, const std::string &fileName) {
  PlanFile plan;
  Status status = yaml::read(text, fileName, "plan", [&](const YAML::Node &root) { plan = readRoot(root); });
  if (!status)
    return Error{status.error()};
  plan.name = fileName;
  return plan;
}

Result<PlanFile> readPlan(const std::string &path) {
  if (Status status = checkRegularFile(path); !status)
    return Error{"the plan: " + status.error()};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{"the plan " + path + " cannot be opened; check the path"};
  std::ostringstream text;
  text << file.rdbuf();
  return parsePlan(text.str(), path);
}

} // namespace braid::plan
