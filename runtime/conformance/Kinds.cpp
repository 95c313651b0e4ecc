//===- Kinds.cpp - The transports that need no LibTorch ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/conformance/Ranks.h"

namespace braid::runtime::conformance {

const std::vector<Kind> testedKinds = {Kind::Threads, Kind::BlockingThreads, Kind::ShmThreads,
                                       Kind::ShmFork, Kind::ShmName,         Kind::Tcp};

plan::Result<std::unique_ptr<Transport>> joinGloo(int, const std::string &, int, int, const TransportOptions &) {
  return plan::Error{"this test program has no gloo"};
}

} // namespace braid::runtime::conformance
