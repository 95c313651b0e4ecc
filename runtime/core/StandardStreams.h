//===- StandardStreams.h - Input and output of the process -------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_STANDARDSTREAMS_H
#define BRAID_RUNTIME_CORE_STANDARDSTREAMS_H

namespace braid::runtime {

/// Puts /dev/null where the parent closed standard input, output or error. Otherwise the next files that are opened
/// take those numbers, and progress is printed into the metrics.
void openStandardStreams();

/// The exit status of a process whose output is through: `status`, or 1 with a message where standard output could not
/// take what was printed.
int flushStandardOutput(int status);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_STANDARDSTREAMS_H
