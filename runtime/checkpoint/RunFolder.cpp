//===- RunFolder.cpp - The folder of --out --------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/RunFolder.h"
#include "runtime/core/Text.h"

#include <filesystem>

using namespace braid;
using namespace braid::runtime;
namespace fs = std::filesystem;

/// Whether `path` lies in `folder`.
static bool isWithin(const fs::path &path, const fs::path &folder) {
  std::error_code error;
  fs::path relative = fs::relative(path, folder, error);
  return !error && !relative.empty() && *relative.begin() != "..";
}

plan::Status runtime::prepareRunFolder(const std::string &folder, bool overwrite, const std::string &resumed) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    return plan::Error{text("cannot create the folder ", folder,
                            " of --out: ", error ? error.message() : std::string("there is a file of that name"))};
  std::vector<std::string> found;
  if (!resumed.empty() && isWithin(resumed, folder)) {
    if (overwrite)
      return plan::Error{text("--overwrite would remove ", resumed,
                              ", which the run is to resume from; name another "
                              "folder in --out, or leave --overwrite out")};
    return {};
  }
  for (const char *name : {metricsName, modelName, gradientsName, checkpointsName})
    if (fs::exists(fs::symlink_status(fs::path(folder) / name, error)))
      found.push_back(name);
  if (!found.empty() && !overwrite)
    return plan::Error{text("the folder ", folder, " of --out holds an earlier run (", joined(found),
                            "); name another folder, or pass --overwrite to remove it")};
  for (const std::string &name : found) {
    fs::remove_all(fs::path(folder) / name, error);
    if (error)
      return plan::Error{text("cannot remove ", folder, "/", name, " for --overwrite: ", error.message())};
  }
  return {};
}
