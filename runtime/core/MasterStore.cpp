//===- MasterStore.cpp - Meeting at MASTER_ADDR:MASTER_PORT ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/MasterStore.h"
#include "runtime/aten/Message.h"
#include "runtime/core/Text.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <charconv>
#include <cstring>
#include <future>
#include <thread>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

/// The address of this machine on the way to another one. Nothing is sent: connecting a datagram socket chooses a
/// route.
static plan::Result<std::string> addressTowards(const std::string &host, const std::string &port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    return plan::Error{text("the host '", host, "' of MASTER_ADDR cannot be found: ", gai_strerror(error),
                            "; set it to the name or address of the machine of rank 0")};
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  char name[NI_MAXHOST];
  bool known =
      fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr *>(&own), &length) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr *>(&own), length, name, sizeof name, nullptr, 0, NI_NUMERICHOST) == 0;
  if (fd >= 0)
    close(fd);
  freeaddrinfo(found);
  if (!known)
    return plan::Error{text("there is no way from this machine to ", host, " of MASTER_ADDR: ", std::strerror(errno))};
  return std::string(name);
}

/// A store that has answered. Its client waits without an end where another service has the port, in a thread that is
/// left behind then. Throws.
static c10::intrusive_ptr<c10d::TCPStore> openStore(const std::string &host, const c10d::TCPStoreOptions &options) {
  std::packaged_task<c10::intrusive_ptr<c10d::TCPStore>()> task(
      [=] { return c10::make_intrusive<c10d::TCPStore>(host, options); });
  std::future<c10::intrusive_ptr<c10d::TCPStore>> store = task.get_future();
  std::thread(std::move(task)).detach();
  if (store.wait_for(options.timeout + std::chrono::seconds(1)) == std::future_status::timeout)
    throw std::runtime_error("what listens there does not answer as a store of torch.distributed; choose another port");
  return store.get();
}

plan::Result<std::unique_ptr<StoreRendezvous>> runtime::openStoreRendezvous(const LaunchInfo &launch,
                                                                            const Environment &environment,
                                                                            std::chrono::milliseconds deadline) {
  auto variable = [&](const char *name) {
    const char *value = environment(name);
    return std::string(value ? value : "");
  };
  std::string host = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  for (auto [name, value] : {std::pair("MASTER_ADDR", host), std::pair("MASTER_PORT", port)})
    if (value.empty())
      return plan::Error{
          text(launchSourceName(launch.source), " started ", launch.worldSize, " ranks, and ", name,
               " is not set; set MASTER_ADDR to the machine of rank 0 and MASTER_PORT to a free port of it")};
  c10d::TCPStoreOptions options;
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (error != std::errc() || end != port.data() + port.size() || options.port == 0)
    return plan::Error{text("MASTER_PORT is '", port, "', which is no port; set it to a number from 1 to 65535")};
  plan::Result<std::string> address = addressTowards(host, port);
  if (!address)
    return plan::Error{address.error()};
  // As torch.distributed does: where torchrun's agent serves the store, no rank does.
  options.isServer = launch.rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
  options.waitWorkers = false;
  options.timeout = deadline;
  try {
    c10::intrusive_ptr<c10d::TCPStore> store = openStore(host, options);
    std::string prefix = text("braid/", variable("TORCHELASTIC_RUN_ID"), "/", variable("TORCHELASTIC_RESTART_COUNT"));
    return std::make_unique<StoreRendezvous>(std::move(*address),
                                             c10::make_intrusive<c10d::PrefixStore>(prefix, store));
  } catch (const std::exception &error) {
    return plan::Error{text("rank ", launch.rank, " cannot ", options.isServer ? "serve" : "reach", " the store at ",
                            host, ":", port, " of MASTER_ADDR and MASTER_PORT: ", firstLine(error))};
  }
}
