//===- EmitPlan.cpp - The plan section of the binary ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSupport.h"
#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Collate.h"
#include "braid/Dialect/Braid/IR/ElementTypes.h"
#include "braid/Dialect/Pipe/Transforms/Passes.h"
#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Support/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace braid::pipe {
#define GEN_PASS_DEF_EMITPLAN
#include "braid/Dialect/Pipe/Transforms/Passes.h.inc"

namespace json = llvm::json;

namespace {
/// The name of an element type in the plan, or nothing for types that the runtime does not have.
std::optional<StringRef> dtypeName(Type type) {
  std::optional<plan::ElementType> known = toElementType(type);
  return known ? std::optional<StringRef>(plan::info(*known).name) : std::nullopt;
}

class PlanWriter {
public:
  PlanWriter(ModuleOp module, const plan::PlanFile *file, StringRef device)
      : module(module), file(file), device(device) {}

  FailureOr<std::string> write() {
    main = module.lookupSymbol<func::FuncOp>("main");
    auto schedules = module.getOps<ScheduleOp>();
    auto weights = module.getOps<WeightsOp>();
    if (!main || schedules.empty() || weights.empty())
      return module.emitError("has no schedule or no weights: run pipe-form-stages first");
    for (auto [number, stage] : llvm::enumerate(module.getOps<StageOp>()))
      stages.push_back(stage);
    json::Object plan;
    plan["format"] = 1;
    plan["braid"] = BRAID_VERSION;
    plan["device"] = device;
    ScheduleOp schedule = *schedules.begin();
    plan["world_size"] = static_cast<int64_t>(schedule.getRows().size());
    plan["microbatches"] = static_cast<int64_t>(schedule.getMicrobatches());
    plan["schedule"] = json::Object{{"kind", schedule.getKind()}, {"rows", strings(schedule.getRows())}};
    WeightsOp source = *weights.begin();
    plan["model"] = source.getFile();
    plan["weights"] = json::Object{
        {"file", source.getFile()}, {"bytes", static_cast<int64_t>(source.getBytes())}, {"digest", source.getDigest()}};
    plan["symbols"] = symbols();
    plan["guards"] = guards();
    if (failed(addInputs(plan)) || failed(addParameters(plan)) || failed(addStages(plan)))
      return failure();
    addCounts(plan);
    if (failed(addOptimizer(plan)))
      return failure();
    if (file && file->seed)
      plan["seed"] = file->seed;
    if (auto whole = module->getAttrOfType<StringAttr>("braid.whole_loss"))
      plan["whole_batch"] = whole.getValue();
    std::string text;
    llvm::raw_string_ostream stream(text);
    json::OStream(stream, 1).value(json::Value(std::move(plan)));
    return text;
  }

private:
  static json::Array strings(ArrayAttr values) {
    json::Array array;
    for (Attribute value : values)
      array.push_back(cast<StringAttr>(value).getValue());
    return array;
  }

  json::Array symbols() {
    json::Array array;
    if (auto examples = module->getAttrOfType<DictionaryAttr>(symbolsAttrName))
      for (NamedAttribute symbol : examples)
        array.push_back(json::Object{{"name", symbol.getName().getValue()},
                                     {"example", cast<IntegerAttr>(symbol.getValue()).getInt()}});
    return array;
  }

  json::Array guards() {
    json::Array array;
    ShapeAnalysis shapes(module);
    for (const Guard &guard : shapes.getGuards())
      array.push_back(json::Object{{"left", guard.left.str()},
                                   {"relation", plan::spelling(guard.relation)},
                                   {"right", guard.right.str()},
                                   {"why", guard.why}});
    return array;
  }

