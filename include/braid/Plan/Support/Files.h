//===- Files.h - Files that people name ----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_FILES_H
#define BRAID_PLAN_SUPPORT_FILES_H

#include "braid/Plan/Support/Result.h"

#include <string>

namespace braid::plan {

/// An error where something is at the path that is no regular file: a folder holds no text, and reading a pipe or a
/// device may never end. Whether there is anything at all shows when it is opened.
Status checkRegularFile(const std::string &path);

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_FILES_H
