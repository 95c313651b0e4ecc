//===- Program.cpp - The plan of a compiled program -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Program.h"
#include "braid/Plan/Expr/Linear.h"
#include "runtime/core/Json.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace braid;
using namespace braid::runtime;

static constexpr int planFormat = 1;

std::vector<plan::CollatedInput> Program::collatedInputs() const {
  std::vector<plan::CollatedInput> result;
  for (const Input &input : inputs)
    result.push_back({input.name, input.dims, input.collate});
  return result;
}

std::vector<int> Program::edgesBetween(int from, int to, bool gradientOnly) const {
  std::vector<int> result;
  for (size_t i = 0; i < edges.size(); ++i)
    if (edges[i].from == from && edges[i].to == to && (!gradientOnly || values[edges[i].value].gradient))
      result.push_back(static_cast<int>(i));
  return result;
}

bool Program::uses(int rank, int parameter) const {
  for (const ModelStage &stage : stages)
    if (stage.rank == rank &&
        std::find(stage.parameters.begin(), stage.parameters.end(), parameter) != stage.parameters.end())
      return true;
  return false;
}

namespace {
class PlanReader {
public:
  PlanReader(const braid_program &source, Program &program) : program(program) {
    for (int32_t i = 0; i < source.num_functions; ++i)
      functions[source.functions[i].name] = source.functions[i].function;
  }

  void read(const JsonNode &plan) {
    if (int64_t format = plan["format"].integer(); format != planFormat)
      plan["format"].fail(text("is ", format, " and this runtime reads ", planFormat));
    program.model = plan["model"].string();
    program.worldSize = static_cast<int>(plan["world_size"].integer(1, 1 << 20));
    program.microbatches = static_cast<int>(plan["microbatches"].integer(1, 1 << 20));
    if (std::string device = plan["device"].string(); device != "cpu")
      plan["device"].fail(text("is ", device, " and this runtime has only cpu; compile with --device cpu"));
    program.symbols = plan["symbols"].map([](const JsonNode &node) { return node["name"].string(); });
    if (plan.has("optimizer")) {
      program.optimizer = readOptimizer(plan["optimizer"]);
      readLearningRate(plan["optimizer"]);
      if (plan["optimizer"].has("clip"))
        program.clipNorm = plan["optimizer"]["clip"].real();
      if (!(program.clipNorm >= 0) || !std::isfinite(program.clipNorm))
        plan["optimizer"]["clip"].fail(text("is ", program.clipNorm, "; give a finite norm above 0"));
    }

    if (plan.has("seed"))
      program.seed = plan["seed"].integer(0, std::numeric_limits<int64_t>::max());
    if (plan.has("whole_batch"))
      program.wholeBatch = plan["whole_batch"].string();
    for (const JsonNode &node : plan["inputs"].list())
      program.inputs.push_back(readInput(node));
    checkDivision(plan["inputs"]);
    for (const JsonNode &node : plan["guards"].list())
      program.guards.push_back(
          {expr(node["left"]), relation(node["relation"]), expr(node["right"]), node["why"].string()});
    checkSymbolsAreBound(plan["symbols"]);

    program.weights = {plan["weights"]["file"].string(), uint64_t(plan["weights"]["bytes"].integer()),
                       plan["weights"]["digest"].string()};
    numStages = plan["stages"].list().size();
    if (numStages == 0)
      plan["stages"].fail("is empty");
    for (const JsonNode &node : plan["parameters"].list())
      program.parameters.push_back(readParameter(node));
    for (const JsonNode &node : plan["values"].list())
      program.values.push_back({node["stage"].index(numStages, "stages"), node["name"].string(), dtype(node["dtype"]),
                                exprs(node["dims"]), node["gradient"].boolean()});
    for (const JsonNode &node : plan["edges"].list())
      program.edges.push_back(readEdge(node));
    if (plan.has("counts"))
      readCounts(plan["counts"]);
    for (const JsonNode &node : plan["stages"].list())
      program.stages.push_back(readStage(node, static_cast<int>(program.stages.size())));
    checkEdgesAreRead(plan["edges"]);
    checkGradients(plan["parameters"]);
    readSchedule(plan["schedule"]);
  }

private:
  DType dtype(const JsonNode &node) {
    std::string name = node.string();
    std::optional<DType> dtype = parseDType(name);
    if (!dtype)
      node.fail(text("is '", name, "', which is no element type"));
    return *dtype;
  }

