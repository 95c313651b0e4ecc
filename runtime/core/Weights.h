//===- Weights.h - The model's weight file -----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_WEIGHTS_H
#define BRAID_RUNTIME_CORE_WEIGHTS_H

#include "braid/Plan/File/Archive.h"
#include "runtime/aten/Tensor.h"
#include "runtime/core/Program.h"
#include "runtime/data/MappedFile.h"

#include <string>

namespace braid::runtime {

/// The .pt file that the program was compiled from, mapped. Parameters start with what it holds.
class Weights {
public:
  /// `given` is the user's choice or empty. Else the file is looked for where the plan says, then beside the
  /// executable. Refuses a file other than the one that was compiled.
  static plan::Result<Weights> open(const Program &program, const std::string &given);

  /// Whether the bytes of this rank's parameters are those that the archive's directory has checksums of.
  plan::Status check(const Program &program, int rank) const;

  /// What is updated gets memory of its own; anything else stays in the mapped file.
  Tensor load(const ModelParameter &parameter) const;

private:
  Weights(std::shared_ptr<const MappedFile> file, std::vector<plan::ArchiveRecord> records);

  std::shared_ptr<const MappedFile> file;
  std::vector<plan::ArchiveRecord> records; // by their offset
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_WEIGHTS_H
