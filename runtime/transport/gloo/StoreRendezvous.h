//===- StoreRendezvous.h - A store of c10d as rendezvous ----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_GLOO_STORERENDEZVOUS_H
#define BRAID_RUNTIME_TRANSPORT_GLOO_STORERENDEZVOUS_H

#include "runtime/transport/Rendezvous.h"

#include <c10/util/intrusive_ptr.h>

#include <memory>

namespace c10d {
class Store;
}

namespace braid::runtime {

class StoreRendezvous final : public Rendezvous {
public:
  /// `address` is what ownAddress() returns.
  StoreRendezvous(std::string address, c10::intrusive_ptr<c10d::Store> store);
  ~StoreRendezvous() override;

  const c10::intrusive_ptr<c10d::Store> &store() const { return opened; }
  std::string ownAddress() const override { return address; }
  plan::Status set(const std::string &key, const std::string &value) override;
  plan::Result<std::string> get(const std::string &key, std::chrono::milliseconds time) override;

private:
  std::string address;
  c10::intrusive_ptr<c10d::Store> opened;
};

/// A c10d::TCPStore that rank 0 serves on the loopback, at the socket `listener`, which all ranks were forked with and
/// which listens on `port`.
plan::Result<std::unique_ptr<StoreRendezvous>> openLocalStore(int listener, const std::string &port, int rank,
                                                              std::chrono::milliseconds deadline);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_GLOO_STORERENDEZVOUS_H