  LogicalResult addInputs(json::Object &plan) {
    FailureOr<CollatedInputs> collated = getCollatedInputs(main);
    if (failed(collated))
      return failure();
    json::Array array;
    for (auto [input, argument] : llvm::zip(collated->inputs, collated->arguments)) {
      auto type = cast<RankedTensorType>(main.getArgumentTypes()[argument]);
      std::optional<StringRef> dtype = dtypeName(type.getElementType());
      if (!dtype)
        return main.emitError() << "input '" << input.name << "' has element type " << type.getElementType()
                                << ", which the runtime has no name for";
      json::Array dims;
      for (const plan::Expr &size : input.dims)
        dims.push_back(size.str());
      inputNumber[input.name] = array.size();
      array.push_back(json::Object{
          {"name", input.name}, {"dtype", *dtype}, {"collate", input.rule.str()}, {"dims", std::move(dims)}});
    }
    plan["inputs"] = std::move(array);
    return success();
  }

  LogicalResult addParameters(json::Object &plan) {
    // The first stage with a gradient for a parameter owns it, else the first that reads it.
    llvm::StringMap<int64_t> readers, homes;
    ArrayAttr empty = ArrayAttr::get(module.getContext(), {});
    for (StageOp stage : stages) {
      for (Attribute param : stage.getParams())
        readers.try_emplace(cast<FlatSymbolRefAttr>(param).getValue(), stage.getNumber());
      for (Attribute param : stage.getGradients())
        homes.try_emplace(cast<FlatSymbolRefAttr>(param).getValue(), stage.getNumber());
      for (Attribute state : stage.getStates().value_or(empty))
        homes.try_emplace(cast<FlatSymbolRefAttr>(state).getValue(), stage.getNumber());
    }
    json::Array array;
    for (auto param : module.getOps<ParamOp>()) {
      RankedTensorType type = param.getTensorType();
      std::optional<StringRef> dtype = dtypeName(type.getElementType());
      if (!dtype)
        return param.emitError() << "parameter '" << param.getSymName() << "' has element type "
                                 << type.getElementType() << ", which the runtime has no name for";
      SmallVector<int64_t> strides(type.getRank(), 1);
      if (auto given = param.getStrides())
        strides.assign(given->begin(), given->end());
      else
        for (int64_t dim = type.getRank() - 2; dim >= 0; --dim)
          strides[dim] = strides[dim + 1] * type.getDimSize(dim + 1);
      StringRef name = param.getSymName();
      auto home = homes.find(name);
      int64_t owner = home != homes.end() ? home->second : readers.lookup(name);
      parameterNumber[name] = array.size();
      array.push_back(json::Object{{"name", name},
                                   {"aliases", param.getAliases() ? strings(*param.getAliases()) : json::Array()},
                                   {"dtype", *dtype},
                                   {"shape", json::Array(type.getShape())},
                                   {"strides", json::Array(strides)},
                                   {"offset", static_cast<int64_t>(param.getOffset())},
                                   {"kind", param.getKind()},
                                   {"trainable", static_cast<bool>(param.getRequiresGrad())},
                                   {"home", owner}});
    }
    plan["parameters"] = std::move(array);
    return success();
  }

