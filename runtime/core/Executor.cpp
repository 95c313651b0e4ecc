//===- Executor.cpp - Walking a rank's action table -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Executor.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cmath>

using namespace braid;
using namespace braid::runtime;
using plan::ActionKind;

Executor::Executor(const Program &program, int rank, Transport *transport, ParameterStore &parameters,
                   Optimizer &optimizer, Options options)
    : program(program), rank(rank), transport(transport), parameters(parameters), optimizer(optimizer),
      options(options) {
  if (transport)
    transport->setWording({[this](uint64_t tag) { return describeTag(tag); },
                           [this](int of, uint64_t position) { return describePosition(of, position); }});
}

Executor::~Executor() {
  if (transport)
    transport->setWording({});
}

/// " to stage llm.0 on rank 1"; empty for actions that are no messages.
static std::string messageText(const Program &program, const plan::Action &action) {
  if (!plan::isMessage(action.kind))
    return "";
  const ModelStage &peer = program.stages[action.peer];
  return text(plan::isSend(action.kind) ? " to" : " from", " stage ", peer.name, " on rank ", peer.rank);
}

/// A position is a step and the number of an action in the row, from 1.
static constexpr int positionBits = 24;

std::string Executor::describePosition(int of, uint64_t position) const {
  size_t number = position & ((uint64_t(1) << positionBits) - 1);
  const std::vector<plan::Action> &row = program.schedule.rows[of];
  if (number == 0 || number > row.size())
    return "no step yet";
  const plan::Action &action = row[number - 1];
  return text("step ", position >> positionBits, ", ", action.str(), " (stage ", program.stages[action.stage].name,
              ")");
}

/// What follows the computation of a step, once, however many batches it has.
static bool isUpdate(ActionKind kind) {
  switch (kind) {
  case ActionKind::SendGrad:
  case ActionKind::RecvGrad:
  case ActionKind::SendParam:
  case ActionKind::RecvParam:
  case ActionKind::Norm:
  case ActionKind::Step:
  case ActionKind::Loss:
    return true;
  default:
    return false;
  }
}

template <typename Wanted> plan::Status Executor::runRow(const std::string &when, const Wanted &wanted) {
  const std::vector<plan::Action> &row = program.schedule.rows[rank];
  for (size_t number = 0; number < row.size(); ++number) {
    const plan::Action &action = row[number];
    if (action.kind == ActionKind::Idle || !wanted(action.kind))
      continue;
    log.begin(stepNumber, action);
    if (transport)
      transport->setPosition(uint64_t(stepNumber) << positionBits | (number + 1));
    plan::Status status;
    try {
      status = run(action);
    } catch (const std::exception &error) {
      status = plan::Error{error.what()};
    }
    if (!status)
      return plan::Error{text(when, ", ", action.str(), " (stage ", program.stages[action.stage].name,
                              action.microbatch < 0 ? "" : text(", micro-batch ", action.microbatch),
                              messageText(program, action), "): ", status.error(), "\n  the last actions were ",
                              log.str())};
    log.finish();
  }
  return {};
}

plan::Result<StepReport> Executor::step(int64_t number, const Batches &data, int64_t first, int64_t count) {
  stepNumber = number;
  training = true;
  std::string when = text("step ", number);
  parameters.clearGradients();
  if (plan::Status status = begin(data, first, count, 0); !status)
    return plan::Error{text(when, ": ", status.error())};
  if (!report.problem.empty()) {
    report.loss = std::nan("");
    return report;
  }
  firstSample = 0;
  for (int64_t batch = 0; batch < count; firstSample += current->samples, ++batch) {
    current = &data.step(first + batch);
    // The table says where the update stands among the actions; with several batches it comes after the last.
    bool whole = count == 1;
    std::string which = whole ? when : text(when, ", batch ", batch, " of ", count);
    if (plan::Status status = runRow(which, [&](ActionKind kind) { return whole || !isUpdate(kind); }); !status)
      return plan::Error{status.error()};
  }
  if (count > 1)
    if (plan::Status status = runRow(when, isUpdate); !status)
      return plan::Error{status.error()};
  if (plan::Status status = finishSends(0); !status)
    return plan::Error{text(when, ", sending what is left: ", status.error())};
  if (report.problem.empty())
    for (auto &[buffer, value] : states)
      parameters.parameter(buffer) = std::move(value);
  return report;
}

