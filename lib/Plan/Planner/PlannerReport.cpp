//===- PlannerReport.cpp - What is said of a plan -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Planner/Planner.h"

#include <algorithm>
#include <cstdio>

namespace braid::plan {

double flopUtilization(const PlannerProblem &problem, const Evaluation &evaluation) {
  double flops = 0;
  bool trains = false; // something in front of this component
  for (const PlannerComponent &component : problem.components) {
    const Transformer &model = component.model;
    trains |= !component.frozen;
    double passes = 1 + trains + !component.frozen;
    flops += passes * component.segments * (model.layers * model.layerFlops() + model.headFlops());
  }
  return problem.batch * flops / (evaluation.time() * problem.devices * problem.hardware.flops);
}

std::string layersOfRanks(const PlannerProblem &problem, const Evaluation &evaluation) {
  std::string text;
  for (const auto *starts : {&evaluation.encoderStages, &evaluation.languageStages}) {
    if (starts->empty())
      continue;
    const bool encoder = starts == &evaluation.encoderStages;
    const int layers = (encoder ? problem.components.front() : problem.components.back()).model.layers;
    text += (text.empty() ? "" : "; ") + std::string(encoder ? "encoder " : "language ");
    std::vector<int> counts;
    for (size_t s = 0; s < starts->size(); ++s)
      counts.push_back((s + 1 < starts->size() ? (*starts)[s + 1] : layers) - (*starts)[s]);
    if (evaluation.candidate.kind == "zb_v") // the last chunk is on the first rank
      std::reverse(counts.begin(), counts.end());
    for (size_t first = 0, next = 0; first < counts.size(); first = next) {
      while (next < counts.size() && counts[next] == counts[first])
        ++next;
      text += (first > 0 ? ", " : "") + std::to_string(counts[first]);
      if (next - first > 1)
        text += " x " + std::to_string(next - first);
    }
  }
  return text;
}

std::string explain(const Evaluation &chosen, const Evaluation &other) {
  struct Part {
    const char *name;
    double StepParts::*member;
  };
  static const Part parts[] = {{"matrix products", &StepParts::matmul},
                               {"memory traffic", &StepParts::memory},
                               {"kernel launches", &StepParts::launch},
                               {"communication inside nodes", &StepParts::nodeLink},
                               {"communication between nodes", &StepParts::crossLink},
                               {"bubble", &StepParts::bubble},
                               {"the encoder's phases", &StepParts::encoder},
                               {"gradient reduction", &StepParts::gradients},
                               {"optimizer", &StepParts::update},
                               {"boundary reshard", &StepParts::reshard}};
  std::vector<std::pair<double, const char *>> grown;
  for (const Part &part : parts)
    grown.emplace_back(other.parts.*part.member - chosen.parts.*part.member, part.name);
  std::sort(grown.begin(), grown.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  char text[256];
  std::snprintf(text, sizeof text, "%+.1f %% a step", 100 * (other.time() / chosen.time() - 1));
  std::string result = text;
  double base = chosen.time();
  for (size_t i = 0; i < 2; ++i)
    if (grown[i].first > 0.002 * base) {
      std::snprintf(text, sizeof text, "%s %s %+.1f %%", i == 0 ? ": more" : ",", grown[i].second,
                    100 * grown[i].first / base);
      result += text;
    }
  if (grown.back().first < -0.002 * base) {
    std::snprintf(text, sizeof text, "; less %s %.1f %%", grown.back().second, 100 * grown.back().first / base);
    result += text;
  }
  return result;
}

} // namespace braid::plan
