//===- Import.h - TorchScript to braid -----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Import runs the model's graph once over symbolic sizes, as PyTorch would run it over tensors: calls, constant
// branches and loops, lists and in-place updates are gone afterwards, and what is left is one function per module call.
// Parameters stay in the file. No header of LibTorch is needed here, and none of its exceptions gets out.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_IMPORT_IMPORT_H
#define BRAID_IMPORT_IMPORT_H

#include "braid/Plan/Support/Result.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace braid {

/// What is known of one input of the model's forward().
struct InputSpec {
  std::string name;
  mlir::Type elementType;
  std::vector<int64_t> example;             // sizes in the example
  std::vector<std::vector<int64_t>> others; // sizes in other batches: what differs in them must be a symbol
  /// For each dim a size expression, such as "batch", "32" or "4*groups"; empty: chosen by import, see
  /// lib/Import/InputDims.h.
  std::vector<std::string> dims;
  /// It only says how other inputs divide: where forward() has no such argument, @main takes it and nothing reads it.
  bool divides = false;
};

/// The inputs of a file whose tensors are named step<N>/<input>. Sizes are those of step 0.
plan::Result<std::vector<InputSpec>> readInputSpecs(mlir::MLIRContext &context, const std::string &batchFile);

/// Applies "ids: i64[batch, seq]" to the spec of that name, or adds it (then without an example).
plan::Status parseInputOption(mlir::MLIRContext &context, const std::string &text, std::vector<InputSpec> &inputs);

struct ImportOptions {
  std::string file;
  std::vector<InputSpec> inputs;
  /// Dims for which nothing was said become symbols where the model allows it; otherwise all stay constants.
  bool symbolicDims = true;
};

struct ImportReport {
  struct Use {
    std::string path; // of the module; "" for the model itself
    std::string site; // file:line
  };
  struct OpaqueOperator {
    std::string name; // "aten::special_i1"
    std::vector<Use> uses;
  };
  std::vector<OpaqueOperator> opaque; // in order of first use
  std::vector<std::string> remarks;   // what import decided: dims it fixed, buffers whose update is dropped
  size_t operations = 0, moduleCalls = 0, parameters = 0;
};

/// Text of the report's opaque operators: one line each, then where it is used. Says so if there are none.
std::string describeOpaqueOperators(const ImportReport &report);
/// Their number, in a sentence that names the option which lists them. "" if there are none.
std::string summarizeOpaqueOperators(const ImportReport &report);

/// Null after an error, which is reported at the Python line that it concerns. The context needs BraidDialect and
/// its dependents.
mlir::OwningOpRef<mlir::ModuleOp> importTorchScript(mlir::MLIRContext &context, const ImportOptions &options,
                                                    ImportReport *report = nullptr);

} // namespace braid

#endif // BRAID_IMPORT_IMPORT_H
