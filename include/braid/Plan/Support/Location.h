//===- Location.h - A place in a file ---------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_LOCATION_H
#define BRAID_PLAN_SUPPORT_LOCATION_H

namespace braid::plan {

/// Where something is written, for diagnostics that come later. Lines and columns count from 1; 0 is unknown.
struct FileLocation {
  int line = 0, column = 0;
};

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_LOCATION_H
