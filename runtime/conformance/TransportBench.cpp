//===- TransportBench.cpp - What a message between two ranks costs --------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints one JSON line: for two local ranks and each size in bytes, the median time in us of half a round trip
// (one_way) and of both ranks sending to each other at once (opposing); `copy` is one memcpy of that size in one
// process. Then an all-reduce of one value, and a barrier.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Launch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <sched.h>

using namespace braid::runtime;
using braid::plan::Result;
using Clock = std::chrono::steady_clock;

namespace {

/// The median time of `run`, in us. Every rank calls it alike. Each call is timed by itself: on a machine that is busy
/// with something else, a mean would tell how often the two ranks lost their cores.
template <typename Run> double median(size_t samples, const Run &run) {
  std::vector<double> times;
  for (size_t sample = 0; sample < samples + samples / 4; ++sample) {
    auto start = Clock::now();
    run();
    if (sample >= samples / 4) // the first ones touch pages
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void need(const braid::plan::Status &status) {
  if (status)
    return;
  std::fprintf(stderr, "%s\n", status.error().c_str());
  std::exit(1);
}

int bench(const LaunchInfo &launch) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(launch.rank, &core);
  sched_setaffinity(0, sizeof core, &core);
  Result<std::unique_ptr<Transport>> made = makeTransport(launch);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().c_str());
    return 1;
  }
  Transport &transport = **made;
  int peer = 1 - transport.rank();
  std::string line = "{";
  char text[200];
  for (size_t bytes : {size_t(8), size_t(4) << 10, size_t(256) << 10, size_t(4) << 20, size_t(64) << 20}) {
    std::vector<char> out(bytes, 1), in(bytes, 2);
    size_t samples = std::clamp<size_t>((size_t(1) << 30) / bytes, 16, 10000);
    double oneWay = median(samples, [&] {
      if (transport.rank() == 0)
        need(transport.send(peer, out.data(), bytes, 1));
      need(transport.recv(peer, in.data(), bytes, 1));
      if (transport.rank() == 1)
        need(transport.send(peer, out.data(), bytes, 1));
    });
    double opposing = median(samples, [&] {
      Result<Transfer> transfer = transport.isend(peer, out.data(), bytes, 2);
      need(transport.recv(peer, in.data(), bytes, 2));
      need(transport.wait(*transfer));
    });
    double copy = 0;
    if (transport.rank() == 0)
      copy = median(samples, [&] {
        std::memcpy(in.data(), out.data(), bytes);
        asm volatile("" : : "r"(in.data()) : "memory");
      });
    need(transport.barrier());
    std::snprintf(text, sizeof text, "\"%zu\": {\"one_way\": %.2f, \"opposing\": %.2f, \"copy\": %.2f}, ", bytes,
                  oneWay / 2, opposing, copy);
    line += text;
  }
  double value = 1;
  double allReduce = median(10000, [&] { need(transport.allReduceSum(&value, 1)); });
  double barrier = median(10000, [&] { need(transport.barrier()); });
  std::snprintf(text, sizeof text, "\"all_reduce_1\": %.2f, \"barrier\": %.2f}", allReduce, barrier);
  if (transport.rank() == 0)
    std::printf("%s%s\n", line.c_str(), text);
  return 0;
}

} // namespace

int main() { return launchLocal(2, bench); }