plan::Result<StepReport> Executor::lossOf(const Batches &data) {
  training = false;
  std::string when = text("evaluation after step ", stepNumber);
  int64_t count = data.count(), together = program.wholeBatch.empty() ? count : 1;
  double sum = 0;
  firstSample = 0;
  for (int64_t first = 0; first < count; first += together) {
    if (plan::Status status = begin(data, first, together, firstSample); !status)
      return plan::Error{text(when, ": ", status.error())};
    if (!report.problem.empty()) {
      report.problem = "in the evaluation data, " + report.problem;
      return report;
    }
    for (int64_t batch = first; batch < first + together; firstSample += current->samples, ++batch) {
      current = &data.step(batch);
      auto isForward = [](ActionKind kind) {
        return kind == ActionKind::Forward || kind == ActionKind::SendF || kind == ActionKind::RecvF;
      };
      if (plan::Status status = runRow(when, isForward); !status)
        return plan::Error{status.error()};
    }
    if (plan::Status status = runRow(when, [](ActionKind kind) { return kind == ActionKind::Loss; }); !status)
      return plan::Error{status.error()};
    sum += report.loss;
  }
  if (plan::Status status = finishSends(0); !status)
    return plan::Error{text(when, ", sending what is left: ", status.error())};
  report.loss = sum / (count / together);
  return report;
}

plan::Status Executor::begin(const Batches &data, int64_t first, int64_t count, int64_t sample) {
  batches = &data;
  report = {};
  report.gradientNorm = std::nan("");
  values.assign(program.edges.size(), PerMicroBatch(program.microbatches));
  gradients = values;
  residuals.assign(program.stages.size(), std::vector<std::vector<Tensor>>(program.microbatches));
  carries = residuals;
  losses.assign(program.stages.size(), 0);
  states.clear();
  try {
    return countTerms(first, count, sample);
  } catch (const std::exception &error) {
    return plan::Error{error.what()};
  }
}

/// What each loss term divides by, over all batches and micro-batches, from the inputs alone: so every rank counts for
/// itself, also one that divides nothing, and all of them know of a count of 0.
plan::Status Executor::countTerms(int64_t first, int64_t count, int64_t sample) {
  counts.clear();
  if (program.counts.names.empty())
    return {};
  counts.resize(program.counts.names.size());
  firstSample = sample;
  for (int64_t batch = first; batch < first + count; firstSample += current->samples, ++batch) {
    current = &batches->step(batch);
    for (int m = 0; m < program.microbatches; ++m) {
      std::vector<Tensor> inputs;
      std::vector<braid_tensor> operands;
      for (int input : program.counts.inputs) {
        plan::Result<Tensor> slice = batches->slice(program, *current, input, m);
        if (!slice)
          return plan::Error{slice.error()};
        inputs.push_back(std::move(*slice));
        operands.push_back(inputs.back().get());
      }
      plan::Result<std::vector<Tensor>> results = call(program.counts.function, m, operands, counts.size());
      if (!results)
        return plan::Error{results.error()};
      for (size_t i = 0; i < counts.size(); ++i)
        counts[i] = counts[i] ? sum(counts[i], (*results)[i]) : std::move((*results)[i]);
    }
  }
  firstSample = sample;
  for (size_t i = 0; i < counts.size(); ++i)
    if (program.counts.nonzero[i] && counts[i].item() == 0)
      report.problem = text("the loss is undefined: ", program.counts.names[i],
                            " divides by what it counts in the batch, and that is 0 here; leave such batches out");
  return {};
}

