//===- FormStages.cpp - Cuts @main into scheduled stages ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSupport.h"
#include "StageFunctions.h"

#include "braid/Dialect/Pipe/Transforms/Passes.h"
#include "braid/Plan/Schedule/Generators.h"
#include "braid/Plan/Schedule/Kinds.h"
#include "braid/Plan/Verifier/Verifier.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace braid::pipe {
#define GEN_PASS_DEF_FORMSTAGES
#include "braid/Dialect/Pipe/Transforms/Passes.h.inc"

/// Of docs/Schedules.md those that have one direction and one version of the weights.
static constexpr StringLiteral compiledKinds[] = {"1f1b",  "gpipe", "interleaved", "looped_bfs", "zb_h1",
                                                  "zb_h2", "zb_v",  "v_half",      "v_min"};

namespace {
struct FormStages : impl::FormStagesBase<FormStages> {
  using FormStagesBase::FormStagesBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || main.getNumResults() == 0)
      return module.emitError("has no @main that returns one loss: run the phases before this one first");
    if (!planFile.empty()) {
      plan::Result<plan::PlanFile> read = plan::readPlan(planFile);
      if (!read)
        return emitError(UnknownLoc::get(&getContext())) << read.error();
      file = *read;
      if (failed(checkPlanIsSupported(&getContext(), *file)))
        return failure();
    }
    if (stages < 1)
      return module.emitError() << "the number of stages must be at least 1, not " << stages.getValue();
    int64_t count = microbatches ? microbatches : file && file->schedule ? file->schedule->microbatches : 1;
    if (count < 1)
      return module.emitError() << "the number of micro-batches must be at least 1, not " << count;
    if (count > plan::maxMicrobatches)
      return module.emitError() << "the number of micro-batches must be at most " << plan::maxMicrobatches << ", not "
                                << count << ": a step's schedule lists each of them";
    if (auto whole = module->getAttrOfType<StringAttr>("braid.whole_loss"); whole && count > 1)
      return emitError(main.getBody().front().getTerminator()->getOperand(0).getLoc())
             << "the loss is no sum over samples, so the batch cannot be divided into " << count
             << " micro-batches: " << whole.getValue() << "; use --microbatches 1";

    ShapeAnalysis shapes(module);
    SymbolTable symbols(module);
    FailureOr<std::vector<StageInfo>> assigned = assignStages(main, shapes, file ? &*file : nullptr, stages);
    if (failed(assigned))
      return failure();
    CotangentInfo cotangents(main, symbols);

    llvm::DenseMap<Operation *, int> stageOf;
    for (auto [number, stage] : llvm::enumerate(*assigned))
      for (CallOp call : stage.calls)
        stageOf[call] = number;
    // Values that leave their stage, with the stages that read them.
    llvm::MapVector<Value, llvm::SmallSetVector<int, 4>> crossing;
    for (CallOp call : main.getBody().front().getOps<CallOp>()) {
      if (isInputOnly(call))
        continue;
      for (Value result : call.getResults())
        for (Operation *user : result.getUsers())
          if (auto at = stageOf.find(user); at != stageOf.end() && at->second != stageOf[call])
            crossing[result].insert(at->second);
    }

    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    llvm::DenseMap<Value, int64_t> valueNumber;
    for (auto &[value, readers] : crossing) {
      int64_t number = valueNumber.size();
      valueNumber[value] = number;
      FailureOr<TensorShape> shape = shapes.shapeOf(value);
      if (failed(shape))
        return failure();
      auto producer = value.getDefiningOp<CallOp>();
      ValueOp::create(builder, producer.getLoc(), builder.getI64IntegerAttr(number),
                      builder.getI64IntegerAttr(stageOf[producer]), TypeAttr::get(value.getType()),
                      getDimsAttr(&getContext(), *shape), unitIf(cotangents.hasGradient(value)),
                      builder.getStringAttr(producer.getPath().value_or("")));
      SmallVector<int> sorted(readers.begin(), readers.end());
      llvm::sort(sorted);
      for (int reader : sorted) {
        EdgeOp::create(builder, producer.getLoc(), number, stageOf[producer], reader);
        ++numEdges;
      }
    }

