//===- GlooKinds.cpp - The transport over gloo ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/conformance/Ranks.h"
#include "runtime/transport/gloo/GlooTransport.h"

namespace braid::runtime::conformance {

const std::vector<Kind> testedKinds = {Kind::Gloo};

plan::Result<std::unique_ptr<Transport>> joinGloo(int listener, const std::string &port, int rank, int size,
                                                  const TransportOptions &options) {
  plan::Result<std::unique_ptr<StoreRendezvous>> store = openLocalStore(listener, port, rank, options.deadline);
  if (!store)
    return plan::Error{store.error()};
  return joinGlooGroup(**store, rank, size, options);
}

} // namespace braid::runtime::conformance
