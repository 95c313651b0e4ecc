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

uint64_t Link::start(const void *data, size_t bytes, uint64_t tag) {
  sends.push_back({static_cast<const char *>(data), bytes, tag});
  pump();
  return ++startedSends;
}

void Link::say(FrameKind kind, uint64_t first, uint64_t second, std::string text) {
  text.resize(std::min(text.size(), reasonBytes));
  words.push_back({{kind, static_cast<uint32_t>(text.size()), first, second}, nullptr, std::move(text)});
  pump();
}

void Link::drop() {
  // A piece that has begun must end, or what follows could not be read; its buffer may be gone, so its bytes are zeros.
  if (current && current->frame.kind == FrameKind::Piece) {
    current->text.assign(current->frame.bytes, 0);
    current->body = nullptr;
  }
  finishedSends += sends.size();
  sends.clear();
}

void Link::next() {
  if (!words.empty()) {
    current = std::move(words.front());
    words.pop_front();
  } else if (canStartPiece()) {
    Send &send = sends.front();
    size_t bytes = std::min({send.bytes - send.written, pieceBytes, room - pieceCost});
    room -= bytes + pieceCost;
    current =
        Output{{FrameKind::Piece, static_cast<uint32_t>(bytes), send.tag, send.bytes}, send.data + send.written, {}};
  }
}

void Link::finishCurrent() {
  if (current->frame.kind == FrameKind::Piece && !sends.empty()) {
    Send &send = sends.front();
    send.written += current->frame.bytes;
    if (send.written == send.bytes) {
      sends.pop_front();
      ++finishedSends;
    }
  }
  current.reset();
}

void Link::pump() {
  while (open) {
    if (!current)
      next();
    if (!current)
      return;
    const char *bytes = current->body ? current->body : current->text.data();
    size_t header = std::min(current->written, sizeof(Frame)), body = current->written - header;
    iovec parts[] = {{reinterpret_cast<char *>(&current->frame) + header, sizeof(Frame) - header},
                     {const_cast<char *>(bytes) + body, current->frame.bytes - body}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t written = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return; // no room, or a broken connection, which reading will find
    current->written += written;
    if (current->written == sizeof(Frame) + current->frame.bytes)
      finishCurrent();
  }
}

void Link::read(const std::function<void(const Frame &, std::vector<char>)> &take) {
  constexpr int mostFrames = 16; // then other connections have their turn
  for (int frames = 0; open && frames < mostFrames;) {
    bool inHeader = headerGot < sizeof(Frame);
    char *to = inHeader ? reinterpret_cast<char *>(&incoming) + headerGot : body.data() + bodyGot;
    size_t wanted = inHeader ? sizeof(Frame) - headerGot : body.size() - bodyGot;
    ssize_t got = wanted == 0 ? 0 : recv(fd(), to, wanted, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return;
    if (got < 0 || (got == 0 && wanted > 0)) {
      open = false;
      return;
    }
    (inHeader ? headerGot : bodyGot) += got;
    if (inHeader && headerGot == sizeof(Frame)) {
      if (incoming.bytes > pieceBytes || incoming.kind > FrameKind::LeftSeen) {
        open = false; // no frame of ours
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
