//===- FrameQueue.cpp - What waits to be written to one peer --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/frames/FrameQueue.h"

#include <algorithm>

namespace braid::runtime::frames {

uint64_t FrameQueue::start(const void *data, size_t bytes, uint64_t tag) {
  sends.push_back({static_cast<const char *>(data), bytes, tag});
  return ++startedSends;
}

void FrameQueue::say(FrameKind kind, uint64_t first, uint64_t second, std::string text) {
  text.resize(std::min(text.size(), reasonBytes));
  words.push_back({{kind, static_cast<uint32_t>(text.size()), first, second}, nullptr, std::move(text)});
}

void FrameQueue::drop() {
  // A piece that has begun must end, or what follows could not be read; its buffer may be gone, so its bytes are zeros.
  if (current && current->frame.kind == FrameKind::Piece) {
    current->text.assign(current->frame.bytes, 0);
    current->message = nullptr;
  }
  finishedSends += sends.size();
  sends.clear();
}

FrameQueue::Output *FrameQueue::front() {
  if (!current && !words.empty()) {
    current = std::move(words.front());
    words.pop_front();
  } else if (!current && canStartPiece()) {
    Send &send = sends.front();
    size_t bytes = std::min({send.bytes - send.written, pieceBytes, room - pieceCost});
    room -= bytes + pieceCost;
    current =
        Output{{FrameKind::Piece, static_cast<uint32_t>(bytes), send.tag, send.bytes}, send.data + send.written, {}};
  }
  return current ? &*current : nullptr;
}

void FrameQueue::pop() {
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

} // namespace braid::runtime::frames
