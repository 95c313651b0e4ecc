//===- braidc.cpp - Compiles a training model into a training binary ------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"
#include "braid/Import/Import.h"
#include "braid/InitAll.h"
#include "braid/Pipelines/Phases.h"
#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Support/Text.h"
#include "braid/Target/Executable.h"
#include "braid/Target/OutputFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <chrono>

using namespace llvm;

static cl::OptionCategory category("braidc options");
static cl::opt<std::string> modelFile(cl::Positional, cl::desc("<model.pt>"), cl::Required, cl::cat(category));
static cl::opt<std::string> exampleFile("example", cl::desc("A batch: safetensors named step<N>/<input>"),
                                        cl::value_desc("file"), cl::cat(category));
static cl::list<std::string> inputOptions("input", cl::desc("Dims of an input, such as 'ids: i64[batch, seq]'"),
                                          cl::value_desc("spec"), cl::cat(category));
static cl::opt<std::string> planFile("plan", cl::desc("Components, schedule, optimizer"), cl::value_desc("plan.yaml"),
                                     cl::cat(category));
static cl::opt<int> stages("stages", cl::desc("Number of stages, balanced by FLOPs, where no plan names components"),
                           cl::init(1), cl::cat(category));
static cl::opt<int> microbatches("microbatches", cl::desc("Micro-batches of a step (default: the plan's, or 1)"),
                                 cl::init(0), cl::cat(category));
static cl::opt<std::string> schedule("schedule", cl::desc("1f1b, gpipe, zb_h1, ... (default: the plan's, or 1f1b)"),
                                     cl::cat(category));
static cl::opt<std::string> recompute("recompute",
                                      cl::desc("What backward computes again: none, selective or full, "
                                               "for all units (default: the plan's, or none)"),
                                      cl::cat(category));
static cl::opt<std::string> device("device", cl::desc("cpu"), cl::init("cpu"), cl::cat(category));
static cl::opt<std::string> march("march", cl::desc("Processor of the compiled code, as clang's -march"),
                                  cl::init("x86-64"), cl::cat(category));
static cl::opt<bool> staticDims("static-dims", cl::desc("Keep every size as in the example"), cl::cat(category));
static cl::opt<bool> reportOpaque("report-opaque", cl::desc("List every operator without a typed op, and where it is"),
                                  cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::desc("Executable, or file of --emit; - is standard output"),
                                       cl::value_desc("file"), cl::cat(category));
static cl::opt<bool> showTimes("time", cl::desc("Print the seconds of each phase"), cl::cat(category));
static cl::opt<std::string> reproducer("crash-reproducer",
                                       cl::desc("Where a failing pass leaves its input (mlir-opt --run-reproducer)"),
                                       cl::value_desc("file"), cl::cat(category));
static cl::opt<bool> printLocations("print-locations", cl::desc("--emit prints the Python line of each op"),
                                    cl::cat(category));

enum class Emit { Import, Shapes, Units, Differentiate, Pipe, Rt, LLVM, Object, Executable };
static cl::opt<Emit> emitKind(
    "emit", cl::desc("Stop after a phase and print it"), cl::init(Emit::Executable), cl::cat(category),
    cl::values(clEnumValN(Emit::Import, "import", "TorchScript as braid ops, one function a module call"),
               clEnumValN(Emit::Shapes, "shapes", "flat, sizes over symbols"),
               clEnumValN(Emit::Units, "units", "@main as a graph of units"),
               clEnumValN(Emit::Differentiate, "differentiate", "forward and backward functions"),
               clEnumValN(Emit::Pipe, "pipe", "stages, edges, schedule"), clEnumValN(Emit::Rt, "rt", "runtime calls"),
               clEnumValN(Emit::LLVM, "llvm", "LLVM dialect"), clEnumValN(Emit::Object, "object", "object file"),
               clEnumValN(Emit::Executable, "executable", "linked training binary (default)")));

static int fail(const std::string &message) {
  WithColor::error(errs(), "braidc") << message << "\n";
  return 1;
}

namespace {
/// Seconds of each phase, printed at the end with --time.
class Stopwatch {
public:
  void lap(StringRef name) {
    auto now = std::chrono::steady_clock::now();
    laps.push_back({name.str(), std::chrono::duration<double>(now - last).count()});
    last = now;
  }
  void print() const {
    double sum = 0;
    for (auto &[name, seconds] : laps) {
      errs() << format("%-14s %7.3f s\n", name.c_str(), seconds);
      sum += seconds;
    }
    errs() << format("%-14s %7.3f s\n", "total", sum);
  }

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, double>> laps;
};
} // namespace

