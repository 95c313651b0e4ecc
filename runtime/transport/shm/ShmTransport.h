//===- ShmTransport.h - Ranks that are processes of one machine --*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_SHM_SHMTRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_SHM_SHMTRANSPORT_H

#include "runtime/transport/Transport.h"
#include "runtime/transport/shm/Segment.h"

#include <memory>

namespace braid::runtime {

/// Becomes `rank` of the group that shares `segment`, which a parent made before it forked the ranks. Returns when all
/// ranks have come.
plan::Result<std::unique_ptr<Transport>> joinShmGroup(std::shared_ptr<shm::Segment> segment, int rank,
                                                      const TransportOptions &options = {});

/// The same for processes of one user and machine that do not know each other: they meet under `key`, which names the
/// run.
plan::Result<std::unique_ptr<Transport>> meetShmGroup(const std::string &key, int rank, int worldSize,
                                                      const TransportOptions &options = {});

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_SHM_SHMTRANSPORT_H
