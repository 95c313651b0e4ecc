//===- SampleManifest.h - Which sample goes where in a step -------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rank works out the same manifest for itself from the sample index, the seed and the step, and from it knows the
// shapes of all tensors of all ranks. Ranks compare its hash, so that a rank with another index is found at once.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_SAMPLEMANIFEST_H
#define BRAID_PLAN_BALANCE_SAMPLEMANIFEST_H

#include "braid/Plan/Balance/Balance.h"

#include <cstdint>
#include <string>
#include <vector>

namespace braid::plan {

struct SampleManifest {
  struct Replica {
    std::vector<int> samples; // numbers in the data set; the assignment's 0 .. n-1 are places in this list
    Assignment assignment;
  };
  uint64_t seed = 0, step = 0;
  std::vector<Replica> replicas;

  /// Numbers in the data set of what a component runs in a micro-batch, in the order in which it runs them.
  std::vector<int> samplesOf(int replica, int microbatch, bool language) const;
  /// Of everything above. Two manifests that place one sample differently have different hashes, up to chance.
  uint64_t hash() const;
  /// `{"seed": ..., "step": ..., "hash": ..., "replicas": [{"encoder": [[...]], "language": [[...]]}]}`
  std::string json() const;
};

/// The step's batch of `count` samples out of the index, on `replicas` replicas.
Result<SampleManifest> makeManifest(Balancer &balancer, const SampleLoads &index, int count, int replicas,
                                    uint64_t seed, uint64_t step);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_SAMPLEMANIFEST_H
