//===- EmitObject.cpp - From LLVM dialect to an object file ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Target/Executable.h"

#include "braid/Conversion/Passes.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

using namespace mlir;

namespace braid {

void registerCodegenTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(ModuleOp module, const CodegenOptions &options) {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError() << "LLVM has no code generator for " << triple.str() << ": " << error;
    return nullptr;
  }
  std::string cpu = options.march, features;
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") + feature.first().str();
  } else if (cpu == "x86-64" && !triple.isX86()) {
    cpu = "generic";
  }
  llvm::CodeGenOptLevel level = options.optimization == 0   ? llvm::CodeGenOptLevel::None
                                : options.optimization == 1 ? llvm::CodeGenOptLevel::Less
                                                            : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, level));
  if (machine && !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    module.emitError() << "LLVM knows no processor '" << cpu << "' for " << triple.str()
                       << "; x86-64, x86-64-v3 and native are usual";
    return nullptr;
  }
  return machine;
}

/// What makes vector code of a kernel's loops.
static llvm::FunctionPassManager makeKernelPipeline() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

/// Level 1 folds equal loads and arithmetic on sizes, which is all there is to gain but for kernels. Level 2 is LLVM's
/// own pipeline.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level) {
  if (level == 0)
    return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager pipeline;
  if (level >= 2) {
    pipeline = passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  } else {
    llvm::FunctionPassManager light;
    light.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
    light.addPass(llvm::SimplifyCFGPass());
    pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(light)));
    llvm::FunctionPassManager vectorize = makeKernelPipeline();
    for (llvm::Function &function : module)
      if (function.hasFnAttribute(kernelFunctionAttr))
        vectorize.run(function, functions);
  }
  pipeline.run(module, modules);
}

FailureOr<SmallVector<char, 0>> emitObject(ModuleOp module, const CodegenOptions &options) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(module, options);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "braid_program");
  if (!code)
    return failure();
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  code->setPICLevel(llvm::PICLevel::BigPIC);
  code->setPIELevel(llvm::PIELevel::Large);
  optimize(*code, *machine, options.optimization);

  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError() << "LLVM cannot write object files for " << machine->getTargetTriple().str();
  emission.run(*code);
  return object;
}

} // namespace braid
