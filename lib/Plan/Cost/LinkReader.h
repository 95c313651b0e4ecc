//===- LinkReader.h - Links in YAML -----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_COST_LINKREADER_H
#define BRAID_LIB_PLAN_COST_LINKREADER_H

#include "../Support/YamlReader.h"
#include "braid/Plan/Cost/Network.h"

namespace braid::plan {

/// Reads {latency: 2.0e-6, hop: 0.0, bandwidth: 450.0e9}; what is not there stays as it is in `link`.
Link readLink(const YAML::Node &node, const std::string &what, Link link = {});

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_COST_LINKREADER_H
