//===- NoGloo.cpp - A runtime that was built without gloo -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/gloo/GlooTransport.h"

using namespace braid;

bool runtime::hasGloo() { return false; }

plan::Result<std::unique_ptr<runtime::Transport>> runtime::joinGlooGroup(StoreRendezvous &, int, int,
                                                                         const TransportOptions &) {
  return plan::Error{"this runtime was built without gloo"};
}