  LogicalResult addStages(json::Object &plan) {
    json::Array values, edges, array;
    for (auto value : module.getOps<ValueOp>()) {
      std::optional<StringRef> dtype = dtypeName(cast<RankedTensorType>(value.getType()).getElementType());
      if (!dtype)
        return value.emitError("has an element type that the runtime has no name for");
      values.push_back(json::Object{{"stage", static_cast<int64_t>(value.getStage())},
                                    {"name", value.getName()},
                                    {"dtype", *dtype},
                                    {"dims", strings(value.getDims())},
                                    {"gradient", static_cast<bool>(value.getGradient())}});
    }
    std::map<std::pair<int64_t, int64_t>, int64_t> edgeNumber; // (value, reader)
    for (auto edge : module.getOps<EdgeOp>()) {
      edgeNumber[{edge.getValue(), edge.getTo()}] = edges.size();
      edges.push_back(json::Object{{"value", static_cast<int64_t>(edge.getValue())},
                                   {"from", static_cast<int64_t>(edge.getFrom())},
                                   {"to", static_cast<int64_t>(edge.getTo())}});
    }
    ArrayAttr empty = ArrayAttr::get(module.getContext(), {});
    for (StageOp stage : stages) {
      json::Array params, inputs, edgesIn, gradients, states;
      for (Attribute state : stage.getStates().value_or(empty))
        states.push_back(parameterNumber.lookup(cast<FlatSymbolRefAttr>(state).getValue()));
      for (Attribute param : stage.getParams())
        params.push_back(parameterNumber.lookup(cast<FlatSymbolRefAttr>(param).getValue()));
      for (Attribute param : stage.getGradients())
        gradients.push_back(parameterNumber.lookup(cast<FlatSymbolRefAttr>(param).getValue()));
      for (Attribute input : stage.getInputs())
        inputs.push_back(inputNumber.lookup(cast<StringAttr>(input).getValue()));
      for (int64_t value : stage.getValuesIn())
        edgesIn.push_back(edgeNumber[{value, stage.getNumber()}]);
      json::Object object{{"name", stage.getName()},
                          {"rank", static_cast<int64_t>(stage.getRank())},
                          {"units", strings(stage.getUnits())},
                          {"flops", stage.getFlops().convertToDouble()},
                          {"parameters", std::move(params)},
                          {"inputs", std::move(inputs)},
                          {"edges_in", std::move(edgesIn)},
                          {"values_out", json::Array(stage.getValuesOut())},
                          {"counts", json::Array(stage.getCounts())},
                          {"loss", static_cast<bool>(stage.getLoss())},
                          {"states", std::move(states)},
                          {"residuals", static_cast<int64_t>(stage.getResiduals())},
                          {"carries", static_cast<int64_t>(stage.getCarries())},
                          {"gradients", std::move(gradients)},
                          {"forward", stage.getForward()}};
      if (stage.getInput())
        object["backward_input"] = *stage.getInput();
      if (stage.getWeight())
        object["backward_weight"] = *stage.getWeight();
      if (stage.getFull())
        object["backward"] = *stage.getFull();
      if (stage.getPolicies())
        object["recompute"] = strings(*stage.getPolicies());
      if (stage.getReplay()) {
        object["replay"] = *stage.getReplay();
        object["replayed"] = static_cast<int64_t>(*stage.getReplayed());
      }
      array.push_back(std::move(object));
    }
    plan["values"] = std::move(values);
    plan["edges"] = std::move(edges);
    plan["stages"] = std::move(array);
    return success();
  }

  void addCounts(json::Object &plan) {
    auto prologue = module.lookupSymbol<func::FuncOp>("prologue");
    if (!prologue || prologue.getNumResults() == 0)
      return;
    json::Array inputs;
    for (unsigned number = 0; number < prologue.getNumArguments(); ++number)
      if (auto name = prologue.getArgAttrOfType<StringAttr>(number, inputAttrName))
        inputs.push_back(inputNumber.lookup(name.getValue()));
    json::Array nonzero;
    for (Attribute needed : prologue->getAttrOfType<ArrayAttr>("braid.nonzero"))
      nonzero.push_back(cast<BoolAttr>(needed).getValue());
    plan["counts"] = json::Object{{"function", "prologue"},
                                  {"inputs", std::move(inputs)},
                                  {"names", strings(prologue->getAttrOfType<ArrayAttr>("braid.counts"))},
                                  {"nonzero", std::move(nonzero)}};
  }

