//===- MasterStore.h - Meeting at MASTER_ADDR:MASTER_PORT ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_MASTERSTORE_H
#define BRAID_RUNTIME_CORE_MASTERSTORE_H

#include "runtime/core/Launch.h"
#include "runtime/transport/gloo/StoreRendezvous.h"

namespace braid::runtime {

/// Ranks meet as PyTorch's do: at the c10d::TCPStore that torchrun's agent serves, or else rank 0, at the address and
/// port of the environment (MASTER_ADDR, MASTER_PORT). Rank 0 must outlive the meeting only.
plan::Result<std::unique_ptr<StoreRendezvous>>
openStoreRendezvous(const LaunchInfo &launch, const Environment &environment, std::chrono::milliseconds deadline);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_MASTERSTORE_H
