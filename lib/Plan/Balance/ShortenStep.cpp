//===- ShortenStep.cpp - Local improvement of an assignment ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step that is timed leaves a longest path behind. The length of a known path after a change is a few additions,
// and no step is shorter than any path; so only changes that shorten all known paths are worth timing. Where no change
// does any more, steps that are a little longer are taken too (threshold accepting; Dueck and Scheuer, 1990), and the
// shortest one that was met is what remains.
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Balance/Balance.h"
#include "braid/Plan/Support/Random.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace braid::plan {

namespace {
constexpr size_t maxPaths = 48;
constexpr int triesPerEvaluation = 200;
constexpr int stalledAfter = 500; // changes in a row that some known path refuses
constexpr double firstSlack = 3e-4;

struct Path {
  std::vector<double> growth; // by index of MicrobatchLoads: at a forward's, that of its backward too
  double length;              // for the current loads
};

class Search {
public:
  Search(const StepModel &model, StepTimer &timer, const SampleLoads &samples, const Assignment &assignment,
         double maxMemory, uint64_t seed)
      : model(model), timer(timer), samples(samples), components(samples.components()),
        count(assignment.microbatches()), loads(loadsOf(model, samples, assignment)), maxMemory(maxMemory),
        random(seed), home(samples.size()), late(samples.size()), members(assignment.samples), deferring(count) {
    for (int microbatch = 0; microbatch < count; ++microbatch) {
      for (int sample : assignment.samples[microbatch])
        home[sample] = microbatch;
      for (int sample : assignment.deferred[microbatch])
        late[sample] = true;
      deferring[microbatch] = static_cast<int>(assignment.deferred[microbatch].size());
    }
    step = time();
    fits = maxMemory < 0 || timer.peakMemory(loads) <= maxMemory;
  }

  double run(int evaluations) {
    int64_t tries = int64_t(evaluations) * triesPerEvaluation, triesAtStall = 0;
    int refused = 0, evaluationsAtStall = 0;
    for (; evaluations > 1 && tries > 0; --tries) {
      if (!evaluationsAtStall && refused == stalledAfter) {
        evaluationsAtStall = evaluations;
        triesAtStall = tries;
        keep();
      }
      if (evaluationsAtStall)
        limit = 1 + firstSlack * std::min(double(evaluations) / evaluationsAtStall, double(tries) / triesAtStall);
      if (!propose() || !promising()) {
        ++refused;
        continue;
      }
      refused = 0;
      --evaluations;
      apply(1);
      double next = time();
      bool better = next < step * limit && (maxMemory < 0 || !fits || timer.peakMemory(loads) <= maxMemory);
      if (better) {
        step = next;
        commit();
        if (step < shortest.step && evaluationsAtStall)
          keep();
      } else {
        apply(-1);
        Path &newest = paths.back();
        for (const Change &change : changes)
          newest.length -= change.load * newest.growth[change.index];
      }
    }
    if (!evaluationsAtStall)
      keep(); // each step taken was shorter than the one before
    return shortest.step;
  }

  Assignment assignment() const {
    Assignment result(count);
    for (int sample = 0; sample < samples.size(); ++sample) {
      result.samples[shortest.home[sample]].push_back(sample);
      if (shortest.late[sample])
        result.deferred[shortest.home[sample]].push_back(sample);
    }
    return result;
  }

private:
  struct Best {
    double step = std::numeric_limits<double>::infinity();
    std::vector<int> home;
    std::vector<char> late;
  };
  void keep() { shortest = {step, home, late}; }

  struct Change { // of one forward load, and of its backward's, which is the same
    size_t index;
    double load, rows;
  };
  struct Move {
    int sample, to;
    bool late;
  };

  double time() {
    if (paths.size() == maxPaths)
      paths.erase(paths.begin());
    Path &path = paths.emplace_back();
    path.length = timer.time(loads, path.growth);
    for (int component = 0; component < components; ++component)
      for (int part : {0, 1})
        for (int microbatch = 0; microbatch < count; ++microbatch)
          path.growth[loads.index(component, false, microbatch, part)] +=
              path.growth[loads.index(component, true, microbatch, part)];
    return path.length;
  }

