//===- Link.h - Frames over the connection to one peer -------- -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_TCP_LINK_H
#define BRAID_RUNTIME_TRANSPORT_TCP_LINK_H

#include "runtime/transport/frames/FrameQueue.h"
#include "runtime/transport/tcp/Meeting.h"

#include <functional>
#include <vector>

namespace braid::runtime::tcp {

class Link {
public:
  /// `queue` must outlive the link, which closes it with the connection.
  Link(Socket socket, frames::FrameQueue &queue) : socket(std::move(socket)), queue(queue) {}

  int fd() const { return socket.get(); }

  /// Writes what can be written without waiting.
  void pump();

  /// Reads what has come and hands over each whole frame.
  void read(const std::function<void(const frames::Frame &, std::vector<char>)> &take);

private:
  Socket socket;
  frames::FrameQueue &queue;
  frames::Frame incoming{};
  size_t headerGot = 0, bodyGot = 0;
  std::vector<char> body;
};

} // namespace braid::runtime::tcp

#endif // BRAID_RUNTIME_TRANSPORT_TCP_LINK_H
