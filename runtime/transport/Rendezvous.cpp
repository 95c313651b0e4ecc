//===- Rendezvous.cpp - Where ranks leave word for each other -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Rendezvous.h"
#include "runtime/transport/Words.h"

#include <algorithm>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;
using Clock = std::chrono::steady_clock;

static std::string keyOf(int rank) { return "rank" + std::to_string(rank); }

Result<std::vector<std::string>> exchangeWords(Rendezvous &rendezvous, int rank, int size, const std::string &own,
                                               std::chrono::milliseconds deadline) {
  Clock::time_point start = Clock::now();
  if (Status status = rendezvous.set(keyOf(rank), own); !status)
    return Error{status.error()};
  std::vector<std::string> words(size);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) {
      words[peer] = own;
      continue;
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(start + deadline - Clock::now());
    Result<std::string> found = rendezvous.get(keyOf(peer), std::max(left, std::chrono::milliseconds(1)));
    if (!found)
      return Error{
          words::notStarted(rank, Clock::now() - start, "rank " + std::to_string(peer), " (" + found.error() + ")")};
    words[peer] = std::move(*found);
  }
  return words;
}

} // namespace braid::runtime