  void change(int sample, int microbatch, bool deferred, double sign) {
    for (int component = 0; component < components; ++component) {
      bool language = component + 1 == components;
      changes.push_back({loads.index(component, false, microbatch + (deferred && language), deferred && !language),
                         sign * samples.loads[component][sample], sign * samples.rows[component][sample]});
    }
    if (microbatch % 2 == 0 && deferred)
      addDeferring(microbatch, sign > 0 ? 1 : -1);
  }
  /// A deferred part that was empty, or becomes so, pays its constant, or no longer does.
  void addDeferring(int microbatch, int difference) {
    auto known = std::find_if(counts.begin(), counts.end(), [&](const auto &one) { return one.first == microbatch; });
    if (known == counts.end())
      known = counts.insert(counts.end(), {microbatch, deferring[microbatch]});
    int before = known->second, after = before + difference;
    known->second = after;
    if ((before == 0) == (after == 0))
      return;
    for (int component = 0; component + 1 < components; ++component)
      changes.push_back(
          {loads.index(component, false, microbatch, 1), (after ? 1 : -1) * model.components[component].constant, 0});
  }
  void move(int sample, int to, bool deferred) {
    moves.push_back({sample, to, deferred});
    change(sample, home[sample], late[sample], -1);
    change(sample, to, deferred, 1);
  }

  /// A random change; false if it is none.
  bool propose() {
    moves.clear();
    changes.clear();
    counts.clear();
    int sample = static_cast<int>(random.below(home.size())), from = home[sample];
    uint64_t kind = random.below(16);
    if (kind == 0) {
      if (from % 2 || from + 1 == count)
        return false;
      move(sample, from, !late[sample]);
      return true;
    }
    int to = static_cast<int>(random.below(count));
    if (to == from)
      return false;
    if (kind == 1) { // two micro-batches change places, if no partner is involved
      for (int microbatch : {from, to})
        if (deferring[microbatch] || (microbatch % 2 && deferring[microbatch - 1]))
          return false;
      for (int one : members[from])
        move(one, to, false);
      for (int one : members[to])
        move(one, from, false);
      return true;
    }
    if (kind < 6 || members[to].empty()) {
      move(sample, to, to % 2 == 0 && to + 1 < count && random.below(2));
      return true;
    }
    int other = members[to][random.below(members[to].size())];
    move(sample, to, late[other]);
    move(other, from, late[sample]);
    return true;
  }

  bool promising() {
    for (size_t at = paths.size(); at-- > 0;) {
      double length = paths[at].length;
      for (const Change &change : changes)
        length += change.load * paths[at].growth[change.index];
      if (length >= step * (limit - 1e-9)) {
        std::swap(paths[at], paths[(at + paths.size()) / 2]); // what refuses often is asked early
        return false;
      }
    }
    return true;
  }

  void apply(double sign) {
    const size_t backward = loads.index(0, true, 0);
    for (const Change &change : changes)
      for (size_t index : {change.index, change.index + backward}) {
        loads.load[index] += sign * change.load;
        loads.rows[index] += sign * change.rows;
      }
  }

  void commit() {
    for (size_t at = 0; at + 1 < paths.size(); ++at) // the newest one was measured after the change
      for (const Change &change : changes)
        paths[at].length += change.load * paths[at].growth[change.index];
    for (const Move &move : moves) {
      deferring[home[move.sample]] -= late[move.sample];
      std::erase(members[home[move.sample]], move.sample);
    }
    for (const Move &move : moves) {
      home[move.sample] = move.to;
      late[move.sample] = move.late;
      members[move.to].push_back(move.sample);
      deferring[move.to] += move.late;
    }
  }

  const StepModel &model;
  StepTimer &timer;
  const SampleLoads &samples;
  int components, count;
  MicrobatchLoads loads;
  double maxMemory;
  Random random;
  std::vector<int> home;  // micro-batch of each sample's encoders
  std::vector<char> late; // whether it is deferred
  std::vector<std::vector<int>> members;
  std::vector<int> deferring; // deferred samples of each micro-batch
  std::vector<Path> paths;
  std::vector<Move> moves;
  std::vector<Change> changes;
  std::vector<std::pair<int, int>> counts; // (micro-batch, its deferred samples) after the changes so far
  double step = 0, limit = 1;              // of the current assignment; what the next one may take, over that
  Best shortest;
  bool fits = true;
};
} // namespace

double shortenStep(const StepModel &model, StepTimer &timer, const SampleLoads &samples, Assignment &assignment,
                   int evaluations, double maxMemory, uint64_t seed) {
  Search search(model, timer, samples, assignment, maxMemory, seed);
  if (samples.size() == 0 || assignment.microbatches() < 2)
    return search.run(0);
  double step = search.run(evaluations);
  assignment = search.assignment();
  return step;
}

} // namespace braid::plan
