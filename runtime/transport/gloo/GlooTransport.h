//===- GlooTransport.h - Ranks connected by c10d and gloo ----- -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frames over the pairs of c10d's ProcessGroupGloo, for clusters where gloo is what is set up and known to work. Gloo
// can only wait, not look whether something has come, so each peer has a thread that reads and one that writes.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_GLOO_GLOOTRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_GLOO_GLOOTRANSPORT_H

#include "runtime/transport/gloo/StoreRendezvous.h"

namespace braid::runtime {

/// Whether this runtime was built with gloo's headers. Without them joinGlooGroup() is an error.
bool hasGloo();

/// Becomes `rank` of a group of `size`. Returns when all ranks have come. Gloo binds to the rendezvous' own address.
plan::Result<std::unique_ptr<Transport>> joinGlooGroup(StoreRendezvous &rendezvous, int rank, int size,
                                                       const TransportOptions &options = {});

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_GLOO_GLOOTRANSPORT_H
