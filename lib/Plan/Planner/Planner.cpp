//===- Planner.cpp - Search over plans ------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Planner/Planner.h"
#include "PlannerCosts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

namespace braid::plan {

static constexpr Recompute policies[] = {Recompute::None, Recompute::Selective, Recompute::Full};
static constexpr double microbatchSizes[] = {1, 2, 4, 8};

const std::vector<std::string> &planKinds() {
  static const std::vector<std::string> kinds = {"1f1b", "zb_h1", "zb_h2", "zb_v", "interleaved", "amdp"};
  return kinds;
}

/// Whether a list of the limits has it, or is empty.
static bool allows(const std::vector<std::string> &list, const std::string &name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

static bool contains(const PlannerProblem &problem, const PlannerOptions &options, Placement placement) {
  return allows(problem.placements, spelling(placement)) &&
         std::find(options.placements.begin(), options.placements.end(), placement) != options.placements.end();
}

/// Schedules that the pipeline of a candidate may run under.
static void forEachKind(const PlannerProblem &problem, Candidate candidate,
                        const std::function<void(const Candidate &)> &whatever) {
  const int p = candidate.language.parallel.pp, m = microbatchesOf(problem, candidate);
  auto visit = [&](const Candidate &one) {
    if (allows(problem.schedules, one.kind))
      whatever(one);
  };
  candidate.kind = "1f1b";
  if (candidate.placement != Placement::Disjoint && p == 1) { // no pipeline: all schedules are one
    whatever(candidate);
    return;
  }
  visit(candidate);
  if (candidate.placement == Placement::Together || candidate.placement == Placement::Disjoint)
    return; // stages of two kinds: their order is 1F1B's
  const int layers = problem.components.back().model.layers / p;
  for (const char *kind : {"zb_h1", "zb_h2"}) {
    candidate.kind = kind;
    visit(candidate);
  }
  if (layers >= 2 && m >= 2 * p) {
    candidate.kind = "zb_v";
    visit(candidate);
  }
  if (problem.async && candidate.placement == Placement::Single && p % 4 == 0 && m % p == 0) {
    candidate.kind = "amdp";
    visit(candidate);
  }
  for (int chunks : {2, 4})
    if (layers >= chunks && m % p == 0) {
      candidate.kind = "interleaved";
      candidate.chunks = chunks;
      visit(candidate);
    }
}

/// Layouts of the language model on at most `devices`. `whole`: on as many of them as must be used.
static void forEachLanguage(const PlannerProblem &problem, bool whole,
                            const std::function<void(const Candidate &)> &visit) {
  const Transformer &model = problem.components.back().model;
  const int maxTp = problem.maxTp > 0 ? problem.maxTp : problem.hardware.devicesPerNode;
  const int maxCp = problem.maxCp > 0 ? problem.maxCp : 16;
  const int maxPp = std::min(model.layers, problem.maxPp > 0 ? problem.maxPp : model.layers);
  for (double microbatch : microbatchSizes) {
    if (std::fmod(problem.batch, microbatch) != 0)
      continue;
    int lots = static_cast<int>(problem.batch / microbatch);
    for (int dp = 1; dp <= std::min(lots, problem.devices); ++dp) {
      if (lots % dp != 0)
        continue;
      for (int tp = 1; tp <= std::min(maxTp, problem.devices / dp); tp *= 2)
        for (int cp = 1; cp <= std::min(maxCp, problem.devices / dp / tp); cp *= 2) {
          if (std::fmod(model.heads, tp) != 0 || std::fmod(model.sequence, 2.0 * cp) != 0)
            continue;
          for (int pp = 1; pp <= std::min(maxPp, problem.devices / dp / tp / cp); ++pp) {
            Candidate candidate;
            candidate.microbatch = microbatch;
            candidate.language.parallel = {
                .tp = tp, .cp = cp, .pp = pp, .dp = dp, .sequenceParallel = tp > 1, .zero = problem.zero};
            if (whole && candidate.language.parallel.ranks() < problem.useAtLeast * problem.devices)
              continue;
            for (Recompute policy : policies) {
              if (policy == Recompute::Selective && model.fusedAttention)
                continue; // nothing to recompute
              candidate.language.recompute = policy;
              visit(candidate);
            }
          }
        }
    }
  }
}

/// Completes a candidate's encoder. `devices`: how many it may have.
static void forEachEncoder(const PlannerProblem &problem, Candidate candidate, int devices,
                           const std::function<void(const Candidate &)> &visit) {
  const PlannerComponent &encoder = problem.components.front();
  const int maxTp = problem.maxTp > 0 ? problem.maxTp : problem.hardware.devicesPerNode;
  const bool colocated = candidate.placement == Placement::Colocated;
  const int maxPp = colocated ? 1 : std::min(encoder.model.layers, 16);
  for (Recompute policy : policies) {
    if (policy == Recompute::Selective && encoder.model.fusedAttention)
      continue;
    candidate.encoder.recompute = policy;
    if (candidate.placement == Placement::Together) {
      candidate.encoder.parallel = candidate.language.parallel;
      visit(candidate);
      continue;
    }
    for (int tp = 1; tp <= std::min(maxTp, devices); tp *= 2) {
      if (std::fmod(encoder.model.heads, tp) != 0)
        continue;
      for (int pp = 1; pp <= std::min(maxPp, devices / tp); pp *= 2) {
        // No more lanes than there are segments to share.
        double segments =
            encoder.segments * (colocated ? problem.batch : candidate.microbatch * candidate.language.parallel.dp);
        int dp = std::min<int>(devices / tp / pp, static_cast<int>(std::max(1.0, segments)));
        if (colocated && dp * tp < problem.useAtLeast * devices)
          continue;
        candidate.encoder.parallel = {
            .tp = tp, .cp = 1, .pp = pp, .dp = dp, .sequenceParallel = tp > 1, .zero = problem.zero};
        if (candidate.ranks() < problem.useAtLeast * problem.devices)
          continue;
        visit(candidate);
      }
    }
  }
}

/// Calls visit for all candidates with kind 1f1b. `hopeless(candidate)` may cut off a layout of the language model.
static void forEachPipeline(const PlannerProblem &problem, const PlannerOptions &options,
                            const std::function<bool(const Candidate &)> &hopeless,
                            const std::function<void(const Candidate &)> &visit) {
  if (problem.components.size() == 1) {
    if (contains(problem, options, Placement::Single))
      forEachLanguage(problem, true, visit);
    return;
  }
  for (Placement placement : {Placement::Together, Placement::Colocated, Placement::Disjoint}) {
    if (!contains(problem, options, placement))
      continue;
    // One component for both is frozen as a whole, or not at all.
    if (placement == Placement::Together && problem.components[0].frozen != problem.components[1].frozen)
      continue;
    bool whole = placement != Placement::Disjoint;
    forEachLanguage(problem, whole, [&](Candidate candidate) {
      candidate.placement = placement;
      int ranks = candidate.language.parallel.ranks();
      int devices = placement == Placement::Disjoint ? problem.devices - ranks : ranks;
      if (devices >= 1 && !hopeless(candidate))
        forEachEncoder(problem, candidate, devices, visit);
    });
  }
}

std::vector<Candidate> allCandidates(const PlannerProblem &problem, const PlannerOptions &options) {
  std::vector<Candidate> all;
  forEachPipeline(
      problem, options, [](const Candidate &) { return false; },
      [&](const Candidate &candidate) {
        forEachKind(problem, candidate, [&](const Candidate &one) { all.push_back(one); });
      });
  return all;
}

/// Plans that differ in nothing but micro-batches, recomputation and schedule are shown once.
static bool sameLayout(const Candidate &a, const Candidate &b) {
  auto key = [](const Candidate &c) {
    const Parallelism &l = c.language.parallel, &e = c.encoder.parallel;
    return std::array<int, 9>{static_cast<int>(c.placement), l.tp, l.cp, l.pp, l.dp, e.tp, e.cp, e.pp, e.dp};
  };
  return key(a) == key(b);
}

static std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", bytes / 1e9);
  return text;
}

Result<PlannerResult> searchPlans(const PlannerProblem &problem, const PlannerOptions &options) {
  if (Status status = problem.check(); !status)
    return Error{status.error()};
  PlannerResult result;
  const size_t keep = std::max(1, options.keep) * (options.simulate ? 3 : 1);
  std::vector<Evaluation> &best = result.best;
  Evaluation smallest; // of those that do not fit
  auto slowest = [&] { return best.size() < keep ? anyTime : best.back().seconds; };
  auto insert = [&](Evaluation evaluation) {
    auto same = std::find_if(best.begin(), best.end(), [&](const Evaluation &other) {
      return sameLayout(other.candidate, evaluation.candidate);
    });
    if (same != best.end()) {
      if (same->seconds <= evaluation.seconds)
        return;
      best.erase(same);
    }
    auto at = std::upper_bound(best.begin(), best.end(), evaluation.seconds,
                               [](double seconds, const Evaluation &other) { return seconds < other.seconds; });
    best.insert(at, std::move(evaluation));
    if (best.size() > keep)
      best.pop_back();
  };
  forEachPipeline(
      problem, options,
      [&](const Candidate &candidate) { // the language model alone is too slow, or too large
        if (candidate.placement == Placement::Together)
          return false;
        PlannerProblem alone = problem;
        alone.components.erase(alone.components.begin());
        Candidate single = candidate;
        single.placement = Placement::Single;
        return !planPipeline(alone, single, slowest());
      },
      [&](const Candidate &candidate) {
        ++result.tried;
        Result<PlannedPipeline> pipeline = planPipeline(problem, candidate, slowest());
        if (!pipeline)
          return;
        forEachKind(problem, candidate, [&](const Candidate &one) {
          Evaluation evaluation = evaluatePipeline(problem, one, *pipeline);
          if (evaluation.peakBytes > problem.hardware.memory) {
            ++result.tooLarge;
            if (best.empty() && (smallest.peakBytes == 0 || evaluation.peakBytes < smallest.peakBytes))
              smallest = std::move(evaluation);
          } else if (evaluation.seconds < slowest())
            insert(std::move(evaluation));
        });
      });
  if (best.empty())
    return Error{"no plan fits: of " + std::to_string(result.tried) + " pipelines on " +
                 std::to_string(problem.devices) + " devices of " +
                 std::to_string(static_cast<int64_t>(problem.hardware.memory / 1e9)) + " GB none did" +
                 (smallest.peakBytes > 0
                      ? "; the smallest needs " + gigabytes(smallest.peakBytes) + " (" + smallest.candidate.str() + ")"
                      : "") +
                 "; take more devices, a higher ZeRO stage, a batch that more lanes divide, a lower use_at_least, or "
                 "wider limits"};
  if (options.simulate) {
    std::vector<Evaluation> timed;
    for (const Evaluation &evaluation : best)
      if (Result<Evaluation> again = simulateCandidate(problem, evaluation.candidate))
        timed.push_back(*again);
    if (!timed.empty())
      best = std::move(timed);
    std::stable_sort(best.begin(), best.end(),
                     [](const Evaluation &a, const Evaluation &b) { return a.time() < b.time(); });
  }
  if (best.size() > static_cast<size_t>(std::max(1, options.keep)))
    best.resize(std::max(1, options.keep));
  return result;
}

} // namespace braid::plan
