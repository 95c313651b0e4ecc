//===- HardwareReader.h - Figures of hardware in YAML -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_PLAN_COST_HARDWAREREADER_H
#define BRAID_LIB_PLAN_COST_HARDWAREREADER_H

#include "../Support/YamlReader.h"
#include "braid/Plan/Cost/Hardware.h"

namespace braid::plan {

/// Reads {latency: 2.0e-6, hop: 0.0, bandwidth: 450.0e9}; what is not there stays as it is in `link`.
Link readLink(const YAML::Node &node, const std::string &what, Link link = {});

/// Keys of a device's and its links' figures, as in Hardware.yaml.
const std::vector<std::string> &hardwareKeys();
/// Reads the value of one of them into `hardware`; what a map of it leaves out stays as it is.
void readFigure(const std::string &key, const YAML::Node &value, const std::string &what, Hardware &hardware);

} // namespace braid::plan

#endif // BRAID_LIB_PLAN_COST_HARDWAREREADER_H
