//===- braid-import.cpp - TorchScript to braid ----------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   braid-import model.pt --example batch.safetensors --input 'ids: i64[batch, seq]' -o model.mlir
//
//===----------------------------------------------------------------------===//

#include "braid/Import/Import.h"

#include "braid/InitAll.h"
#include "braid/Target/OutputFile.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

static cl::OptionCategory category("braid-import options");
static cl::opt<std::string> modelFile(cl::Positional, cl::desc("<model.pt>"), cl::Required, cl::cat(category));
static cl::opt<std::string> exampleFile("example", cl::desc("A batch: safetensors named step<N>/<input>"),
                                        cl::value_desc("file"), cl::cat(category));
static cl::list<std::string> inputOptions("input", cl::desc("Dims of an input, such as 'ids: i64[batch, seq]'"),
                                          cl::value_desc("spec"), cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::desc("Output; - is standard output"), cl::value_desc("file"),
                                       cl::init("-"), cl::cat(category));
static cl::opt<bool> reportOpaque("report-opaque", cl::desc("List every operator without a typed op, and where it is"),
                                  cl::cat(category));
static cl::opt<bool> staticDims("static-dims", cl::desc("Keep every size as in the example"), cl::cat(category));
static cl::opt<bool> printLocations("print-locations", cl::desc("Print the Python line of each op"), cl::init(true),
                                    cl::cat(category));

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Imports a TorchScript training model as braid IR\n");

  mlir::DialectRegistry registry;
  braid::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  context.printOpOnDiagnostic(false); // people read these
  auto fail = [](const std::string &message) {
    WithColor::error(errs(), "braid-import") << message << "\n";
    return 1;
  };

  if (braid::plan::Status status = braid::checkOutput(outputFile, {modelFile, exampleFile}); !status)
    return fail(status.error());
  braid::ImportOptions options;
  options.file = modelFile;
  options.symbolicDims = !staticDims;
  if (!exampleFile.empty()) {
    braid::plan::Result<std::vector<braid::InputSpec>> inputs = braid::readInputSpecs(context, exampleFile);
    if (!inputs)
      return fail(inputs.error());
    options.inputs = *inputs;
  }
  for (const std::string &text : inputOptions)
    if (braid::plan::Status status = braid::parseInputOption(context, text, options.inputs); !status)
      return fail(status.error());

  braid::ImportReport report;
  mlir::OwningOpRef<mlir::ModuleOp> module = braid::importTorchScript(context, options, &report);
  if (!module)
    return 1;
  for (const std::string &remark : report.remarks)
    WithColor::remark(errs(), modelFile) << remark << "\n";
  if (reportOpaque)
    outs() << braid::describeOpaqueOperators(report);
  else if (std::string summary = braid::summarizeOpaqueOperators(report); !summary.empty())
    WithColor::remark(errs(), modelFile) << summary;
  if (reportOpaque && !outputFile.getNumOccurrences())
    return 0;

  mlir::OpPrintingFlags flags;
  if (printLocations)
    flags.enableDebugInfo(true, /*prettyForm=*/false);
  if (braid::plan::Status status = braid::writeOutput(outputFile, [&](raw_ostream &os) { module->print(os, flags); });
      !status)
    return fail(status.error());
  return 0;
}