    std::vector<StageSignature> signatures;
    for (auto [number, stage] : llvm::enumerate(*assigned)) {
      if (stage.calls.empty())
        return main.emitError() << "component '" << stage.name << "' has no unit: remove it from the plan";
      SmallVector<Value> valuesOut;
      for (auto &[value, readers] : crossing)
        if (stageOf[value.getDefiningOp()] == static_cast<int>(number))
          valuesOut.push_back(value);
      FailureOr<StageSignature> signature =
          emitStageFunctions(number, stage, valuesOut, main, cotangents, recomputesEarly(), symbols, shapes);
      if (failed(signature))
        return failure();
      signatures.push_back(std::move(*signature));
      emitStageOp(builder, main, number, stage, signatures.back(), cotangents, valueNumber);
      ++numStages;
    }
    shapes.storeGuards();
    if (failed(checkStates(main, *assigned, signatures)))
      return failure();
    if (failed(emitSchedule(builder, main, *assigned, signatures, crossing, stageOf, cotangents, count)))
      return failure();
    finishModule(module, main);
    return success();
  }

private:
  bool recomputesEarly() const { return file && file->schedule && file->schedule->recomputeEarly; }

  /// A rank keeps its own buffers only.
  LogicalResult checkStates(func::FuncOp main, const std::vector<StageInfo> &assigned,
                            const std::vector<StageSignature> &signatures) {
    for (auto [number, signature] : llvm::enumerate(signatures))
      for (const std::string &state : signature.states)
        for (auto [other, reader] : llvm::enumerate(signatures))
          if (assigned[other].rank != assigned[number].rank && llvm::is_contained(reader.params, state))
            return main.emitError() << "the buffer '" << state << "' is updated in stage '" << assigned[number].name
                                    << "' and read in stage '" << assigned[other].name
                                    << "' on another rank: name the modules of both in one component";
    return success();
  }

  UnitAttr unitIf(bool condition) { return condition ? UnitAttr::get(&getContext()) : UnitAttr(); }

  void emitStageOp(OpBuilder &builder, func::FuncOp main, int64_t number, const StageInfo &stage,
                   const StageSignature &signature, const CotangentInfo &cotangents,
                   llvm::DenseMap<Value, int64_t> &valueNumber) {
    auto symbolsOf = [&](ArrayRef<std::string> names) {
      SmallVector<Attribute> refs;
      for (const std::string &name : names)
        refs.push_back(FlatSymbolRefAttr::get(&getContext(), name));
      return builder.getArrayAttr(refs);
    };
    auto numbersOf = [&](ArrayRef<Value> values) {
      SmallVector<int64_t> numbers;
      for (Value value : values)
        numbers.push_back(valueNumber[value]);
      return builder.getDenseI64ArrayAttr(numbers);
    };
    SmallVector<Attribute> inputs, units, policies;
    for (BlockArgument input : signature.inputs)
      inputs.push_back(main.getArgAttr(input.getArgNumber(), inputAttrName));
    SmallVector<int64_t> counts;
    for (BlockArgument count : signature.counts)
      counts.push_back(cast<IntegerAttr>(main.getArgAttr(count.getArgNumber(), "braid.count")).getInt());
    for (CallOp call : stage.calls) {
      units.push_back(call.getPathAttr());
      DerivativeOp derivative = cotangents.derivativeOf(call);
      bool recomputes = derivative && derivative.getRecompute();
      policies.push_back(recomputes ? derivative.getPolicyAttr() : builder.getStringAttr("none"));
    }
    auto reference = [&](func::FuncOp function) {
      return function ? FlatSymbolRefAttr::get(&getContext(), function.getSymName()) : FlatSymbolRefAttr();
    };
    StageOp::create(builder, main.getLoc(), builder.getI64IntegerAttr(number), builder.getI64IntegerAttr(stage.rank),
                    builder.getStringAttr(stage.name), reference(signature.forward), reference(signature.input),
                    reference(signature.weight), reference(signature.full), reference(signature.replay),
                    symbolsOf(signature.params), builder.getArrayAttr(inputs), numbersOf(signature.valuesIn),
                    numbersOf(signature.valuesOut), builder.getDenseI64ArrayAttr(counts), unitIf(signature.loss),
                    signature.states.empty() ? ArrayAttr() : symbolsOf(signature.states),
                    builder.getI64IntegerAttr(signature.residuals),
                    signature.replay ? builder.getI64IntegerAttr(signature.replayed) : IntegerAttr(),
                    builder.getI64IntegerAttr(signature.carries), symbolsOf(signature.gradients),
                    builder.getArrayAttr(units), signature.recomputes ? builder.getArrayAttr(policies) : ArrayAttr(),
                    builder.getF64FloatAttr(stage.flops));
  }

  LogicalResult emitSchedule(OpBuilder &builder, func::FuncOp main, const std::vector<StageInfo> &assigned,
                             const std::vector<StageSignature> &signatures,
                             llvm::MapVector<Value, llvm::SmallSetVector<int, 4>> &crossing,
                             llvm::DenseMap<Operation *, int> &stageOf, const CotangentInfo &cotangents,
                             int64_t count) {
    plan::Pipeline pipeline;
    pipeline.microbatches = count;
    pipeline.placement.emplace_back();
    llvm::StringMap<int> homes;
    llvm::MapVector<int, llvm::SmallSetVector<int, 4>> tied;
    for (auto [number, stage] : llvm::enumerate(assigned)) {
      const StageSignature &signature = signatures[number];
      plan::Stage entry;
      entry.name = stage.name;
      entry.backward = static_cast<bool>(signature.full);
      entry.trains = !signature.gradients.empty();
      entry.recomputes = signature.recomputes;
      pipeline.stages.push_back(entry);
      pipeline.placement.front().push_back(stage.rank);
      if (signature.loss)
        pipeline.lossStage = number;
      for (const std::string &param : signature.gradients)
        homes.try_emplace(param, number);
    }
    // The first stage with a gradient for a parameter is its home; all others that read it hold copies.
    for (auto [number, signature] : llvm::enumerate(signatures))
      for (const std::string &param : signature.params)
        if (auto home = homes.find(param); home != homes.end() && home->second != static_cast<int>(number))
          tied[home->second].insert(number);
    for (auto &[value, readers] : crossing) {
      SmallVector<int> sorted(readers.begin(), readers.end());
      llvm::sort(sorted);
      for (int reader : sorted) {
        plan::Edge edge;
        edge.id = pipeline.edges.size();
        edge.from = stageOf[value.getDefiningOp()];
        edge.to = reader;
        edge.carriesGradient = cotangents.hasGradient(value);
        pipeline.edges.push_back(edge);
      }
    }
    for (auto &[home, copies] : tied) {
      plan::TiedGroup group;
      group.home = home;
      group.copies.assign(copies.begin(), copies.end());
      llvm::sort(group.copies);
      pipeline.tied.push_back(group);
    }
    std::string kind = !schedule.empty() ? schedule : file && file->schedule ? file->schedule->kind : "1f1b";
    if (!llvm::is_contained(compiledKinds, kind))
      return main.emitError() << "schedule '" << kind << "' is not one that braidc compiles: use "
                              << llvm::join(ArrayRef(compiledKinds), ", ");
    plan::ScheduleRequest request;
    request.kind = kind;
    request.microbatches = count;
    plan::GenerateOptions generate;
    generate.recomputeEarly = recomputesEarly();
    plan::Result<plan::Schedule> made = plan::scheduleOf(pipeline, request, generate);
    if (!made)
      return main.emitError() << made.error();
    plan::Result<plan::ScheduleFacts> facts = plan::verify(pipeline, *made);
    if (!facts)
      return main.emitError() << "the schedule is wrong: " << facts.error();
    SmallVector<Attribute> rows;
    for (const std::vector<plan::Action> &row : made->rows) {
      std::string text;
      for (const plan::Action &action : row)
        text += (text.empty() ? "" : ",") + action.str();
      rows.push_back(builder.getStringAttr(text));
    }
    ScheduleOp::create(builder, main.getLoc(), kind, count, builder.getArrayAttr(rows));
    return success();
  }

  /// @main has become stages; its arguments stay as a declaration, which says what the inputs are.
  void finishModule(ModuleOp module, func::FuncOp main) {
    OpBuilder builder(module.getContext());
    if (auto prologue = module.lookupSymbol<func::FuncOp>("prologue"))
      prologue->setAttr("pipe.entry", builder.getUnitAttr());
    main.getBody().dropAllReferences();
    main.getBody().getBlocks().clear();
    main.setPrivate();
    if (auto symbols = module->getAttrOfType<DictionaryAttr>(symbolsAttrName)) {
      SmallVector<Attribute> names;
      for (NamedAttribute symbol : symbols)
        names.push_back(symbol.getName());
      module->setAttr("pipe.symbols", builder.getArrayAttr(names));
    } else {
      module->setAttr("pipe.symbols", builder.getArrayAttr({}));
    }
    // Functions that no entry reaches (units without their derivative, parts of derivatives) go.
    llvm::StringSet<> reached;
    SmallVector<func::FuncOp> work;
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("pipe.entry"))
        work.push_back(function);
    while (!work.empty()) {
      func::FuncOp function = work.pop_back_val();
      if (!reached.insert(function.getSymName()).second)
        continue;
      function.walk([&](CallOp call) {
        if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
          work.push_back(callee);
      });
    }
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function != main && !reached.contains(function.getSymName()))
        function.erase();
    for (auto derivative : llvm::make_early_inc_range(module.getOps<DerivativeOp>()))
      derivative.erase();
  }

  std::optional<plan::PlanFile> file;
};
} // namespace
} // namespace braid::pipe
