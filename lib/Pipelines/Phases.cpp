//===- Phases.cpp - The phases of compilation -----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Pipelines/Phases.h"

#include "braid/Conversion/Passes.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"
#include "braid/Dialect/Pipe/Transforms/Passes.h"
#include "braid/Dialect/Rt/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace braid {

StringRef getPhaseName(Phase phase) {
  switch (phase) {
  case Phase::Import:
    return "import";
  case Phase::Shapes:
    return "shapes";
  case Phase::Units:
    return "units";
  case Phase::Differentiate:
    return "differentiate";
  case Phase::Pipe:
    return "pipe";
  case Phase::Rt:
    return "rt";
  case Phase::LLVM:
    return "llvm";
  }
  return "";
}

static void addVerifier(OpPassManager &manager, Phase phase) {
  VerifyContractOptions contract;
  contract.phase = getPhaseName(phase).str();
  manager.addPass(createVerifyContract(contract));
}

void buildPhase(OpPassManager &manager, Phase phase, const PhaseOptions &options) {
  switch (phase) {
  case Phase::Import: // the importer's work
    addVerifier(manager, phase);
    return;
  case Phase::Shapes: {
    FreezeOptions freeze;
    freeze.planFile = options.plan;
    manager.addPass(createFreeze(freeze));
    AssignCollateRulesOptions collate;
    collate.planFile = options.plan;
    manager.addPass(createAssignCollateRules(collate));
    manager.addPass(createInlineModules());
    AutocastOptions precision;
    precision.planFile = options.plan;
    manager.addPass(createAutocast(precision));
    manager.addPass(createResolveShapes());
    manager.addPass(createRaiseMergeRows());
    manager.addPass(createSplitLoss());
    manager.addPass(createAnalyzeSamples());
    manager.addPass(createRaiseLinearCrossEntropy());
    addVerifier(manager, phase);
    return;
  }
  case Phase::Units:
    manager.addPass(createOutlineUnits());
    addVerifier(manager, phase);
    return;
  case Phase::Differentiate: {
    manager.addPass(createDecompose());
    DifferentiateOptions differentiate;
    differentiate.planFile = options.plan;
    differentiate.recompute = options.recompute;
    manager.addPass(createDifferentiate(differentiate));
    manager.addNestedPass<func::FuncOp>(createCSEPass());
    manager.addPass(createRecompute());
    addVerifier(manager, phase);
    return;
  }
  case Phase::Pipe: {
    pipe::FormStagesOptions stages;
    stages.stages = options.stages;
    stages.microbatches = options.microbatches;
    stages.schedule = options.schedule;
    stages.planFile = options.plan;
    manager.addPass(pipe::createFormStages(stages));
    pipe::EmitPlanOptions plan;
    plan.planFile = options.plan;
    plan.device = options.device;
    manager.addPass(pipe::createEmitPlan(plan));
    return;
  }
  case Phase::Rt:
    manager.addPass(createBraidToRt());
    manager.addPass(rt::createVerifyLifetimes());
    return;
  case Phase::LLVM: {
    RtToLLVMOptions program;
    // AVX2 and FMA; older processors take the other version.
    if (llvm::Triple(llvm::sys::getDefaultTargetTriple()).isX86())
      program.kernelCpu = "x86-64-v3";
    manager.addPass(createRtToLLVM(program));
    return;
  }
  }
}

void registerPhasePipelines() {
  static const std::pair<Phase, const char *> phases[] = {
      {Phase::Shapes, "Module calls inlined, sizes as expressions over symbols, loss counts in a prologue"},
      {Phase::Units, "@main as a graph of unit calls"},
      {Phase::Differentiate, "Forward and backward functions of each unit"},
      {Phase::Pipe, "Stages, edges, schedule, plan"},
      {Phase::Rt, "Runtime calls with explicit lifetimes"},
      {Phase::LLVM, "LLVM dialect"}};
  for (auto &[phase, text] : phases) {
    std::string name = ("braid-phase-" + getPhaseName(phase)).str();
    Phase which = phase;
    PassPipelineRegistration<PhaseOptions>(name, text, [which](OpPassManager &manager, const PhaseOptions &options) {
      // Files may have been written by a person: what the phase assumes is checked first.
      if (which <= Phase::Pipe)
        addVerifier(manager, static_cast<Phase>(static_cast<int>(which) - 1));
      buildPhase(manager, which, options);
    });
  }
}

} // namespace braid