  LogicalResult addOptimizer(json::Object &plan) {
    if (!file || !file->optimizer)
      return success();
    const plan::PlanOptimizer &optimizer = *file->optimizer;
    json::Object object{{"kind", optimizer.kind}};
    auto add = [](json::Object &to, StringRef key, std::optional<double> value) {
      if (value)
        to[key] = *value;
    };
    add(object, "lr", optimizer.lr);
    add(object, "weight_decay", optimizer.weightDecay);
    add(object, "momentum", optimizer.momentum);
    add(object, "eps", optimizer.eps);
    if (optimizer.nesterov)
      object["nesterov"] = true;
    if (optimizer.betas)
      object["betas"] = json::Array{optimizer.betas->first, optimizer.betas->second};
    if (optimizer.clip > 0)
      object["clip"] = optimizer.clip;
    if (optimizer.accumulate > 1)
      object["accumulate"] = optimizer.accumulate;
    const plan::PlanLearningRate &schedule = optimizer.schedule;
    if (schedule.kind != "constant" || schedule.warmup > 0)
      object["schedule"] = json::Object{{"kind", schedule.kind},
                                        {"warmup", schedule.warmup},
                                        {"steps", schedule.steps},
                                        {"minimum", schedule.minimum}};
    json::Array groups;
    for (const plan::PlanGroup &group : optimizer.groups) {
      json::Object entry;
      json::Array patterns;
      for (const plan::PlanPattern &pattern : group.parameters) {
        if (failed(checkPattern(pattern)))
          return failure();
        patterns.push_back(pattern.text);
      }
      entry["parameters"] = std::move(patterns);
      add(entry, "lr", group.lr);
      add(entry, "weight_decay", group.weightDecay);
      groups.push_back(std::move(entry));
    }
    if (!groups.empty())
      object["groups"] = std::move(groups);
    plan["optimizer"] = std::move(object);
    return success();
  }

  /// A pattern that names no trained parameter is an error: its rates would silently be nobody's.
  LogicalResult checkPattern(const plan::PlanPattern &pattern) {
    llvm::StringSet<> trained;
    for (StageOp stage : stages)
      for (Attribute param : stage.getGradients())
        trained.insert(cast<FlatSymbolRefAttr>(param).getValue());
    bool any = false, frozen = false;
    std::vector<std::string> known;
    for (auto param : module.getOps<ParamOp>()) {
      SmallVector<StringRef> names{param.getSymName()};
      if (param.getAliases())
        llvm::append_range(names, param.getAliases()->getAsValueRange<StringAttr>());
      bool matches = llvm::any_of(names, [&](StringRef name) {
        return plan::matchesModule(pattern.text, std::string_view(name.data(), name.size()));
      });
      bool isTrained = trained.contains(param.getSymName());
      any |= matches && isTrained;
      frozen |= matches && !isTrained;
      if (isTrained)
        known.push_back(param.getSymName().str());
    }
    if (any)
      return success();
    return emitPlanError(module.getContext(), *file, pattern.location)
           << "the pattern '" << pattern.text << "' of a parameter group names "
           << (frozen ? "frozen parameters only" : "no parameter")
           << plan::suggest(pattern.text, plan::withModules(known));
  }

  ModuleOp module;
  const plan::PlanFile *file;
  StringRef device;
  func::FuncOp main;
  SmallVector<StageOp> stages;
  llvm::StringMap<int64_t> inputNumber, parameterNumber;
};

struct EmitPlan : impl::EmitPlanBase<EmitPlan> {
  using EmitPlanBase::EmitPlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<plan::PlanFile> file;
    if (!planFile.empty()) {
      plan::Result<plan::PlanFile> read = plan::readPlan(planFile);
      if (!read) {
        module.emitError() << read.error();
        return signalPassFailure();
      }
      file = *read;
    }
    FailureOr<std::string> text = PlanWriter(module, file ? &*file : nullptr, device).write();
    if (failed(text))
      return signalPassFailure();
    module->setAttr("pipe.plan", StringAttr::get(&getContext(), *text));
    // The declaration kept the inputs' names and dims, which the text has now.
    module.lookupSymbol<func::FuncOp>("main").erase();
  }
};
} // namespace
} // namespace braid::pipe
