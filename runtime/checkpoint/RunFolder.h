//===- RunFolder.h - The folder of --out -------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CHECKPOINT_RUNFOLDER_H
#define BRAID_RUNTIME_CHECKPOINT_RUNFOLDER_H

#include "braid/Plan/Support/Result.h"

#include <string>

namespace braid::runtime {

inline constexpr const char *metricsName = "metrics.jsonl";
inline constexpr const char *modelName = "model.safetensors";
inline constexpr const char *gradientsName = "gradients.safetensors";
inline constexpr const char *checkpointsName = "checkpoints"; // a folder

/// Creates the folder where it is missing. One that holds an earlier run is refused, unless the run goes on from the
/// checkpoint `resumed` in it, or is emptied of that run with `overwrite`; other files in it are left alone.
plan::Status prepareRunFolder(const std::string &folder, bool overwrite, const std::string &resumed);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CHECKPOINT_RUNFOLDER_H