  plan::Expr expr(const JsonNode &node) {
    plan::Result<plan::Expr> expr = plan::Expr::parse(node.string());
    if (!expr)
      node.fail(text("is no size: ", expr.error()));
    std::set<std::string> names;
    expr->collectSymbols(names);
    for (const std::string &name : names)
      if (std::find(program.symbols.begin(), program.symbols.end(), name) == program.symbols.end())
        node.fail(text("uses '", name, "', which is not among the symbols (", joined(program.symbols), ")"));
    return *expr;
  }
  plan::Relation relation(const JsonNode &node) {
    plan::Result<plan::Relation> relation = plan::parseRelation(node.string());
    if (!relation)
      node.fail(text("is no relation: ", relation.error()));
    return *relation;
  }
  std::vector<plan::Expr> exprs(const JsonNode &node) {
    return node.map([&](const JsonNode &dim) { return expr(dim); });
  }
  std::vector<int> indices(const JsonNode &node, size_t count, const char *what) {
    return node.map([&](const JsonNode &element) { return element.index(count, what); });
  }

  braid_function function(const JsonNode &node) {
    auto found = functions.find(node.string());
    if (found == functions.end() || !found->second)
      node.fail(text("is '", node.string(), "', which is not among the ", functions.size(), " compiled functions"));
    return found->second;
  }
  braid_function optionalFunction(const JsonNode &node, const char *key) {
    return node.has(key) ? function(node[key]) : nullptr;
  }

  OptimizerSettings readOptimizer(const JsonNode &node) {
    plan::Result<OptimizerSettings> settings = OptimizerSettings::named(node["kind"].string());
    if (!settings)
      node["kind"].fail(text("cannot be used: ", settings.error()));
    if (node.has("lr"))
      settings->lr = node["lr"].real();
    if (node.has("weight_decay"))
      settings->weightDecay = node["weight_decay"].real();
    if (node.has("betas")) {
      std::vector<double> betas = node["betas"].map([](const JsonNode &beta) { return beta.real(); });
      if (betas.size() != 2)
        node["betas"].fail(text("has ", betas.size(), " numbers, not 2"));
      settings->beta1 = betas[0];
      settings->beta2 = betas[1];
    }
    if (node.has("eps"))
      settings->eps = node["eps"].real();
    if (node.has("momentum"))
      settings->momentum = node["momentum"].real();
    if (node.has("nesterov"))
      settings->nesterov = node["nesterov"].boolean();
    return *settings;
  }

  /// What an optimizer has beside its settings: schedule, groups, batches of a step.
  void readLearningRate(const JsonNode &node) {
    if (node.has("accumulate"))
      program.accumulate = node["accumulate"].integer(1, int64_t(1) << 20);
    if (node.has("schedule")) {
      JsonNode schedule = node["schedule"];
      LearningRateSchedule &rate = program.learningRate;
      if (schedule.has("kind"))
        rate.kind = schedule["kind"].string();
      if (schedule.has("warmup"))
        rate.warmup = schedule["warmup"].integer();
      if (schedule.has("steps"))
        rate.steps = schedule["steps"].integer();
      if (schedule.has("minimum"))
        rate.minimum = schedule["minimum"].real();
      if (plan::Status status = rate.check(); !status)
        schedule.fail(text("cannot be used: ", status.error()));
    }
    if (!node.has("groups"))
      return;
    for (const JsonNode &entry : node["groups"].list()) {
      ParameterGroup group;
      group.patterns = entry["parameters"].map([](const JsonNode &pattern) { return pattern.string(); });
      if (entry.has("lr"))
        group.lr = entry["lr"].real();
      if (entry.has("weight_decay"))
        group.weightDecay = entry["weight_decay"].real();
      if (!(group.lr.value_or(0) >= 0) || !(group.weightDecay.value_or(0) >= 0))
        entry.fail("has a negative rate");
      program.groups.push_back(std::move(group));
    }
  }

  Input readInput(const JsonNode &node) {
    std::string text = node["collate"].string();
    plan::Result<plan::CollateRule> collate = plan::CollateRule::parse(text);
    if (!collate)
      node["collate"].fail(runtime::text("is '", text, "': ", collate.error()));
    return {node["name"].string(), dtype(node["dtype"]), exprs(node["dims"]), *collate};
  }

  void checkDivision(const JsonNode &node) {
    for (const Input &input : program.inputs) {
      bool counts = !input.collate.input.empty();
      if (counts && input.dtype != BRAID_I64 && input.dtype != BRAID_I32)
        node.fail(text("holds ", input.name, ", whose collate rule is ", input.collate.str(), ", with elements ",
                       info(input.dtype).name, ", not i64 or i32"));
    }
    plan::BatchDivision division;
    if (std::optional<plan::DivisionError> error = plan::divide(program.collatedInputs(), division))
      node.fail(text("cannot be divided: ", error->message));
  }

