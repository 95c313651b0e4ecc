//===- TcpTransport.h - Ranks on several machines ------------- -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pair of ranks has one TCP connection.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_TCP_TCPTRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_TCP_TCPTRANSPORT_H

#include "runtime/transport/Rendezvous.h"

#include <memory>

namespace braid::runtime {

/// Becomes `rank` of a group of `size`. Returns when all ranks have come. Ranks trust each other and the network
/// between them: messages are neither encrypted nor signed, but a connection must know the word that rank 0 left.
plan::Result<std::unique_ptr<Transport>> joinTcpGroup(Rendezvous &rendezvous, int rank, int size,
                                                      const TransportOptions &options = {});

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_TCP_TCPTRANSPORT_H