/// What a size in an error stands for.
static void describeExample(const std::vector<braid::InputSpec> &inputs) {
  if (exampleFile.empty() || inputs.empty())
    return;
  raw_ostream &os = WithColor::note(errs()) << "the example has";
  for (auto [number, input] : llvm::enumerate(inputs)) {
    os << (number ? ", " : " ") << input.name << ": " << input.elementType << "[";
    llvm::interleaveComma(input.example, os);
    os << "]";
  }
  os << "\n";
}

/// Dims that the plan names for inputs.
static bool applyPlanInputs(std::vector<braid::InputSpec> &inputs) {
  braid::plan::Result<braid::plan::PlanFile> plan = braid::plan::readPlan(planFile);
  if (!plan) {
    fail(plan.error());
    return false;
  }
  std::vector<std::string> names;
  for (const braid::InputSpec &input : inputs)
    names.push_back(input.name);
  for (const braid::plan::PlanInput &entry : plan->inputs) {
    auto at = llvm::find(names, entry.name);
    if (at == names.end()) {
      fail(plan->name + ":" + std::to_string(entry.location.line) + ":" + std::to_string(entry.location.column) +
           ": the model's example has no input '" + entry.name + "'" + braid::plan::suggest(entry.name, names));
      return false;
    }
    // The data may hold offsets that say whose the rows are and that the model has no use for.
    inputs[at - names.begin()].divides =
        entry.collate && entry.collate->kind == braid::plan::CollateRule::Kind::Offsets;
    if (entry.dims.empty())
      continue;
    std::string text = entry.name + ": ";
    raw_string_ostream spec(text);
    spec << inputs[at - names.begin()].elementType << "[";
    llvm::interleaveComma(entry.dims, spec, [&](const braid::plan::Expr &dim) { spec << dim.str(); });
    spec << "]";
    if (braid::plan::Status status =
            braid::parseInputOption(*inputs[at - names.begin()].elementType.getContext(), text, inputs);
        !status) {
      fail(plan->name + ":" + std::to_string(entry.location.line) + ":" + std::to_string(entry.location.column) + ": " +
           status.error());
      return false;
    }
  }
  return true;
}

static mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context) {
  braid::ImportOptions options;
  options.file = modelFile;
  options.symbolicDims = !staticDims;
  if (!exampleFile.empty()) {
    braid::plan::Result<std::vector<braid::InputSpec>> inputs = braid::readInputSpecs(context, exampleFile);
    if (!inputs) {
      fail(inputs.error());
      return {};
    }
    options.inputs = *inputs;
  }
  for (const std::string &text : inputOptions)
    if (braid::plan::Status status = braid::parseInputOption(context, text, options.inputs); !status) {
      fail(status.error());
      return {};
    }
  if (!planFile.empty() && !applyPlanInputs(options.inputs))
    return {};
  braid::ImportReport report;
  mlir::OwningOpRef<mlir::ModuleOp> module = braid::importTorchScript(context, options, &report);
  if (!module) {
    describeExample(options.inputs);
    return {};
  }
  for (const std::string &remark : report.remarks)
    WithColor::remark(errs(), modelFile) << remark << "\n";
  if (reportOpaque)
    errs() << braid::describeOpaqueOperators(report);
  else if (std::string summary = braid::summarizeOpaqueOperators(report); !summary.empty())
    WithColor::remark(errs(), modelFile) << summary;
  return module;
}

/// A symbol that an operator needs to be one number: batches of other sizes are refused, so it is said now.
static void remarkFixedSymbols(mlir::ModuleOp module) {
  std::string text;
  braid::ShapeAnalysis shapes(module);
  for (const braid::Guard &guard : shapes.getGuards()) {
    auto isSymbol = [](const braid::Expr &size) { return size == braid::Expr::symbol(size.str()); };
    const braid::Expr &symbol = isSymbol(guard.left) ? guard.left : guard.right;
    const braid::Expr &size = isSymbol(guard.left) ? guard.right : guard.left;
    if (guard.relation == braid::plan::Relation::Equal && isSymbol(symbol) && size.constant())
      text += (text.empty() ? "" : ", ") + symbol.str() + " = " + size.str() + " (" + guard.why + ")";
  }
  if (!text.empty())
    WithColor::remark(errs(), modelFile) << "every batch must have " << text << "\n";
}