  /// The batch gives a symbol its value by a dim such as seq, 4*groups or segments + 1.
  void checkSymbolsAreBound(const JsonNode &node) {
    for (const std::string &symbol : program.symbols) {
      bool bound = false;
      for (const Input &input : program.inputs)
        for (const plan::Expr &dim : input.dims)
          if (std::optional<plan::Linear> linear = plan::asLinear(dim))
            bound |= linear->symbol == symbol;
      if (!bound)
        node.fail(text("holds '", symbol, "', which is no dim of any input, so no batch can give it a value"));
    }
  }

  ModelParameter readParameter(const JsonNode &node) {
    ModelParameter parameter;
    parameter.name = node["name"].string();
    if (node.has("aliases"))
      parameter.aliases = node["aliases"].map([](const JsonNode &name) { return name.string(); });
    parameter.dtype = dtype(node["dtype"]);
    parameter.shape = node["shape"].map([](const JsonNode &size) { return size.integer(); });
    parameter.strides = node["strides"].map([](const JsonNode &stride) { return stride.integer(); });
    if (parameter.shape.size() != parameter.strides.size())
      node.fail(text("has ", parameter.shape.size(), " sizes and ", parameter.strides.size(), " strides"));
    parameter.offset = node["offset"].integer();
    std::string kind = node["kind"].string();
    if (kind == "buffer")
      parameter.kind = ModelParameter::Kind::Buffer;
    else if (kind == "constant")
      parameter.kind = ModelParameter::Kind::Constant;
    else if (kind != "parameter")
      node["kind"].fail(text("is '", kind, "'; there are parameter, buffer and constant"));
    parameter.trainable = node["trainable"].boolean();
    parameter.home = node["home"].index(numStages, "stages");
    return parameter;
  }

  ModelEdge readEdge(const JsonNode &node) {
    ModelEdge edge{node["value"].index(program.values.size(), "values"), node["from"].index(numStages, "stages"),
                   node["to"].index(numStages, "stages")};
    if (program.values[edge.value].stage != edge.from)
      node.fail(text("takes value ", edge.value, " from stage ", edge.from, " and stage ",
                     program.values[edge.value].stage, " produces it"));
    if (edge.from >= edge.to)
      node.fail(text("goes from stage ", edge.from, " to stage ", edge.to, "; edges go to later stages"));
    return edge;
  }

  void readCounts(const JsonNode &node) {
    program.counts.names = node["names"].map([](const JsonNode &name) { return name.string(); });
    if (program.counts.names.empty())
      return;
    program.counts.nonzero = node["nonzero"].map([](const JsonNode &needed) { return needed.boolean(); });
    if (program.counts.nonzero.size() != program.counts.names.size())
      node["nonzero"].fail("has not one entry for each name");
    program.counts.function = function(node["function"]);
    program.counts.inputs = indices(node["inputs"], program.inputs.size(), "inputs");
  }