plan::Status Executor::run(const plan::Action &action) {
  if (transport)
    if (plan::Status status = transport->poll(); !status)
      return status;
  switch (action.kind) {
  case ActionKind::Forward:
    return forward(action);
  case ActionKind::Recompute:
    return recompute(action);
  case ActionKind::BackwardInput:
    return backwardInput(action);
  case ActionKind::BackwardWeight:
    return backwardWeight(action);
  case ActionKind::FullBackward:
    return fullBackward(action);
  case ActionKind::SendF:
  case ActionKind::SendB:
    return sendEdges(action);
  case ActionKind::RecvF:
  case ActionKind::RecvB:
    return receiveEdges(action);
  case ActionKind::SendGrad:
  case ActionKind::RecvGrad:
  case ActionKind::SendParam:
  case ActionKind::RecvParam:
    return exchangeTied(action);
  case ActionKind::Norm:
    return norm();
  case ActionKind::Step:
    parameters.step(action.stage, optimizer);
    return {};
  case ActionKind::Loss:
    return exchangeLoss(action);
  default: // waits for what has been waited for
    return {};
  }
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

std::vector<braid_tensor> Executor::parameterOperands(const ModelStage &stage) const {
  std::vector<braid_tensor> operands;
  for (int number : stage.parameters)
    operands.push_back(parameters.parameter(number).get());
  return operands;
}

static void append(std::vector<braid_tensor> &operands, const std::vector<Tensor> &tensors) {
  for (const Tensor &tensor : tensors)
    operands.push_back(tensor.get());
}

plan::Result<std::vector<Tensor>> Executor::call(braid_function function, int number,
                                                 const std::vector<braid_tensor> &operands, size_t count) {
  std::vector<braid_tensor> handles(count);
  // Evaluations all draw the same numbers, those of a step that no run comes to.
  constexpr int64_t evaluation = (int64_t(1) << 32) - 1;
  braid_random random = {options.seed, training ? stepNumber : evaluation, firstSample + microbatch(number).begin,
                         training};
  std::vector<int64_t> symbols = microbatch(number).symbols;
  symbols.insert(symbols.end(), {random.seed, random.step, random.sample, random.training});
  if (function(symbols.data(), operands.data(), handles.data()))
    return plan::Error{braid_rt_message()};
  std::vector<Tensor> results;
  for (braid_tensor handle : handles)
    results.push_back(Tensor::adopt(handle));
  for (size_t i = 0; i < count; ++i)
    if (!results[i])
      return plan::Error{
          text("result ", i, " of ", count, " is absent; this is an error of the compiler, so please report it")};
  return results;
}

plan::Status Executor::forward(const plan::Action &action) {
  const ModelStage &stage = program.stages[action.stage];
  int m = action.microbatch;
  std::vector<braid_tensor> operands = parameterOperands(stage);
  std::vector<Tensor> own;
  for (int input : stage.inputs) {
    plan::Result<Tensor> slice = batches->slice(program, *current, input, m);
    if (!slice)
      return plan::Error{slice.error()};
    own.push_back(std::move(*slice));
  }
  for (int edge : stage.edgesIn) {
    if (!values[edge][m])
      return plan::Error{text("value ", program.values[program.edges[edge].value].name,
                              " has not arrived; the schedule of the program is wrong, so compile it again")};
    own.push_back(std::move(values[edge][m]));
  }
  for (int count : stage.counts)
    own.push_back(counts[count]);
  append(operands, own);
  size_t made = stage.valuesOut.size() + stage.loss + stage.states.size();
  plan::Result<std::vector<Tensor>> results = call(stage.forward, m, operands, made + stage.residuals);
  if (!results)
    return plan::Error{results.error()};
  for (size_t i = 0; i < stage.valuesOut.size(); ++i)
    for (size_t edge = 0; edge < program.edges.size(); ++edge)
      if (program.edges[edge].value == stage.valuesOut[i])
        values[edge][m] = (*results)[i];
  if (stage.loss)
    losses[action.stage] += (*results)[stage.valuesOut.size()].item();
  if (!training)
    return {};
  // All micro-batches give the same, since what depends on samples is divided into one only.
  for (size_t i = 0; i < stage.states.size(); ++i)
    states[stage.states[i]] = (*results)[stage.valuesOut.size() + stage.loss + i].clone();
  if (stage.backward || stage.backwardInput)
    residuals[action.stage][m].assign(std::make_move_iterator(results->begin() + made),
                                      std::make_move_iterator(results->end()));
  return {};
}

/// What was kept becomes the residuals. Without a function for it this is the beginning of the backward, which comes
/// next.
plan::Status Executor::recompute(const plan::Action &action) {
  const ModelStage &stage = program.stages[action.stage];
  if (!stage.replay)
    return {};
  std::vector<Tensor> kept = std::move(residuals[action.stage][action.microbatch]);
  std::vector<braid_tensor> operands = parameterOperands(stage);
  append(operands, kept);
  plan::Result<std::vector<Tensor>> results = call(stage.replay, action.microbatch, operands, stage.replayed);
  if (!results)
    return plan::Error{results.error()};
  residuals[action.stage][action.microbatch] = std::move(*results);
  return {};
}

plan::Result<std::vector<Tensor>> Executor::cotangents(const ModelStage &stage, int m) {
  std::vector<Tensor> result;
  for (int value : stage.gradientValues) {
    Tensor total;
    bool ours = false; // a sum that nothing else refers to
    for (size_t edge = 0; edge < program.edges.size(); ++edge) {
      if (program.edges[edge].value != value)
        continue;
      Tensor part = std::move(gradients[edge][m]);
      if (!part)
        return plan::Error{text("the gradient of ", program.values[value].name, " from stage ",
                                program.stages[program.edges[edge].to].name,
                                " has not arrived; the schedule of the program is wrong, so compile it again")};
      if (!total)
        total = std::move(part);
      else if (ours)
        add(total, part);
      else
        total = sum(total, part), ours = true;
    }
    if (!total) {
      plan::Result<std::vector<int64_t>> sizes = evaluate(program, program.values[value].dims, microbatch(m));
      if (!sizes)
        return plan::Error{sizes.error()};
      total = Tensor::zeros(program.values[value].dtype, *sizes);
    }
    result.push_back(std::move(total));
  }
  return result;
}

void Executor::storeEdgeGradients(const ModelStage &stage, int m, std::vector<Tensor> &results) {
  for (size_t i = 0; i < stage.gradientEdges.size(); ++i)
    gradients[stage.gradientEdges[i]][m] = std::move(results[i]);
}

plan::Status Executor::storeGradients(int number, std::vector<Tensor> &results, size_t first) {
  const ModelStage &stage = program.stages[number];
  for (size_t i = 0; i < stage.gradients.size(); ++i)
    if (plan::Status status = parameters.addGradient(number, stage.gradients[i], std::move(results[first + i]));
        !status)
      return status;
  return {};
}

plan::Status Executor::backwardInput(const plan::Action &action) {
  const ModelStage &stage = program.stages[action.stage];
  int m = action.microbatch;
  plan::Result<std::vector<Tensor>> incoming = cotangents(stage, m);
  if (!incoming)
    return plan::Error{incoming.error()};
  std::vector<braid_tensor> operands = parameterOperands(stage);
  append(operands, residuals[action.stage][m]);
  append(operands, *incoming);
  size_t edges = stage.gradientEdges.size();
  plan::Result<std::vector<Tensor>> results = call(stage.backwardInput, m, operands, edges + stage.carries);
  if (!results)
    return plan::Error{results.error()};
  carries[action.stage][m].assign(std::make_move_iterator(results->begin() + edges),
                                  std::make_move_iterator(results->end()));
  storeEdgeGradients(stage, m, *results);
  return {};
}

plan::Status Executor::backwardWeight(const plan::Action &action) {
  const ModelStage &stage = program.stages[action.stage];
  int m = action.microbatch;
  std::vector<Tensor> saved = std::move(residuals[action.stage][m]), carried = std::move(carries[action.stage][m]);
  std::vector<braid_tensor> operands = parameterOperands(stage);
  append(operands, saved);
  append(operands, carried);
  plan::Result<std::vector<Tensor>> results = call(stage.backwardWeight, m, operands, stage.gradients.size());
  if (!results)
    return plan::Error{results.error()};
  return storeGradients(action.stage, *results, 0);
}

plan::Status Executor::fullBackward(const plan::Action &action) {
  const ModelStage &stage = program.stages[action.stage];
  int m = action.microbatch;
  plan::Result<std::vector<Tensor>> incoming = cotangents(stage, m);
  if (!incoming)
    return plan::Error{incoming.error()};
  std::vector<Tensor> saved = std::move(residuals[action.stage][m]);
  std::vector<braid_tensor> operands = parameterOperands(stage);
  append(operands, saved);
  append(operands, *incoming);
  size_t edges = stage.gradientEdges.size();
  plan::Result<std::vector<Tensor>> results = call(stage.backward, m, operands, edges + stage.gradients.size());
  if (!results)
    return plan::Error{results.error()};
  storeEdgeGradients(stage, m, *results);
  return storeGradients(action.stage, *results, edges);
}

//===----------------------------------------------------------------------===//
// The end of a step
//===----------------------------------------------------------------------===//

int Executor::nonFinite(double sumOfSquares) const {
  bool loss = false;
  for (size_t stage = 0; stage < losses.size(); ++stage)
    loss |= program.stages[stage].rank == rank && !std::isfinite(losses[stage]);
  int parameter = std::isfinite(sumOfSquares) ? -1 : parameters.firstNonFinite();
  return loss + 2 * (parameter + 1);
}

void Executor::describeNonFinite(const std::vector<double> &ofRanks) {
  // Where the loss is not finite the gradients before it are not either: it is the loss that wants explaining.
  auto isLoss = [](double code) { return int64_t(code) % 2 == 1; };
  auto found = std::find_if(ofRanks.begin(), ofRanks.end(), isLoss);
  if (found == ofRanks.end())
    found = std::find_if(ofRanks.begin(), ofRanks.end(), [](double code) { return code != 0; });
  if (found == ofRanks.end())
    return;
  report.culprit = static_cast<int>(found - ofRanks.begin());
  std::string what = isLoss(*found) ? "the loss is not finite"
                                    : text("the gradient of ", program.parameters[size_t(*found) / 2 - 1].name,
                                           " is not finite, or too large to square");
  report.problem = text(what, " on rank ", report.culprit,
                        "; lower the learning rate or set --clip-norm, look at the data of this step, or pass "
                        "--on-nonfinite continue");
}

plan::Status Executor::norm() {
  // The sum of squares, and what is not finite on each rank: all ranks leave the step out, or none.
  std::vector<double> sums(1 + program.worldSize);
  sums[0] = parameters.sumOfSquares();
  sums[1 + rank] = nonFinite(sums[0]);
  if (transport)
    if (plan::Status status = transport->allReduceSum(sums.data(), sums.size()); !status)
      return status;
  report.gradientNorm = std::sqrt(sums[0]);
  if (options.keepGradients) {
    options.keepGradients = false;
    for (size_t i = 0; i < program.parameters.size(); ++i)
      if (program.rankOf(program.parameters[i]) == rank)
        if (Tensor gradient = parameters.homeGradient(static_cast<int>(i)))
          kept[static_cast<int>(i)] = gradient.clone();
  }
  if (!options.updateNonFinite)
    describeNonFinite({sums.begin() + 1, sums.end()});
  if (!report.problem.empty()) {
    parameters.clearGradients(); // and so the update finds nothing to do
    return {};
  }
  // torch.nn.utils.clip_grad_norm_'s factor.
  constexpr double clipEps = 1e-6;
  if (double factor = options.clipNorm / (report.gradientNorm + clipEps); options.clipNorm > 0 && factor < 1)
    parameters.scaleGradients(factor);
  return {};
}
