//===- ParameterStore.cpp - A rank's parameters and gradients -------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/ParameterStore.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cmath>

using namespace braid;
using namespace braid::runtime;

ParameterStore::ParameterStore(const Program &program, int rank, const Weights &weights)
    : program(program), rank(rank), parameters(program.parameters.size()) {
  for (const ModelStage &stage : program.stages)
    if (stage.rank == rank)
      for (int number : stage.parameters)
        if (!parameters[number])
          parameters[number] = weights.load(program.parameters[number]);
}

int ParameterStore::owner(int stage, int number) const {
  const ModelParameter &parameter = program.parameters[number];
  return program.stages[stage].rank == program.rankOf(parameter) ? parameter.home : stage;
}

plan::Status ParameterStore::addGradient(int stage, int number, Tensor gradient) {
  const ModelParameter &parameter = program.parameters[number];
  if (!gradient.hasShape(parameter.dtype, parameter.shape))
    return plan::Error{text("the gradient of ", parameter.name, " is ", gradient.str(), " and the parameter is ",
                            parameters[number].str(), "; this is an error of the compiler, so please report it")};
  Tensor &sum = gradients[{owner(stage, number), number}];
  if (sum)
    add(sum, gradient);
  else
    sum = ownedLike(std::move(gradient), parameters[number]);
  return {};
}

Tensor ParameterStore::takeGradient(int stage, int number) {
  auto found = gradients.find({owner(stage, number), number});
  if (found == gradients.end())
    return Tensor::zeros(program.parameters[number].dtype, program.parameters[number].shape);
  Tensor result = std::move(found->second);
  gradients.erase(found);
  return result;
}

Tensor ParameterStore::homeGradient(int number) const {
  auto found = gradients.find({program.parameters[number].home, number});
  return found == gradients.end() ? Tensor() : found->second;
}

std::vector<int> ParameterStore::tiedValues(int home, int copy) const {
  std::vector<int> result;
  for (int number : program.stages[copy].parameters)
    if (program.parameters[number].home == home && program.parameters[number].updated)
      result.push_back(number);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<int> ParameterStore::tiedGradients(int home, int copy) const {
  std::vector<int> result;
  for (int number : program.stages[copy].gradients)
    if (program.parameters[number].home == home)
      result.push_back(number);
  std::sort(result.begin(), result.end());
  return result;
}

double ParameterStore::sumOfSquares() const {
  double total = 0;
  for (const auto &[key, gradient] : gradients)
    if (key.first == program.parameters[key.second].home)
      total += runtime::sumOfSquares(gradient);
  return total;
}

int ParameterStore::firstNonFinite() const {
  for (const auto &[key, gradient] : gradients)
    if (key.first == program.parameters[key.second].home && !std::isfinite(runtime::sumOfSquares(gradient)))
      return key.second;
  return -1;
}

void ParameterStore::scaleGradients(double factor) {
  for (auto &[key, gradient] : gradients)
    scale(gradient, factor);
}

void ParameterStore::step(int stage, Optimizer &optimizer) {
  std::vector<Optimizer::Item> items;
  for (auto entry = gradients.begin(); entry != gradients.end();) {
    auto [home, number] = entry->first;
    if (home != stage || program.parameters[number].home != stage) {
      ++entry;
      continue;
    }
    items.push_back({number, parameters[number], std::move(entry->second)});
    entry = gradients.erase(entry);
  }
  optimizer.step(items);
}
