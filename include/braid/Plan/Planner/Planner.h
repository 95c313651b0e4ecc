//===- Planner.h - Which ranks, layouts and schedule a model gets -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search over (DP, TP, CP, PP of each component; micro-batches; recomputation; schedule; placement) for the plan of
// most samples a second that fits in memory. Steps are timed by closed forms (Entrain, 2026, planner; the schedules'
// own), the best of them again by the simulator with the real table. docs/Costs.md, section 5.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_PLANNER_PLANNER_H
#define BRAID_PLAN_PLANNER_PLANNER_H

#include "braid/Plan/Cost/Transformer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace braid::plan {

struct PlannerComponent {
  std::string name;
  std::vector<std::string> modules; // patterns for plan.yaml
  Transformer model;                // sequence: tokens that attend to each other
  double segments = 1;              // such sequences in a sample: images of an encoder
  bool frozen = false;
  /// Forward seconds of a layer by (tp, cp) instead of the formulas: {a, b, c} of a x^2 + b x + c, x the rank's tokens
  /// of a micro-batch. A backward takes twice as long.
  std::map<std::pair<int, int>, std::array<double, 3>> curves;
};

struct PlannerProblem {
  std::vector<PlannerComponent> components; // an encoder, if there is one, and the language model
  int batch = 1;                            // samples of a step
  Hardware hardware;
  int devices = 1;
  double reserve = 6e9; // bytes of a device that are not the model's: context, communication buffers, fragments
  int zero = 1;
  int maxTp = 0;            // 0: the devices of a node
  int maxCp = 0;            // 0: 16
  int maxPp = 0;            // 0: any
  bool async = false;       // whether updates may be one step late (amdp)
  double useAtLeast = 0.97; // share of the devices that a plan must use

  Status check() const;
};

/// How an encoder and a language model share the devices.
enum class Placement {
  Single,    // there is one component
  Together,  // one pipeline, one layout: the encoder's layers are its first ones
  Colocated, // both on all ranks in layouts of their own; encoder forward, language model, encoder backward in turn
  Disjoint,  // ranks of their own; the encoder's stages feed the language model's
};
const char *spelling(Placement placement);

struct ComponentPlan {
  Parallelism parallel;
  Recompute recompute = Recompute::None;
};

struct Candidate {
  Placement placement = Placement::Single;
  ComponentPlan encoder, language; // encoder: not of Single
  double microbatch = 1;           // samples of one lane of the language model
  std::string kind = "1f1b";
  int chunks = 1;

  int ranks() const;
  std::string str() const;
};

/// Where a step's time goes on the rank that is busy longest, in seconds.
struct StepParts {
  double matmul = 0, memory = 0, launch = 0, nodeLink = 0, crossLink = 0; // of its computations
  double bubble = 0;                                                      // waiting: fill, drain, imbalance
  double encoder = 0;                                                     // phases of a colocated encoder
  double gradients = 0, update = 0, reshard = 0;

  double total() const {
    return matmul + memory + launch + nodeLink + crossLink + bubble + encoder + gradients + update + reshard;
  }
};

struct Evaluation {
  Candidate candidate;
  int microbatches = 1;
  StepParts parts;
  double seconds = 0;
  double simulated = 0;                           // by the real table; 0: not simulated
  double peakBytes = 0;                           // of the fullest device
  std::string fullest;                            // which that is
  std::vector<int> encoderStages, languageStages; // first layer of each stage
  double reshardBytes = 0;                        // across the boundary in a step, one way

  double time() const { return simulated > 0 ? simulated : seconds; }
};

/// Time and memory of one candidate, whether it fits or not. Errors say why it is none: sizes that do not divide.
Result<Evaluation> evaluate(const PlannerProblem &problem, const Candidate &candidate);

/// The same with the step timed by the simulator. Colocated encoders run before and after what is simulated.
Result<Evaluation> simulateCandidate(const PlannerProblem &problem, const Candidate &candidate);

struct PlannerResult {
  std::vector<Evaluation> best; // fastest first, all fit
  int64_t tried = 0;
  int64_t tooLarge = 0; // did not fit in memory
};

struct PlannerOptions {
  int keep = 8;         // plans to return
  bool simulate = true; // time these again by the simulator
  std::vector<Placement> placements = {Placement::Single, Placement::Together, Placement::Colocated,
                                       Placement::Disjoint};
};

/// All candidates that the search considers, in a fixed order; for tests, and for small spaces.
std::vector<Candidate> allCandidates(const PlannerProblem &problem, const PlannerOptions &options = {});

Result<PlannerResult> searchPlans(const PlannerProblem &problem, const PlannerOptions &options = {});

/// Why `other` is slower than `chosen`: the parts of the step that grew most.
std::string explain(const Evaluation &chosen, const Evaluation &other);

/// Reads a model, a cluster and a batch. docs/Costs.md, section 5, has the format.
Result<PlannerProblem> parsePlannerProblem(const std::string &text, const std::string &fileName);

/// A plan.yaml with meshes, schedule, recomputation and ZeRO stage.
std::string planYaml(const PlannerProblem &problem, const Evaluation &evaluation);

} // namespace braid::plan

#endif // BRAID_PLAN_PLANNER_PLANNER_H