  ModelStage readStage(const JsonNode &node, int number) {
    ModelStage stage;
    stage.name = node["name"].string();
    stage.rank = node["rank"].index(program.worldSize, "ranks");
    stage.parameters = indices(node["parameters"], program.parameters.size(), "parameters");
    stage.inputs = indices(node["inputs"], program.inputs.size(), "inputs");
    stage.edgesIn = indices(node["edges_in"], program.edges.size(), "edges");
    stage.valuesOut = indices(node["values_out"], program.values.size(), "values");
    stage.counts = indices(node["counts"], program.counts.names.size(), "counts");
    stage.gradients = indices(node["gradients"], program.parameters.size(), "parameters");
    stage.loss = node["loss"].boolean();
    if (node.has("states"))
      stage.states = indices(node["states"], program.parameters.size(), "parameters");
    for (int state : stage.states)
      if (program.parameters[state].trainable || program.parameters[state].home != number)
        node["states"].fail(text("holds ", program.parameters[state].name, ", which is trained, or another stage's"));
    stage.residuals = static_cast<int>(node["residuals"].integer(0, 1 << 24));
    stage.carries = static_cast<int>(node["carries"].integer(0, 1 << 24));
    stage.forward = function(node["forward"]);
    stage.backwardInput = optionalFunction(node, "backward_input");
    stage.backwardWeight = optionalFunction(node, "backward_weight");
    stage.backward = optionalFunction(node, "backward");
    if (node.has("recompute"))
      for (const JsonNode &policy : node["recompute"].list())
        stage.recomputes |= policy.string() != "none";
    stage.replay = optionalFunction(node, "replay");
    if (stage.replay)
      stage.replayed = static_cast<int>(node["replayed"].integer(0, 1 << 24));
    if (stage.replay && !stage.recomputes)
      node["replay"].fail("is there, and no unit recomputes anything");
    for (int edge : stage.edgesIn) {
      if (program.edges[edge].to != number)
        node["edges_in"].fail(text("holds edge ", edge, ", which goes to stage ", program.edges[edge].to));
      if (program.values[program.edges[edge].value].gradient)
        stage.gradientEdges.push_back(edge);
    }
    for (int value : stage.valuesOut) {
      if (program.values[value].stage != number)
        node["values_out"].fail(text("holds value ", value, " of stage ", program.values[value].stage));
      if (program.values[value].gradient)
        stage.gradientValues.push_back(value);
    }
    bool backward = stage.backward || (stage.backwardInput && stage.backwardWeight);
    if (!backward && (!stage.gradients.empty() || !stage.gradientEdges.empty()))
      node.fail(text("produces ", stage.gradients.size(), " gradients of parameters and ", stage.gradientEdges.size(),
                     " of edges and has no backward function"));
    return stage;
  }

  void checkEdgesAreRead(const JsonNode &node) {
    for (size_t i = 0; i < program.edges.size(); ++i) {
      const ModelEdge &edge = program.edges[i];
      const std::vector<int> &read = program.stages[edge.to].edgesIn;
      const std::vector<int> &written = program.stages[edge.from].valuesOut;
      if (std::count(read.begin(), read.end(), static_cast<int>(i)) != 1 ||
          std::count(written.begin(), written.end(), edge.value) != 1)
        node.fail(text("holds edge ", i, ", which stage ", edge.from, " does not write once or stage ", edge.to,
                       " does not read once"));
    }
  }

  void checkGradients(const JsonNode &node) {
    for (size_t number = 0; number < program.stages.size(); ++number) {
      const ModelStage &stage = program.stages[number];
      for (int index : stage.gradients) {
        ModelParameter &parameter = program.parameters[index];
        if (!parameter.trainable || !isFloating(parameter.dtype))
          node.fail(text("holds ", parameter.name, ", which stage ", number,
                         " differentiates though it is not a trainable floating-point parameter"));
        if (std::find(stage.parameters.begin(), stage.parameters.end(), index) == stage.parameters.end())
          node.fail(text("holds ", parameter.name, ", which stage ", number, " differentiates and does not use"));
        parameter.updated = true;
      }
    }
    for (size_t i = 0; i < program.parameters.size(); ++i) {
      const ModelParameter &parameter = program.parameters[i];
      const std::vector<int> &own = program.stages[parameter.home].parameters;
      if (parameter.updated && std::find(own.begin(), own.end(), static_cast<int>(i)) == own.end())
        node.fail(text("gives ", parameter.name, " the home stage ", parameter.home, ", which does not use it"));
    }
  }

  void readSchedule(const JsonNode &node) {
    std::string csv;
    for (const JsonNode &row : node["rows"].list())
      csv += row.string() + "\n";
    plan::Result<plan::Schedule> schedule = plan::Schedule::parseCsv(csv);
    if (!schedule)
      node["rows"].fail(text("cannot be read: ", schedule.error()));
    if (schedule->ranks() != program.worldSize)
      node["rows"].fail(text("has ", schedule->ranks(), " rows and the world size is ", program.worldSize));
    for (int rank = 0; rank < schedule->ranks(); ++rank)
      for (const plan::Action &action : schedule->rows[rank])
        checkAction(node["rows"], rank, action);
    program.schedule = std::move(*schedule);
    checkRecomputation(node["rows"]);
    checkUpdate(node["rows"]);
  }

  /// A backward reads what was recomputed. Where it does that itself, RECOMPUTE is its beginning.
  void checkRecomputation(const JsonNode &node) {
    using plan::ActionKind;
    for (size_t rank = 0; rank < program.schedule.rows.size(); ++rank) {
      const std::vector<plan::Action> &row = program.schedule.rows[rank];
      for (auto action = row.begin(); action != row.end(); ++action) {
        bool reads = action->kind == ActionKind::FullBackward || action->kind == ActionKind::BackwardInput;
        const ModelStage &stage = program.stages[action->stage];
        if (!reads || !stage.recomputes)
          continue;
        auto found = std::find_if(row.begin(), action, [&](const plan::Action &before) {
          return before.kind == ActionKind::Recompute && before.stage == action->stage &&
                 before.microbatch == action->microbatch;
        });
        if (found == action || (!stage.replay && found + 1 != action))
          node.fail(text("has ", action->str(), " for rank ", rank, " without RECOMPUTE", stage.replay ? "" : " right",
                         " before it"));
      }
    }
  }

