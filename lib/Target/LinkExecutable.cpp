//===- LinkExecutable.cpp - Runs the linker driver ------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Target/Executable.h"

#include "LibraryDirs.h"

#include "braid/Target/OutputFile.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace braid {

static FailureOr<std::string> findDriver(Location loc) {
#ifdef BRAID_SANITIZE
  return std::string(BRAID_CXX_COMPILER);
#endif
  for (StringRef name : {"clang++-22", "clang++", "c++"})
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
      return *found;
  return mlir::emitError(loc) << "no linker driver is on the PATH: install clang or g++";
}

/// lld, which is faster than the other linkers: on the PATH, else beside the LLVM that braid was built with.
static std::vector<std::string> lldArguments() {
  if (llvm::sys::findProgramByName("ld.lld"))
    return {"-fuse-ld=lld"};
  if (llvm::sys::findProgramByName("ld.lld", {BRAID_LLVM_TOOLS_DIR}))
    return {"-fuse-ld=lld", "-B" BRAID_LLVM_TOOLS_DIR};
  return {};
}

static std::string runtimeDir(const LinkOptions &options) {
  if (!options.runtimeLibraryDir.empty())
    return options.runtimeLibraryDir;
  return llvm::sys::Process::GetEnv("BRAID_RUNTIME_DIR").value_or(BRAID_RUNTIME_LIBRARY_DIR);
}

static std::vector<std::string> torchDirs() {
  std::string dirs = llvm::sys::Process::GetEnv("BRAID_TORCH_LIBRARY_DIRS").value_or(BRAID_TORCH_LIBRARY_DIRS);
  SmallVector<StringRef> parts;
  StringRef(dirs).split(parts, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

LogicalResult linkExecutable(MLIRContext *context, StringRef objectPath, StringRef outputPath,
                             const LinkOptions &options) {
  Location loc = UnknownLoc::get(context);
  FailureOr<std::string> driver = findDriver(loc);
  if (failed(driver))
    return failure();
  std::string runtime = runtimeDir(options);
  SmallString<128> library(runtime);
  llvm::sys::path::append(library, "libbraid_rt.so");
  if (!llvm::sys::fs::exists(library))
    return mlir::emitError(loc) << "there is no libbraid_rt.so in '" << runtime
                                << "': build the runtime, or set BRAID_RUNTIME_DIR to its folder";

  std::vector<std::string> command = {*driver, objectPath.str()};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  llvm::append_range(command, lldArguments());
#ifdef BRAID_SANITIZE
  command.push_back("-fsanitize=" BRAID_SANITIZE);
#endif
  command.insert(command.end(), {"-L" + runtime, "-lbraid_rt", "-Wl,-rpath," + runtime});
  for (const std::string &dir : torchDirs())
    command.push_back("-Wl,-rpath," + dir);
  command.insert(command.end(), {"-Wl,--gc-sections", "-o"});

  // What the driver prints goes to a file, which ends with this call.
  SmallString<128> log;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("braid-link", "log", log))
    return mlir::emitError(loc) << "cannot make a temporary file: " << error.message();
  llvm::scope_exit removeLog([&] { llvm::sys::fs::remove(log); });
  plan::Status linked = replaceFile(outputPath, [&](StringRef path) -> plan::Status {
    std::vector<StringRef> arguments(command.begin(), command.end());
    arguments.push_back(path);
    std::optional<StringRef> redirects[] = {StringRef(), StringRef(log), StringRef(log)};
    std::string error;
    int status = llvm::sys::ExecuteAndWait(*driver, arguments, std::nullopt, redirects, 0, 0, &error);
    if (status == 0)
      return {};
    std::string why = "linking '" + outputPath.str() + "' failed (" +
                      (status < 0 ? error : "exit status " + std::to_string(status)) +
                      "): " + llvm::join(arguments, " ");
    auto output = llvm::MemoryBuffer::getFile(log);
    StringRef printed = output ? (*output)->getBuffer().trim() : StringRef();
    return plan::Error{printed.empty() ? why : why + "\n" + printed.str()};
  });
  if (!linked)
    return mlir::emitError(loc) << linked.error();
  return success();
}

} // namespace braid