static int printModule(mlir::ModuleOp module) {
  mlir::OpPrintingFlags flags;
  if (printLocations)
    flags.enableDebugInfo(true, /*prettyForm=*/false);
  braid::plan::Status status = braid::writeOutput(outputFile.empty() ? "-" : StringRef(outputFile),
                                                  [&](raw_ostream &os) { module.print(os, flags); });
  return status ? 0 : fail(status.error());
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Compiles a TorchScript training model into a training binary\n");
  if (device != "cpu")
    return fail("device '" + device + "' is not built: only cpu is (use --device cpu)");
  if (!recompute.empty() && recompute != "none" && recompute != "selective" && recompute != "full")
    return fail("recompute is '" + recompute + "'; there are none, selective and full");
  bool toFile = emitKind == Emit::Executable || emitKind == Emit::Object;
  bool onlyReport = toFile && reportOpaque && outputFile.empty();
  if (toFile && outputFile.empty() && !onlyReport)
    return fail("say where the result goes: -o FILE");
  if (emitKind == Emit::Executable && outputFile == "-")
    return fail("an executable does not go to standard output: say -o FILE");
  if (!outputFile.empty())
    if (braid::plan::Status status = braid::checkOutput(outputFile, {modelFile, exampleFile, planFile}); !status)
      return fail(status.error());

  mlir::DialectRegistry registry;
  braid::registerAllDialects(registry);
  braid::registerAllPasses();
  braid::registerCodegenTranslations(registry);
  mlir::MLIRContext context(registry);
  // Models are a few thousand ops: threads cost more to start than they save.
  context.disableMultithreading();
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  context.printOpOnDiagnostic(false); // people read these

  Stopwatch times;
  mlir::OwningOpRef<mlir::ModuleOp> module = importModel(context);
  if (!module)
    return 1;
  if (onlyReport)
    return 0;

  braid::PhaseOptions options;
  options.stages = stages;
  options.microbatches = microbatches;
  options.schedule = schedule;
  options.recompute = recompute;
  options.plan = planFile;
  options.device = device;
  static const std::pair<braid::Phase, Emit> phases[] = {
      {braid::Phase::Import, Emit::Import}, {braid::Phase::Shapes, Emit::Shapes},
      {braid::Phase::Units, Emit::Units},   {braid::Phase::Differentiate, Emit::Differentiate},
      {braid::Phase::Pipe, Emit::Pipe},     {braid::Phase::Rt, Emit::Rt},
      {braid::Phase::LLVM, Emit::LLVM}};
  for (auto &[phase, emit] : phases) {
    mlir::PassManager manager(&context);
    if (!reproducer.empty())
      manager.enableCrashReproducerGeneration(reproducer);
    braid::buildPhase(manager, phase, options);
    if (failed(manager.run(*module)))
      return 1;
    times.lap(braid::getPhaseName(phase));
    if (phase == braid::Phase::Differentiate) // the last one that meets sizes
      remarkFixedSymbols(*module);
    if (emitKind == emit)
      return printModule(*module);
  }

  braid::CodegenOptions codegen;
  codegen.march = march;
  mlir::FailureOr<SmallVector<char, 0>> object = braid::emitObject(*module, codegen);
  if (failed(object))
    return 1;
  std::string objectFile = outputFile;
  FileRemover removeObject;
  if (emitKind == Emit::Executable) {
    SmallString<128> temporary;
    if (std::error_code code = sys::fs::createTemporaryFile("braid", "o", temporary))
      return fail("cannot make a temporary file: " + code.message());
    objectFile = std::string(temporary);
    removeObject.setFile(objectFile);
  }
  braid::plan::Status written =
      braid::writeOutput(objectFile, [&](raw_ostream &os) { os.write(object->data(), object->size()); });
  if (!written)
    return fail(written.error());
  times.lap("object");
  if (emitKind == Emit::Executable) {
    if (failed(braid::linkExecutable(&context, objectFile, outputFile, braid::LinkOptions())))
      return 1;
    times.lap("link");
  }
  if (showTimes)
    times.print();
  return 0;
}
