//===- ReshardText.cpp - Reshard plans as tables and JSON -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/ReshardFile.h"
#include "braid/Plan/Support/Json.h"
#include "braid/Plan/Support/Text.h"

namespace braid::plan {

static std::string padded(const std::string &text, size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + " ";
}

/// Offsets and sizes of a box: [2:6, 0:4096].
static std::string printBox(const Slice &slice, int64_t SliceDim::*offset) {
  std::string text = "[";
  for (const SliceDim &dim : slice)
    text += (text.size() > 1 ? ", " : "") + std::to_string(dim.*offset) + ":" + std::to_string(dim.*offset + dim.size);
  return text + "]";
}

static double blockingTime(const ReshardPlan &plan) {
  double time = 0;
  for (const ReshardStep &step : plan.steps)
    time +=
        step.kind == StepKind::Exchange ? blockingTime(step.exchange, plan.shape.elementBytes, plan.links) : step.time;
  return time;
}

static std::string printSteps(const ReshardPlan &plan, int mostMessages) {
  std::string text;
  if (plan.steps.empty())
    text += "  nothing to do\n";
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const ReshardStep &step = plan.steps[i];
    text += padded("  " + std::to_string(i + 1), 5) + padded(std::to_string(step.bytes) + " bytes", 22) +
            padded(decimal(step.time * 1e6) + " us", 16) + step.str() + "\n";
    if (step.exchange.messages.empty() || mostMessages < 1)
      continue;
    text += "       round  from -> to    bytes           of the sender's buffer  to the receiver's\n";
    for (size_t j = 0; j < step.exchange.messages.size(); ++j) {
      if (static_cast<int>(j) == mostMessages) {
        text += "       ... and " + std::to_string(step.exchange.messages.size() - j) + " more\n";
        break;
      }
      const Message &message = step.exchange.messages[j];
      text += "       " + padded(std::to_string(message.round), 7) +
              padded(std::to_string(message.from) + " -> " + std::to_string(message.to), 14) +
              padded(std::to_string(message.elements * plan.shape.elementBytes), 16);
      constexpr size_t mostSlices = 3;
      for (size_t k = 0; k < message.slices.size() && k < mostSlices; ++k)
        text += (k ? "; " : "") + printBox(message.slices[k], &SliceDim::from) + " to " +
                printBox(message.slices[k], &SliceDim::to);
      if (message.slices.size() > mostSlices)
        text += "; and " + std::to_string(message.slices.size() - mostSlices) + " more slices";
      text += "\n";
    }
  }
  return text;
}

static bool isPartial(const ReshardPlan &plan) {
  return !plan.source.layout.partial.empty() || !plan.destination.layout.partial.empty();
}

std::string printReshard(const ReshardPlan &plan, int mostMessages) {
  std::string text = "source           " + plan.source.str() + "\ndestination      " + plan.destination.str() + "\n";
  text += "bytes            " + std::to_string(plan.bytes()) + " over all links\n";
  ReshardPlan back = adjoint(plan);
  text += "time forwards    " + decimal(plan.time() * 1e6) + " us; " + decimal(blockingTime(plan) * 1e6) +
          " us if every message blocks both its ends\n";
  text += "time backwards   " + decimal(back.time() * 1e6) + " us; " + decimal(blockingTime(back) * 1e6) +
          " us if every message blocks both its ends\n";
  text += "busiest sender   " + std::to_string(busiestSent(plan)) + " bytes\n";
  if (!isPartial(plan)) {
    LeaderBroadcast leader = leaderBroadcast(plan);
    text += "leader+broadcast " + std::to_string(leader.bytes) + " bytes over all links, busiest sender " +
            std::to_string(leader.busiestSent) + " bytes, " + decimal(leader.time * 1e6) + " us\n";
  }
  text += "forwards\n" + printSteps(plan, mostMessages);
  return text + "backwards (adjoint)\n" + printSteps(back, mostMessages);
}

static Json jsonOf(const Mesh &mesh) {
  Json axes = Json::object();
  for (const auto &[name, size] : mesh.axes)
    axes[name] = size;
  return {{"ranks", mesh.ranks}, {"axes", std::move(axes)}};
}

static Json jsonOf(const Layout &layout) { return {{"dims", layout.dims}, {"partial", layout.partial}}; }

static Json jsonOf(const std::vector<Message> &messages, int64_t elementBytes) {
  Json list = Json::array();
  for (const Message &message : messages) {
    Json slices = Json::array();
    for (const Slice &slice : message.slices) {
      Json &dims = slices.emplace_back(Json::array());
      for (const SliceDim &dim : slice)
        dims.push_back(Json::array({dim.from, dim.to, dim.size}));
    }
    list.push_back({{"from", message.from},
                    {"to", message.to},
                    {"round", message.round},
                    {"bytes", message.elements * elementBytes},
                    {"slices", std::move(slices)}});
  }
  return list;
}

static Json jsonSteps(const ReshardPlan &plan) {
  Json list = Json::array();
  for (const ReshardStep &step : plan.steps) {
    Json &json = list.emplace_back();
    json = {{"kind", spelling(step.kind)},
            {"axes", step.axes},
            {"dim", step.dim},
            {"to_dim", step.toDim},
            {"before", jsonOf(step.before.layout)},
            {"after", jsonOf(step.after.layout)},
            {"bytes", step.bytes},
            {"time", step.time}};
    if (step.kind == StepKind::Exchange) {
      json["rounds"] = step.exchange.rounds;
      json["messages"] = jsonOf(step.exchange.messages, plan.shape.elementBytes);
      json["copies"] = jsonOf(step.exchange.copies, plan.shape.elementBytes);
    } else {
      json["mesh"] = jsonOf(step.before.mesh);
    }
  }
  return list;
}

std::string reshardJson(const ReshardPlan &plan) {
  auto side = [](const Sharding &sharding) {
    return Json{{"mesh", jsonOf(sharding.mesh)}, {"layout", jsonOf(sharding.layout)}};
  };
  Json json = {
      {"source", side(plan.source)}, {"destination", side(plan.destination)}, {"bytes", plan.bytes()},
      {"time", plan.time()},         {"blocking_time", blockingTime(plan)},   {"busiest_sent", busiestSent(plan)}};
  if (!isPartial(plan)) {
    LeaderBroadcast leader = leaderBroadcast(plan);
    json["leader_broadcast"] = {{"bytes", leader.bytes}, {"busiest_sent", leader.busiestSent}, {"time", leader.time}};
  }
  json["forwards"] = jsonSteps(plan);
  json["backwards"] = jsonSteps(adjoint(plan));
  return jsonText(json) + "\n";
}

} // namespace braid::plan
