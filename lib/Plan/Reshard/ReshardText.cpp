//===- ReshardText.cpp - Reshard plans as tables and JSON -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Reshard/ReshardFile.h"

#include <array>
#include <cstdio>

namespace braid::plan {

static std::string number(double value) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

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
            padded(number(step.time * 1e6) + " us", 16) + step.str() + "\n";
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
  text += "time             " + number(plan.time() * 1e6) + " us; " + number(blockingTime(plan) * 1e6) +
          " us if every message blocks both its ends\n";
  text += "busiest sender   " + std::to_string(busiestSent(plan)) + " bytes\n";
  if (!isPartial(plan)) {
    LeaderBroadcast leader = leaderBroadcast(plan);
    text += "leader+broadcast " + std::to_string(leader.bytes) + " bytes over all links, busiest sender " +
            std::to_string(leader.busiestSent) + " bytes, " + number(leader.time * 1e6) + " us\n";
  }
  text += "forwards\n" + printSteps(plan, mostMessages);
  return text + "backwards (adjoint)\n" + printSteps(adjoint(plan), mostMessages);
}

/// A JSON string. Axis names come from files and may hold anything.
static std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += std::string("\\") + c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> buffer;
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", c);
      result += buffer.data();
    } else {
      result += c;
    }
  }
  return result + "\"";
}

template <typename List, typename Print> static std::string array(const List &list, Print print) {
  std::string text = "[";
  for (const auto &item : list)
    text += (text.size() > 1 ? ", " : "") + print(item);
  return text + "]";
}

static std::string json(const std::vector<std::string> &names) { return array(names, quoted); }

static std::string json(const Mesh &mesh) {
  std::string axes;
  for (const auto &[name, size] : mesh.axes)
    axes += (axes.empty() ? "" : ", ") + quoted(name) + ": " + std::to_string(size);
  return "{\"ranks\": " + array(mesh.ranks, [](int rank) { return std::to_string(rank); }) + ", \"axes\": {" + axes +
         "}}";
}

static std::string json(const Layout &layout) {
  return "{\"dims\": " + array(layout.dims, [](const auto &axes) { return json(axes); }) +
         ", \"partial\": " + json(layout.partial) + "}";
}

static std::string json(const Message &message, int64_t elementBytes) {
  auto dim = [](const SliceDim &dim) {
    return "[" + std::to_string(dim.from) + ", " + std::to_string(dim.to) + ", " + std::to_string(dim.size) + "]";
  };
  return "{\"from\": " + std::to_string(message.from) + ", \"to\": " + std::to_string(message.to) +
         ", \"round\": " + std::to_string(message.round) +
         ", \"bytes\": " + std::to_string(message.elements * elementBytes) +
         ", \"slices\": " + array(message.slices, [&](const Slice &slice) { return array(slice, dim); }) + "}";
}

static std::string jsonSteps(const ReshardPlan &plan) {
  std::string text = "[";
  for (const ReshardStep &step : plan.steps) {
    text += text.size() > 1 ? ",\n  " : "\n  ";
    text += "{\"kind\": " + quoted(std::string(spelling(step.kind))) + ", \"axes\": " + json(step.axes) +
            ", \"dim\": " + std::to_string(step.dim) + ", \"to_dim\": " + std::to_string(step.toDim) +
            ", \"before\": " + json(step.before.layout) + ", \"after\": " + json(step.after.layout) +
            ", \"bytes\": " + std::to_string(step.bytes) + ", \"time\": " + number(step.time);
    if (step.kind == StepKind::Exchange) {
      auto message = [&](const Message &message) { return "\n    " + json(message, plan.shape.elementBytes); };
      text += ", \"rounds\": " + std::to_string(step.exchange.rounds) +
              ",\n   \"messages\": " + array(step.exchange.messages, message) +
              ",\n   \"copies\": " + array(step.exchange.copies, message);
    } else {
      text += ", \"mesh\": " + json(step.before.mesh);
    }
    text += "}";
  }
  return text + "]";
}

std::string reshardJson(const ReshardPlan &plan) {
  auto side = [](const Sharding &sharding) {
    return "{\"mesh\": " + json(sharding.mesh) + ", \"layout\": " + json(sharding.layout) + "}";
  };
  std::string text = "{\n \"source\": " + side(plan.source) + ",\n \"destination\": " + side(plan.destination) +
                     ",\n \"bytes\": " + std::to_string(plan.bytes()) + ",\n \"time\": " + number(plan.time()) +
                     ",\n \"blocking_time\": " + number(blockingTime(plan)) +
                     ",\n \"busiest_sent\": " + std::to_string(busiestSent(plan)) + ",\n";
  if (!isPartial(plan)) {
    LeaderBroadcast leader = leaderBroadcast(plan);
    text += " \"leader_broadcast\": {\"bytes\": " + std::to_string(leader.bytes) +
            ", \"busiest_sent\": " + std::to_string(leader.busiestSent) + ", \"time\": " + number(leader.time) + "},\n";
  }
  return text + " \"forwards\": " + jsonSteps(plan) + ",\n \"backwards\": " + jsonSteps(adjoint(plan)) + "\n}\n";
}

} // namespace braid::plan
