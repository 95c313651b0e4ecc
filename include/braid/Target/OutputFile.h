//===- OutputFile.h - Where a tool writes --------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TARGET_OUTPUTFILE_H
#define BRAID_TARGET_OUTPUTFILE_H

#include "braid/Plan/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace braid {

/// Whether a tool may write there: the folder exists, the path is no folder, and it is none of the tool's inputs. Asked
/// before the work is done. "-" is standard output.
plan::Status checkOutput(llvm::StringRef output, llvm::ArrayRef<llvm::StringRef> inputs);

/// Has `make` fill a new file beside `output` and puts it in its place: what was there stays until the new file is
/// whole, and for good after an error.
plan::Status replaceFile(llvm::StringRef output, llvm::function_ref<plan::Status(llvm::StringRef path)> make);

/// Writes a file, by replaceFile(), or, for "-", to standard output. An error where not everything could be written.
plan::Status writeOutput(llvm::StringRef output, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace braid

#endif // BRAID_TARGET_OUTPUTFILE_H
