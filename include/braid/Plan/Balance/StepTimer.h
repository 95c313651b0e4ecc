//===- StepTimer.h - The time of a step, many times over ----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The balancer asks for the time of thousands of steps that differ in their micro-batches' loads only. So the order in
// which a 1F1B table's actions are worked out is found once; a step is then one pass over them, some microseconds. The
// times are those of the simulator.
//
// Deferral: the encoders run the kept samples of micro-batch 2i as part 0 and the deferred ones as part 1. The language
// model runs the deferred ones with micro-batch 2i + 1, so their gradients come back then. (Pipeline.h; Entrain, split
// backward.)
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_STEPTIMER_H
#define BRAID_PLAN_BALANCE_STEPTIMER_H

#include "braid/Plan/Balance/Samples.h"
#include "braid/Plan/Schedule/Pipeline.h"

#include <string>
#include <vector>

namespace braid::plan {

struct StepComponent {
  std::string name;
  std::vector<double> shares; // of each stage in the component's load; they sum to 1
  double constant = 0;        // load of a micro-batch besides that of its samples, if it has any
  double timePerRow = 0;      // of sending one row from any of its stages to the next
  double memoryPerRow = 0;    // activations that the whole component holds for one row
};

/// The encoders, which all feed the first stage of the last component, the language model.
struct StepModel {
  std::vector<StepComponent> components;
  double backward = 2;        // time of a backward, of its forward's
  double latency = 0;         // of a message
  std::vector<int> placement; // rank of each stage, encoders first; empty: each stage has its own

  int numStages() const;
  /// Time that a unit of load takes on the slowest stage of a component.
  double slowest(int component) const;
  Status check() const;
  /// Samples that it can run: loads and rows for each of its components, all right in themselves.
  Status checkSamples(const SampleLoads &samples) const;
  Result<Pipeline> pipeline(int microbatches) const;
};

/// Loads and rows of each micro-batch, in units of samples' forward loads.
struct MicrobatchLoads {
  MicrobatchLoads(int components, int microbatches)
      : components(components), microbatches(microbatches), load(size_t(4) * components * microbatches),
        rows(load.size()) {}

  /// Part 1: an encoder's deferred samples.
  size_t index(int component, bool backward, int microbatch, int part = 0) const {
    return (size_t(4) * component + 2 * part + backward) * microbatches + microbatch;
  }
  /// What a component runs forwards, both parts.
  double forward(int component, int microbatch) const {
    return load[index(component, false, microbatch)] + load[index(component, false, microbatch, 1)];
  }

  int components, microbatches;
  std::vector<double> load, rows; // by index()
};

class StepTimer {
public:
  static Result<StepTimer> create(const StepModel &model, int microbatches);

  int microbatches() const { return count; }
  /// Length of the step. Loads have this timer's numbers of components and micro-batches.
  double time(const MicrobatchLoads &loads);
  /// The same, and for each load by how much the step grows with it along a longest path.
  double time(const MicrobatchLoads &loads, std::vector<double> &growth);
  /// Most that a rank holds of its activations.
  double peakMemory(const MicrobatchLoads &loads) const;

private:
  /// Node n ends at times[2n], and another rank has what it makes at times[2n + 1]. Node 0 is the start of the step.
  struct Node {
    int previous = 0;                // time of what runs before it on its rank
    int other = 0;                   // time of what else it needs
    int load = 0;                    // index of MicrobatchLoads
    double factor = 0;               // time per load
    int firstNeed = 0, lastNeed = 0; // times of what it needs further: a language model waits for every encoder
    int rank = 0;
    double timePerRow = 0; // of its message
    double memory = 0;     // held per row, negative when released
  };
  void run(const MicrobatchLoads &loads);
  int last() const;

  int count = 0, ranks = 0;
  double latency = 0;
  bool rowsTakeTime = false;
  std::vector<Node> nodes; // in an order in which needs come first
  std::vector<int> needs;
  std::vector<int> lastNodes; // of each rank
  std::vector<double> times;  // scratch
};

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_STEPTIMER_H
