//===- SampleSet.h - Sample sizes from a file, and the step they run in -*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_SIM_SAMPLESET_H
#define BRAID_SIM_SAMPLESET_H

#include "Command.h"

#include "braid/Plan/Balance/Balance.h"

#include <string>
#include <vector>

namespace braid::sim {

/// Which columns hold what, what a row costs, and on how many stages. Costs are GFLOP of a forward; the defaults are
/// those of Qwen2.5-VL's vision tower and of a Llama of 3 billion parameters. docs/Balancing.md, section 7, works them
/// out.
struct SampleOptions {
  std::vector<std::string> encoders = {"vision_tokens/image_count"}; // COLUMN or COLUMN/SEGMENTS
  std::string text = "text_tokens";
  std::vector<std::string> encoderCosts = {"3.28e-4,5.1,240"}; // a,b,c
  std::string languageCost = "1.72e-4,6.4,210";
  std::vector<double> merges = {1};
  std::vector<int> encoderLayers = {32};
  int languageLayers = 28;
  int stages = 8;
  std::vector<int> split; // stages of each component; empty: as the loads say
  double backward = 2, latency = 0;
};
void addSampleOptions(Command &command, SampleOptions &options);

struct SampleSet {
  std::string name; // the file's, without folder and ending
  plan::SampleLoads samples;
  plan::StepModel model;
  std::vector<int> split;
};
plan::Result<SampleSet> loadSamples(const std::string &path, const SampleOptions &options);

} // namespace braid::sim

#endif // BRAID_SIM_SAMPLESET_H
