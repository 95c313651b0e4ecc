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

#include "braid/Plan/Cost/CostCurve.h"
#include "braid/Plan/Cost/Transformer.h"
#include "braid/Plan/Support/TextTable.h"

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
  /// Columns of a table of samples: tokens, and the segments that they are in ("": one). The language model reads the
  /// encoder's tokens too.
  std::string tokensColumn, segmentsColumn;
  double merge = 1; // of an encoder: so many of its tokens become one of the language model's
  bool frozen = false;
  /// An encoder under the language model's layout: every context-parallel rank runs all of it, and sequence parallelism
  /// divides none of it. Megatron-LM divides sequences after its encoders (core/models/mimo, PartitionAdapter).
  bool undivided = false;
  /// Forward seconds of a layer by (tp, cp) over the tokens that a rank has of one sequence, instead of the formulas;
  /// sequences of a micro-batch add up, but for the constant. A backward takes twice as long.
  std::map<std::pair<int, int>, CostCurve> curves;
};

struct PlannerProblem {
  std::vector<PlannerComponent> components; // an encoder, if there is one, and the language model
  int batch = 1;                            // samples of a step
  Hardware hardware;
  int devices = 1;
  double reserve = 6e9; // bytes of a device that are not the model's: context, communication buffers, fragments
  StateBytes state;     // per parameter
  int zero = 1;
  int maxTp = 0;                       // 0: the devices of a node
  int maxCp = 0;                       // 0: 16
  int maxPp = 0;                       // 0: any
  bool async = false;                  // whether updates may be one step late (amdp)
  double useAtLeast = 0.97;            // share of the devices that a plan must use
  std::vector<std::string> schedules;  // that plans may have; none: all of planKinds()
  std::vector<std::string> placements; // likewise

  Status check() const;
};

/// Schedules that plans may have.
const std::vector<std::string> &planKinds();

/// How an encoder and a language model share the devices.
enum class Placement {
  Single,    // there is one component
  Together,  // one pipeline, one layout: the encoder's layers are its first ones
  Colocated, // both on all ranks in layouts of their own; encoder forward, language model, encoder backward in turn
  Disjoint,  // ranks of their own; the encoder's stages feed the language model's
};
const char *spelling(Placement placement);
const std::vector<std::string> &placementNames();

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
  std::string fullest;                            // whose stages those are
  std::vector<int> encoderStages, languageStages; // first layer of each stage
  double reshardBytes = 0;                        // across the boundary in a step, one way

  double time() const { return simulated > 0 ? simulated : seconds; }
};

/// Share of the devices' peak that the model's own FLOP are: forward and backward without recomputation, attention
/// over all pairs. (Model FLOP utilization: Chowdhery et al., PaLM, 2022, appendix B)
double flopUtilization(const PlannerProblem &problem, const Evaluation &evaluation);
/// Layers of each component's ranks along its pipeline: "encoder 12 x 4; language 10 x 3, 9".
std::string layersOfRanks(const PlannerProblem &problem, const Evaluation &evaluation);

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

/// All candidates that the search considers, in a fixed order; for small spaces.
std::vector<Candidate> allCandidates(const PlannerProblem &problem, const PlannerOptions &options = {});

Result<PlannerResult> searchPlans(const PlannerProblem &problem, const PlannerOptions &options = {});

/// Why `other` is slower than `chosen`: the parts of the step that grew most.
std::string explain(const Evaluation &chosen, const Evaluation &other);

/// Reads a model, a cluster and a batch. docs/Costs.md, section 5, has the format. Components whose sizes come from a
/// table of samples have a sequence of 0 until useSamples().
Result<PlannerProblem> parsePlannerProblem(const std::string &text, const std::string &fileName);

/// Gives each component the curves whose unit has its name. A unit that no component has is an error.
Status useCurves(PlannerProblem &problem, const std::vector<FittedCurve> &curves);

/// How many samples are profiled so that every batch splits the devices alike.
struct ProfilingBatch {
  /// The smallest power of two whose loads always give the same split, the devices in at most 64 equal groups; 0: none
  /// is. (Entrain: minimum stable batch) With one component there is nothing to split, and it is all samples.
  int size = 0;
  int groups = 0;              // that the devices were split in
  std::vector<int> split;      // groups of each component
  std::vector<double> largest; // tokens of the largest sample of each component
};

/// Sets every component's sequence and segments to those of equal samples whose tokens and attention are, in the mean,
/// those of all samples of the table. Sequences are multiples of 32.
Result<ProfilingBatch> useSamples(PlannerProblem &problem, const TextTable &samples, uint64_t seed = 1);

/// A plan.yaml with meshes, schedule, recomputation and ZeRO stage.
std::string planYaml(const PlannerProblem &problem, const Evaluation &evaluation);

} // namespace braid::plan

#endif // BRAID_PLAN_PLANNER_PLANNER_H
