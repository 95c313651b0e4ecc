//===- Messages.cpp - What the executor sends and receives ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are never exchanged: both ends compute them from the plan and the batch. A tag proves that both ends mean the
// same tensor.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Executor.h"
#include "runtime/core/Text.h"

using namespace braid;
using namespace braid::runtime;
using plan::ActionKind;

/// The largest number of sends whose buffers are kept at once.
static constexpr size_t maxPending = 8;

/// Kind, edge or parameter, micro-batch. The kind of a receive is written as that of its send.
static uint64_t tagOf(const plan::Action &action, int subject) {
  ActionKind kind = plan::isReceive(action.kind) ? plan::counterpart(action.kind) : action.kind;
  return uint64_t(kind) << 56 | uint64_t(uint32_t(subject)) << 28 | uint64_t(action.microbatch + 1);
}

std::string Executor::describeTag(uint64_t tag) const {
  auto kind = static_cast<ActionKind>(tag >> 56);
  size_t subject = tag >> 28 & ((uint64_t(1) << 28) - 1);
  int64_t microbatch = int64_t(tag & ((uint64_t(1) << 28) - 1)) - 1;
  std::string of = microbatch < 0 ? "" : text(", micro-batch ", microbatch);
  bool gradient = kind == ActionKind::SendB || kind == ActionKind::SendGrad;
  std::string prefix = gradient ? "the gradient of " : "";
  if ((kind == ActionKind::SendF || kind == ActionKind::SendB) && subject < program.edges.size())
    return prefix + program.values[program.edges[subject].value].name + of;
  if ((kind == ActionKind::SendGrad || kind == ActionKind::SendParam) && subject < program.parameters.size())
    return prefix + program.parameters[subject].name;
  if (kind == ActionKind::Loss && subject < program.stages.size())
    return text("the loss of stage ", program.stages[subject].name);
  return text("a tensor of a file (tag ", tag, ")");
}

plan::Status Executor::finishSends(size_t mostLeft) {
  while (pending.size() > mostLeft) {
    if (plan::Status status = transport->wait(pending.front().transfer); !status)
      return status;
    pending.pop_front();
  }
  return {};
}

plan::Status Executor::send(int peer, Tensor value, uint64_t tag, const std::string &what) {
  Tensor buffer = value.contiguous();
  plan::Result<Transfer> transfer = transport->isend(peer, buffer.data(), buffer.bytes(), tag);
  if (!transfer)
    return plan::Error{text("sending ", what, " ", value.str(), ": ", transfer.error())};
  pending.push_back({*transfer, std::move(buffer)});
  if (plan::Status status = finishSends(maxPending); !status)
    return plan::Error{text("sending ", what, " ", value.str(), ": ", status.error())};
  return {};
}

plan::Result<Tensor> Executor::receive(int peer, DType dtype, const std::vector<int64_t> &sizes, uint64_t tag,
                                       const std::string &what) {
  Tensor buffer = Tensor::empty(dtype, sizes);
  if (plan::Status status = transport->recv(peer, buffer.data(), buffer.bytes(), tag); !status)
    return plan::Error{text("receiving ", what, " ", buffer.str(), ": ", status.error())};
  return buffer;
}

/// The edges that a message carries, whichever end and direction it is.
static std::vector<int> edgesOf(const Program &program, const plan::Action &action) {
  bool backward = action.kind == ActionKind::SendB || action.kind == ActionKind::RecvB;
  bool toPeer = action.kind == ActionKind::SendF || action.kind == ActionKind::RecvB;
  return toPeer ? program.edgesBetween(action.stage, action.peer, backward)
                : program.edgesBetween(action.peer, action.stage, backward);
}

plan::Status Executor::sendEdges(const plan::Action &action) {
  bool backward = action.kind == ActionKind::SendB;
  int m = action.microbatch;
  for (int edge : edgesOf(program, action)) {
    const ModelValue &value = program.values[program.edges[edge].value];
    std::string what = (backward ? "the gradient of " : "") + value.name;
    Tensor tensor = std::move((backward ? gradients : values)[edge][m]);
    if (!tensor)
      return plan::Error{
          text(what, " has not been computed; the schedule of the program is wrong, so compile it again")};
    plan::Result<std::vector<int64_t>> sizes = evaluate(program, value.dims, microbatch(m));
    if (!sizes)
      return plan::Error{sizes.error()};
    if (!tensor.hasShape(value.dtype, *sizes))
      return plan::Error{text(what, " is ", tensor.str(), " and the plan says ", info(value.dtype).name,
                              shapeText(*sizes), "; this is an error of the compiler, so please report it")};
    if (plan::Status status = send(program.stages[action.peer].rank, std::move(tensor), tagOf(action, edge), what);
        !status)
      return status;
  }
  return {};
}

plan::Status Executor::receiveEdges(const plan::Action &action) {
  bool backward = action.kind == ActionKind::RecvB;
  int m = action.microbatch;
  for (int edge : edgesOf(program, action)) {
    const ModelValue &value = program.values[program.edges[edge].value];
    plan::Result<std::vector<int64_t>> sizes = evaluate(program, value.dims, microbatch(m));
    if (!sizes)
      return plan::Error{sizes.error()};
    plan::Result<Tensor> tensor = receive(program.stages[action.peer].rank, value.dtype, *sizes, tagOf(action, edge),
                                          (backward ? "the gradient of " : "") + value.name);
    if (!tensor)
      return plan::Error{tensor.error()};
    (backward ? gradients : values)[edge][m] = std::move(*tensor);
  }
  return {};
}

plan::Status Executor::exchangeTied(const plan::Action &action) {
  int peer = program.stages[action.peer].rank;
  if (peer == rank)
    return {}; // stages of one rank share the tensor and its gradient
  bool gradient = action.kind == ActionKind::SendGrad || action.kind == ActionKind::RecvGrad;
  bool atHome = action.kind == ActionKind::RecvGrad || action.kind == ActionKind::SendParam;
  int home = atHome ? action.stage : action.peer, copy = atHome ? action.peer : action.stage;
  for (int number : gradient ? parameters.tiedGradients(home, copy) : parameters.tiedValues(home, copy)) {
    const ModelParameter &parameter = program.parameters[number];
    std::string what = (gradient ? "the gradient of " : "") + parameter.name;
    if (plan::isSend(action.kind)) {
      Tensor value = gradient ? parameters.takeGradient(copy, number) : parameters.parameter(number);
      if (plan::Status status = send(peer, std::move(value), tagOf(action, number), what); !status)
        return status;
      continue;
    }
    plan::Result<Tensor> value = receive(peer, parameter.dtype, parameter.shape, tagOf(action, number), what);
    if (!value)
      return plan::Error{value.error()};
    if (!gradient)
      assign(parameters.parameter(number), *value);
    else if (plan::Status status = parameters.addGradient(home, number, std::move(*value)); !status)
      return status;
  }
  return {};
}

plan::Status Executor::exchangeLoss(const plan::Action &action) {
  int owner = program.stages[action.stage].rank;
  double &loss = losses[action.stage];
  uint64_t tag = tagOf(action, action.stage);
  if (owner != 0) {
    plan::Status status =
        rank == 0 ? transport->recv(owner, &loss, sizeof loss, tag) : transport->send(0, &loss, sizeof loss, tag);
    if (!status)
      return plan::Error{text(rank == 0 ? "receiving" : "sending", " the loss: ", status.error())};
  }
  if (rank == 0)
    report.loss += loss;
  return {};
}