  /// A table without an update would train nothing and say so nowhere.
  void checkUpdate(const JsonNode &node) {
    using plan::ActionKind;
    auto count = [&](int rank, ActionKind kind, int stage) {
      const std::vector<plan::Action> &row = program.schedule.rows[rank];
      return std::count_if(row.begin(), row.end(), [&](const plan::Action &action) {
        return action.kind == kind && (stage < 0 || action.stage == stage);
      });
    };
    for (int rank = 0; rank < program.worldSize; ++rank)
      if (int64_t norms = count(rank, ActionKind::Norm, -1); norms != 1)
        node.fail(
            text("for rank ", rank, norms ? text(" has NORM ", norms, " times") : " has no NORM", "; it needs one"));
    for (const ModelParameter &parameter : program.parameters)
      if (parameter.updated && count(program.rankOf(parameter), ActionKind::Step, parameter.home) != 1)
        node.fail(text("has a wrong update: ", parameter.name, " is updated and its stage ", parameter.home,
                       " has no STEP, or several"));
    for (size_t stage = 0; stage < program.stages.size(); ++stage)
      for (int rank : {program.stages[stage].rank, 0})
        if (program.stages[stage].loss && count(rank, ActionKind::Loss, static_cast<int>(stage)) != 1)
          node.fail(text("for rank ", rank, " has no LOSS of stage ", stage, ", or several"));
  }

  void checkAction(const JsonNode &node, int rank, const plan::Action &action) {
    using plan::ActionKind;
    auto refuse = [&](const std::string &why) { node.fail(text("has ", action.str(), " for rank ", rank, ", ", why)); };
    if (action.kind == ActionKind::Idle)
      return;
    int count = static_cast<int>(numStages);
    if (action.stage >= count || action.peer >= count)
      refuse(text("and there are ", count, " stages"));
    if (action.microbatch >= program.microbatches)
      refuse(text("and there are ", program.microbatches, " micro-batches"));
    if (action.direction || action.sub || action.version)
      refuse("and this runtime has one direction, no deferred parts and one version of the weights");
    if (program.stages[action.stage].rank != rank && action.kind != ActionKind::Loss)
      refuse(text("and the stage is on rank ", program.stages[action.stage].rank));
    const ModelStage &stage = program.stages[action.stage];
    switch (action.kind) {
    case ActionKind::BackwardInput:
      if (!stage.backwardInput)
        refuse("and the stage has no backward_input");
      break;
    case ActionKind::BackwardWeight:
      if (!stage.backwardWeight)
        refuse("and the stage has no backward_weight");
      break;
    case ActionKind::FullBackward:
      if (!stage.backward)
        refuse("and the stage has no backward");
      break;
    case ActionKind::Recompute:
      if (!stage.recomputes)
        refuse("and the stage recomputes nothing");
      break;
    case ActionKind::Unshard:
    case ActionKind::Reshard:
    case ActionKind::ReduceGrad:
      refuse("which this runtime cannot do");
      break;
    default:
      break;
    }
  }

  Program &program;
  std::map<std::string, braid_function> functions;
  size_t numStages = 0;
};
} // namespace

plan::Result<Program> Program::load(const braid_program &source) {
  if (source.abi_version != BRAID_RT_ABI_VERSION)
    return plan::Error{text("the program was compiled for version ", source.abi_version,
                            " of the runtime's interface and this libbraid_rt has version ", BRAID_RT_ABI_VERSION,
                            "; compile it again, or run it with the libbraid_rt of its compiler")};
  try {
    Program program;
    program.planText = source.plan;
    program.initialize = source.initialize;
    nlohmann::json json = nlohmann::json::parse(program.planText);
    PlanReader(source, program).read(JsonNode(json, ""));
    return program;
  } catch (const JsonError &error) {
    return plan::Error{text("the program's plan is broken: ", error.what(), "; compile the program again")};
  } catch (const nlohmann::json::exception &error) {
    return plan::Error{text("the program's plan is no JSON: ", error.what(), "; compile the program again")};
  }
}
