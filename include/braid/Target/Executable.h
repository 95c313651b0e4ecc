//===- Executable.h - From LLVM dialect to a linked program --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last phase: the module that rt-to-llvm leaves becomes an object file, and the object an executable that finds
// libbraid_rt and LibTorch where they were when braid was built, unless options or environment variables say otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TARGET_EXECUTABLE_H
#define BRAID_TARGET_EXECUTABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace braid {

struct CodegenOptions {
  /// The processor, as clang's -march takes it: "x86-64", "x86-64-v3", ...; "native" is this machine's.
  std::string march = "x86-64";
  /// 0 to 2. Compiled code only prepares calls, so 1, which is cheap, is also fast.
  unsigned optimization = 1;
};

struct LinkOptions {
  /// Where libbraid_rt.so is. Default: the environment's BRAID_RUNTIME_DIR, then the build folder.
  std::string runtimeLibraryDir;
  /// Passed to the driver as they are, before the libraries: more objects, flags.
  std::vector<std::string> arguments;
};

/// What emitObject needs in the context's registry.
void registerCodegenTranslations(mlir::DialectRegistry &registry);

/// An ELF object. Fails after an error at the module.
llvm::FailureOr<llvm::SmallVector<char, 0>> emitObject(mlir::ModuleOp module, const CodegenOptions &options);

/// Links an object into an executable, by running the first of clang++-22, clang++ and c++ on the PATH, without a
/// shell. The folders of LibTorch and what it needs are BRAID_TORCH_LIBRARY_DIRS (separated by colons), or those that
/// braid was built with. Fails after an error with the command and what it printed; what the output file held is then
/// still there.
llvm::LogicalResult linkExecutable(mlir::MLIRContext *context, llvm::StringRef objectPath, llvm::StringRef outputPath,
                                   const LinkOptions &options);

} // namespace braid

#endif // BRAID_TARGET_EXECUTABLE_H
