//===- SampleManifest.cpp - Which sample goes where in a step -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/SampleManifest.h"
#include "braid/Plan/Support/Json.h"
#include "braid/Plan/Support/Random.h"
#include "braid/Plan/Support/Text.h"

namespace braid::plan {

std::vector<int> SampleManifest::samplesOf(int replica, int microbatch, bool language) const {
  const Replica &of = replicas[replica];
  std::vector<int> result;
  for (int sample : language ? of.assignment.languageSamples(microbatch) : of.assignment.samples[microbatch])
    result.push_back(of.samples[sample]);
  return result;
}

uint64_t SampleManifest::hash() const {
  uint64_t value = mix(seed, step);
  auto add = [&](uint64_t next) { value = mix(value, next); };
  add(replicas.size());
  for (const Replica &replica : replicas) {
    add(replica.assignment.microbatches());
    for (const auto *lists : {&replica.assignment.samples, &replica.assignment.deferred})
      for (const std::vector<int> &list : *lists) {
        add(list.size());
        for (int sample : list)
          add(replica.samples[sample]);
      }
  }
  return value;
}

std::string SampleManifest::json() const {
  Json list = Json::array();
  for (size_t replica = 0; replica < replicas.size(); ++replica) {
    Json &json = list.emplace_back();
    for (bool language : {false, true}) {
      Json &microbatches = json[language ? "language" : "encoder"] = Json::array();
      for (int microbatch = 0; microbatch < replicas[replica].assignment.microbatches(); ++microbatch)
        microbatches.push_back(samplesOf(static_cast<int>(replica), microbatch, language));
    }
  }
  return jsonText({{"seed", seed}, {"step", step}, {"hash", hex(hash())}, {"replicas", std::move(list)}}) + "\n";
}

Result<SampleManifest> makeManifest(Balancer &balancer, const SampleLoads &index, int count, int replicas,
                                    uint64_t seed, uint64_t step) {
  if (Status status = index.check(); !status)
    return Error{status.error()};
  if (index.size() == 0 || count < 0 || replicas < 1)
    return Error{"cannot spread " + std::to_string(count) + " samples of an index of " + std::to_string(index.size()) +
                 " over " + std::to_string(replicas) +
                 " replicas; give an index with samples and at least one replica"};
  SampleManifest manifest;
  manifest.seed = seed;
  manifest.step = step;
  std::vector<int> batch = drawBatch(index.size(), count, seed, step);
  SampleLoads loads = index.select(batch);
  for (const std::vector<int> &mine : assignReplicas(balancer.getModel(), loads, replicas)) {
    SampleManifest::Replica &replica = manifest.replicas.emplace_back();
    replica.samples.reserve(mine.size());
    for (int sample : mine)
      replica.samples.push_back(batch[sample]);
    Result<Balanced> balanced = balancer.balance(loads.select(mine));
    if (!balanced)
      return Error{"replica " + std::to_string(manifest.replicas.size() - 1) + ": " + balanced.error()};
    replica.assignment = std::move(balanced->assignment);
  }
  return manifest;
}

} // namespace braid::plan
