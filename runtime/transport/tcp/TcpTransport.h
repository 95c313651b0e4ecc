//===- TcpTransport.h - Ranks on several machines ----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pair of ranks has one TCP connection. Ranks find each other through a store of keys and values, of which they
// need nothing more once all have come.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_TCP_TCPTRANSPORT_H
#define BRAID_RUNTIME_TRANSPORT_TCP_TCPTRANSPORT_H

#include "runtime/transport/Transport.h"

#include <memory>

namespace braid::runtime {

/// Where ranks leave word for each other.
class Rendezvous {
public:
  virtual ~Rendezvous() = default;
  /// The address of this machine that the other ranks can reach.
  virtual std::string ownAddress() const = 0;
  virtual plan::Status set(const std::string &key, const std::string &value) = 0;
  /// Waits until the key is there; fails after `time`.
  virtual plan::Result<std::string> get(const std::string &key, std::chrono::milliseconds time) = 0;
};

/// Becomes `rank` of a group of `size`. Returns when all ranks have come. Ranks trust each other and the network
/// between them: messages are neither encrypted nor signed, but a connection must know the word that rank 0 left.
plan::Result<std::unique_ptr<Transport>> joinTcpGroup(Rendezvous &rendezvous, int rank, int size,
                                                      const TransportOptions &options = {});

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_TCP_TCPTRANSPORT_H
