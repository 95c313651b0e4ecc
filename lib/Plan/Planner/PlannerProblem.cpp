//===- PlannerProblem.cpp - What is planned, and one plan of it -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannerCosts.h"
#include "braid/Plan/Support/Text.h"

namespace braid::plan {

Status PlannerProblem::check() const {
  if (components.empty() || components.size() > 2)
    return Error{"there are " + std::to_string(components.size()) +
                 " components; the planner takes a language model, and before it one encoder: join several encoders"};
  for (const PlannerComponent &component : components) {
    if (Status status = component.model.check(); !status)
      return Error{"component '" + component.name + "': " + status.error()};
    if (!(component.segments > 0))
      return Error{"component '" + component.name + "' has " + decimal(component.segments) +
                   " segments in a sample; give a positive number"};
    // A curve that no layout has would be read by none.
    for (const auto &[layout, curve] : component.curves) {
      auto [tp, cp] = layout;
      auto isPower = [](int size) { return size > 0 && (size & (size - 1)) == 0; };
      if (!isPower(tp) || !isPower(cp) || int64_t(tp) * cp > devices)
        return Error{"component '" + component.name + "' has a curve at tp " + std::to_string(tp) + ", cp " +
                     std::to_string(cp) + ", which no layout has: both are powers of two, on " +
                     std::to_string(devices) + " devices together; leave it out"};
    }
  }
  if (batch < 1 || devices < 1)
    return Error{"there are " + std::to_string(batch) + " samples and " + std::to_string(devices) +
                 " devices; give at least one of each"};
  for (size_t i = 0; i < components.size(); ++i)
    if (!(components[i].merge >= 1) || (i + 1 == components.size() && components[i].merge != 1))
      return Error{"component '" + components[i].name + "' merges " + decimal(components[i].merge) +
                   " tokens into one; give an encoder a number from 1, and the language model none"};
  if (!(hardware.factors[static_cast<int>(Resource::Matmul)] > 0))
    return Error{"matrix products take no time: their factor is 0; give it what they take over the peak's, as in 1.5"};
  if (zero < 0 || zero > 3)
    return Error{"ZeRO stage " + std::to_string(zero) + " is none; choose 0 to 3"};
  return {};
}

const std::vector<std::string> &placementNames() {
  static const std::vector<std::string> names = {"single", "together", "colocated", "disjoint"};
  return names;
}

const char *spelling(Placement placement) { return placementNames()[static_cast<int>(placement)].c_str(); }

int Candidate::ranks() const {
  return language.parallel.ranks() + (placement == Placement::Disjoint ? encoder.parallel.ranks() : 0);
}

static std::string layoutOf(const ComponentPlan &plan) {
  const Parallelism &p = plan.parallel;
  return "tp " + std::to_string(p.tp) + " cp " + std::to_string(p.cp) + " pp " + std::to_string(p.pp) + " dp " +
         std::to_string(p.dp) + " recompute " + spelling(plan.recompute);
}

std::string Candidate::str() const {
  std::string text = spelling(placement);
  if (placement != Placement::Single)
    text += ": encoder " + layoutOf(encoder) + "; language";
  text += " " + layoutOf(language) + "; " + kind;
  if (chunks > 1)
    text += " with " + std::to_string(chunks) + " chunks";
  return text + ", micro-batches of " + std::to_string(static_cast<int>(microbatch)) + ", " + std::to_string(ranks()) +
         " devices";
}

int microbatchesOf(const PlannerProblem &problem, const Candidate &candidate) {
  return static_cast<int>(problem.batch / (candidate.language.parallel.dp * candidate.microbatch));
}

} // namespace braid::plan
