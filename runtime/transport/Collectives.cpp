//===- Collectives.cpp - Collectives over plain messages ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/Collectives.h"

#include <algorithm>
#include <vector>

namespace braid::runtime {

using plan::Error;
using plan::Result;
using plan::Status;

const char *collectiveOfTag(uint64_t tag) {
  switch (tag) {
  case barrierTag:
    return "a barrier";
  case allReduceTag:
    return "an all-reduce";
  case broadcastTag:
    return "a broadcast";
  default:
    return tag >= Transport::reservedTags ? "a collective" : nullptr;
  }
}

Status Transport::send(int peer, const void *data, size_t bytes, uint64_t tag) {
  Result<Transfer> transfer = isend(peer, data, bytes, tag);
  if (!transfer)
    return Error{transfer.error()};
  return wait(*transfer);
}

namespace {

/// Starts sends and waits for all of them.
class Sends {
public:
  explicit Sends(Transport &transport) : transport(transport) {}

  Status start(int peer, const void *data, size_t bytes, uint64_t tag) {
    Result<Transfer> transfer = transport.isend(peer, data, bytes, tag);
    if (!transfer)
      return Error{transfer.error()};
    transfers.push_back(*transfer);
    return {};
  }

  Status wait() {
    for (const Transfer &transfer : transfers)
      if (Status status = transport.wait(transfer); !status)
        return status;
    transfers.clear();
    return {};
  }

private:
  Transport &transport;
  std::vector<Transfer> transfers;
};

/// The part of `count` values that `rank` adds up.
struct Slice {
  size_t begin, end;
  Slice(size_t count, int rank, int size)
      : begin(count / size * rank + std::min<size_t>(rank, count % size)),
        end(begin + count / size + (size_t(rank) < count % size)) {}
  size_t bytes() const { return (end - begin) * sizeof(double); }
};

} // namespace

// Each rank adds up one slice, in the order of ranks, and sends the sums to the others: every value is added up on one
// rank only, so all ranks get the same bits, and each rank sends and receives 2 (size - 1) / size of the values.
Status Transport::allReduceSum(double *values, size_t count) {
  // Below this, a second round of messages costs more than adding everything up on every rank, in the same order.
  constexpr size_t fewValues = 1024;
  bool everywhere = count <= fewValues;
  auto sliceOf = [&](int r) { return everywhere ? Slice(count, 0, 1) : Slice(count, r, size()); };

  Sends sends(*this);
  Slice own = sliceOf(rank());
  std::vector<double> sums(own.end - own.begin), received(own.end - own.begin);
  for (int step = 1; step < size(); ++step) {
    int peer = (rank() + step) % size();
    Slice slice = sliceOf(peer);
    if (Status status = sends.start(peer, values + slice.begin, slice.bytes(), allReduceTag); !status)
      return status;
  }
  for (int source = 0; source < size(); ++source) {
    const double *terms = values + own.begin;
    if (source != rank()) {
      if (Status status = recv(source, received.data(), own.bytes(), allReduceTag); !status)
        return status;
      terms = received.data();
    }
    for (size_t i = 0; i != sums.size(); ++i)
      sums[i] = source == 0 ? terms[i] : sums[i] + terms[i];
  }
  if (Status status = sends.wait(); !status)
    return status;
  std::copy(sums.begin(), sums.end(), values + own.begin);
  if (everywhere)
    return {};

  for (int step = 1; step < size(); ++step)
    if (Status status = sends.start((rank() + step) % size(), values + own.begin, own.bytes(), allReduceTag); !status)
      return status;
  for (int step = 1; step < size(); ++step) {
    int peer = (rank() + step) % size();
    Slice slice = sliceOf(peer);
    if (Status status = recv(peer, values + slice.begin, slice.bytes(), allReduceTag); !status)
      return status;
  }
  return sends.wait();
}

// After round k a rank has heard, directly or not, of the 2^(k+1) - 1 ranks before it.
Status Transport::barrier() {
  for (int distance = 1; distance < size(); distance *= 2) {
    Sends sends(*this);
    if (Status status = sends.start((rank() + distance) % size(), nullptr, 0, barrierTag); !status)
      return status;
    if (Status status = recv((rank() + size() - distance) % size(), nullptr, 0, barrierTag); !status)
      return status;
    if (Status status = sends.wait(); !status)
      return status;
  }
  return poll();
}

Status Transport::broadcast(void *data, size_t bytes, int root) {
  if (root < 0 || root >= size())
    return Error{"rank " + std::to_string(rank()) + " was asked to take a broadcast of rank " + std::to_string(root) +
                 ", but the ranks of this run are 0 to " + std::to_string(size() - 1)};
  if (rank() != root)
    return recv(root, data, bytes, broadcastTag);
  Sends sends(*this);
  for (int step = 1; step < size(); ++step)
    if (Status status = sends.start((rank() + step) % size(), data, bytes, broadcastTag); !status)
      return status;
  return sends.wait();
}

} // namespace braid::runtime
