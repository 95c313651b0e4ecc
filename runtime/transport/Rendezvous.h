//===- Rendezvous.h - Where ranks leave word for each other --- -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_RENDEZVOUS_H
#define BRAID_RUNTIME_TRANSPORT_RENDEZVOUS_H

#include "runtime/transport/Transport.h"

#include <vector>

namespace braid::runtime {

/// A store of keys and values, of which ranks need nothing more once all have come.
class Rendezvous {
public:
  virtual ~Rendezvous() = default;
  /// The address of this machine that the other ranks can reach.
  virtual std::string ownAddress() const = 0;
  virtual plan::Status set(const std::string &key, const std::string &value) = 0;
  /// Waits until the key is there; fails after `time`.
  virtual plan::Result<std::string> get(const std::string &key, std::chrono::milliseconds time) = 0;
};

/// Leaves the word of `rank`, and returns those of all ranks; fails with the first that left none by `deadline`.
plan::Result<std::vector<std::string>> exchangeWords(Rendezvous &rendezvous, int rank, int size, const std::string &own,
                                                     std::chrono::milliseconds deadline);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_RENDEZVOUS_H
