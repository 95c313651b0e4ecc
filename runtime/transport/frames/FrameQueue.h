//===- FrameQueue.h - What waits to be written to one peer ---- -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages travel in pieces, so that what a rank says of itself never waits for long. The receiver grants the room that
// its peer may fill: a peer that does not receive holds up no more than that, and every connection is always read.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_FRAMES_FRAMEQUEUE_H
#define BRAID_RUNTIME_TRANSPORT_FRAMES_FRAMEQUEUE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace braid::runtime::frames {

enum class FrameKind : uint32_t {
  Piece,    // first: the message's tag, second: its bytes
  Room,     // first: bytes that may be sent on top
  Status,   // first: the rank that the sender waits for, plus 1; second: its position
  Proposal, // first: the rank that failed, then the reason; to rank 0, which decides which failure is the first
  Verdict,  // the same, from rank 0
  Left,     // nothing follows
  LeftSeen,
};

struct Frame {
  FrameKind kind;
  uint32_t bytes; // that follow
  uint64_t first, second;
};
inline constexpr size_t pieceBytes = 256 << 10;
inline constexpr size_t reasonBytes = 8 << 10;
/// What a piece takes of the room beside its bytes.
inline constexpr size_t pieceCost = 64;
inline constexpr size_t roomBytes = 4 << 20;

/// Whether `frame`, which came from outside, is one of ours.
inline bool isFrame(const Frame &frame) { return frame.bytes <= pieceBytes && frame.kind <= FrameKind::LeftSeen; }

class FrameQueue {
public:
  /// A frame and what follows it.
  struct Output {
    Frame frame;
    const char *message; // the piece of a message
    std::string text;    // what follows a frame other than a piece
    size_t written = 0;
    const char *body() const { return message ? message : text.data(); }
  };

  bool isOpen() const { return open; }
  void close() { open = false; }

  /// Puts a message in line, and gives its ticket.
  uint64_t start(const void *data, size_t bytes, uint64_t tag);
  uint64_t finished() const { return finishedSends; }
  /// Of a send that has not finished.
  size_t bytesOf(uint64_t ticket) const { return sends[ticket - finishedSends - 1].bytes; }
  uint64_t tagOf(uint64_t ticket) const { return sends[ticket - finishedSends - 1].tag; }
  /// Puts a frame other than a piece before all messages.
  void say(FrameKind kind, uint64_t first = 0, uint64_t second = 0, std::string text = "");
  /// Of the messages in line nothing more is sent.
  void drop();
  void addRoom(size_t bytes) { room += bytes; }

  /// Between front() and pop().
  bool isWriting() const { return open && current; }
  bool wantsToWrite() const { return open && (current || !words.empty() || canStartPiece()); }
  /// The frame to be written, until pop(); null if there is none.
  Output *front();
  /// All of the front is written.
  void pop();

private:
  struct Send {
    const char *data;
    size_t bytes;
    uint64_t tag;
    size_t written = 0;
  };
  bool canStartPiece() const { return !sends.empty() && room > pieceCost; }

  bool open = true;
  std::deque<Send> sends;
  uint64_t startedSends = 0, finishedSends = 0;
  std::deque<Output> words;
  std::optional<Output> current;
  size_t room = roomBytes;
};

} // namespace braid::runtime::frames

#endif // BRAID_RUNTIME_TRANSPORT_FRAMES_FRAMEQUEUE_H
