//===- StoreRendezvous.cpp - A store of c10d as rendezvous ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/gloo/StoreRendezvous.h"
#include "runtime/aten/Message.h"

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

using namespace braid;
using namespace braid::runtime;

StoreRendezvous::StoreRendezvous(std::string address, c10::intrusive_ptr<c10d::Store> store)
    : address(std::move(address)), opened(std::move(store)) {}

StoreRendezvous::~StoreRendezvous() = default;

plan::Status StoreRendezvous::set(const std::string &key, const std::string &value) {
  try {
    opened->set(key, std::vector<uint8_t>(value.begin(), value.end()));
    return {};
  } catch (const std::exception &error) {
    return plan::Error{std::string("the store that the ranks meet at does not answer: ") + firstLine(error)};
  }
}

plan::Result<std::string> StoreRendezvous::get(const std::string &key, std::chrono::milliseconds time) {
  try {
    opened->wait({key}, time);
    std::vector<uint8_t> value = opened->get(key);
    return std::string(value.begin(), value.end());
  } catch (const std::exception &error) {
    return plan::Error{firstLine(error)};
  }
}

plan::Result<std::unique_ptr<StoreRendezvous>> runtime::openLocalStore(int listener, const std::string &port, int rank,
                                                                       std::chrono::milliseconds deadline) {
  const std::string host = "127.0.0.1";
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(std::stoi(port));
  options.waitWorkers = false;
  options.timeout = deadline;
  if (rank == 0) {
    options.isServer = true;
    options.masterListenFd = listener;
  }
  try {
    return std::make_unique<StoreRendezvous>(host, c10::make_intrusive<c10d::TCPStore>(host, options));
  } catch (const std::exception &error) {
    return plan::Error{std::string("the store that the ranks meet at cannot be opened: ") + firstLine(error)};
  }
}
