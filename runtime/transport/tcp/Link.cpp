//===- Link.cpp - Frames over the connection to one peer ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/tcp/Link.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <sys/uio.h>

namespace braid::runtime::tcp {

using namespace frames;

void Link::pump() {
  while (queue.isOpen()) {
    FrameQueue::Output *output = queue.front();
    if (!output)
      return;
    size_t header = std::min(output->written, sizeof(Frame)), body = output->written - header;
    iovec parts[] = {{reinterpret_cast<char *>(&output->frame) + header, sizeof(Frame) - header},
                     {const_cast<char *>(output->body()) + body, output->frame.bytes - body}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t written = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return; // no room, or a broken connection, which reading will find
    output->written += written;
    if (output->written == sizeof(Frame) + output->frame.bytes)
      queue.pop();
  }
}

void Link::read(const std::function<void(const Frame &, std::vector<char>)> &take) {
  constexpr int mostFrames = 16; // then other connections have their turn
  for (int frames = 0; queue.isOpen() && frames < mostFrames;) {
    bool inHeader = headerGot < sizeof(Frame);
    char *to = inHeader ? reinterpret_cast<char *>(&incoming) + headerGot : body.data() + bodyGot;
    size_t wanted = inHeader ? sizeof(Frame) - headerGot : body.size() - bodyGot;
    ssize_t got = wanted == 0 ? 0 : recv(fd(), to, wanted, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return;
    if (got < 0 || (got == 0 && wanted > 0)) {
      queue.close();
      return;
    }
    (inHeader ? headerGot : bodyGot) += got;
    if (inHeader && headerGot == sizeof(Frame)) {
      if (!isFrame(incoming)) {
        queue.close();
        return;
      }
      body.assign(incoming.bytes, 0);
      bodyGot = 0;
    }
    if (headerGot == sizeof(Frame) && bodyGot == body.size()) {
      headerGot = 0;
      ++frames;
      take(incoming, std::move(body));
      body.clear();
    }
  }
}

} // namespace braid::runtime::tcp
