//===- Components.cpp - Encoders and a language model as one pipeline -----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Schedule/Components.h"
#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace braid::plan {

static std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos)
      return parts;
    text.remove_prefix(at + 1);
  }
}

static std::optional<int> numberIn(std::string_view text) {
  constexpr int most = 1 << 20;
  int value = 0;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size() || value < 0 || value > most)
    return std::nullopt;
  return value;
}

Result<Component> Component::parse(std::string_view text) {
  auto fail = [&](const std::string &why) {
    return Error{"'" + std::string(text) + "' is no component: " + why +
                 "; write NAME:RANKS[:READERS[:FLAGS]] as in vision:0-3:llm:frozen"};
  };
  Component component;
  std::vector<std::string_view> fields = split(text, ':');
  if (fields.size() < 2 || fields.size() > 4)
    return fail("it has " + std::to_string(fields.size()) + " field(s)");
  if (fields[0].empty() || trim(fields[0]) != fields[0])
    return fail("its name is empty, or has blanks around it");
  component.name = fields[0];
  for (std::string_view range : split(fields[1], ',')) {
    size_t dash = range.find('-');
    std::optional<int> first = numberIn(range.substr(0, dash)),
                       last = dash == std::string_view::npos ? first : numberIn(range.substr(dash + 1));
    if (!first || !last)
      return fail("'" + std::string(range) + "' is no range of ranks");
    int step = *first <= *last ? 1 : -1; // 3-0 counts down
    for (int rank = *first; rank != *last + step; rank += step)
      component.ranks.push_back(rank);
  }
  // A last component has no readers, and may have flags.
  std::vector<std::string_view> readers, flags;
  if (fields.size() > 2 && !fields[2].empty())
    readers = split(fields[2], ',');
  if (fields.size() > 3)
    flags = split(fields[3], ',');
  for (const auto *list : {&readers, &flags})
    for (auto entry = list->begin(); entry != list->end(); ++entry)
      if (entry->empty() || std::find(list->begin(), entry, *entry) != entry)
        return fail((entry->empty() ? "an entry" : "'" + std::string(*entry) + "'") + " of its " +
                    (list == &flags ? "flags" : "readers") + (entry->empty() ? " is empty" : " comes twice"));
  for (std::string_view reader : readers) {
    size_t at = reader.find('@');
    std::optional<int> stage = at == std::string_view::npos ? 0 : numberIn(reader.substr(at + 1));
    if (!stage)
      return fail("'" + std::string(reader) + "' names no stage behind '@'");
    component.readers.push_back({std::string(reader.substr(0, at)), *stage});
  }
  for (std::string_view flag : flags) {
    if (flag == "frozen")
      component.trains = false;
    else if (flag == "defers")
      component.defers = true;
    else if (flag == "lanes")
      component.lanes = true;
    else
      return fail("unknown flag '" + std::string(flag) + "'" +
                  suggest(std::string(flag), {"frozen", "defers", "lanes"}));
  }
  return component;
}

/// Producers before readers, otherwise in the given order, the only one without readers last.
static Result<std::vector<Component>> inOrder(std::vector<Component> components) {
  std::map<std::string, int> waits; // producers that are not placed yet
  std::vector<std::string> names;
  for (const Component &component : components) {
    if (!waits.emplace(component.name, 0).second)
      return Error{"two components are called '" + component.name + "'; give each a name of its own"};
    if (component.ranks.empty())
      return Error{"component '" + component.name + "' has no ranks; give it at least one"};
    names.push_back(component.name);
  }
  int last = 0;
  for (const Component &component : components) {
    last += component.readers.empty();
    for (const Component::Reader &reader : component.readers) {
      auto found = waits.find(reader.component);
      if (found == waits.end())
        return Error{"component '" + component.name + "' is read by '" + reader.component + "', which does not exist" +
                     suggest(reader.component, names)};
      ++found->second;
    }
  }
  if (last != 1)
    return Error{std::to_string(last) + " components have no reader; all but the one with the loss need one"};
  std::vector<Component> ordered;
  while (!components.empty()) {
    auto next = components.end();
    for (auto at = components.begin(); at != components.end() && next == components.end(); ++at)
      if (waits[at->name] == 0 && (!at->readers.empty() || components.size() == 1))
        next = at;
    if (next == components.end())
      return Error{"components read each other in a circle; '" + components.front().name + "' is one of them"};
    for (const Component::Reader &reader : next->readers)
      --waits[reader.component];
    ordered.push_back(std::move(*next));
    components.erase(next);
  }
  return ordered;
}

Result<Pipeline> joinComponents(std::vector<Component> given, int microbatches) {
  Result<std::vector<Component>> components = inOrder(std::move(given));
  if (!components)
    return Error{components.error()};
  Pipeline pipeline;
  pipeline.microbatches = microbatches;
  pipeline.placement.emplace_back();
  std::map<std::string, std::pair<int, const Component *>> starts; // first stage of each component
  for (const Component &component : *components) {
    int first = pipeline.numStages(), count = static_cast<int>(component.ranks.size());
    starts[component.name] = {first, &component};
    for (int stage = 0; stage < count; ++stage) {
      Stage &added = pipeline.stages.emplace_back();
      added.name = component.name + (count > 1 ? "." + std::to_string(stage) : "");
      added.component = static_cast<int>(pipeline.components.size());
      added.trains = component.trains;
      added.defers = component.defers;
      if (stage > 0 && !component.lanes)
        pipeline.edges.push_back({0, first + stage - 1, first + stage, true});
    }
    pipeline.components.push_back(component.name);
    pipeline.placement[0].insert(pipeline.placement[0].end(), component.ranks.begin(), component.ranks.end());
    if (component.lanes && count > 1 && component.trains) {
      TiedGroup &group = pipeline.tied.emplace_back();
      group.home = first;
      for (int stage = 1; stage < count; ++stage)
        group.copies.push_back(first + stage);
    }
  }
  for (const Component &component : *components)
    for (const Component::Reader &name : component.readers) {
      auto [entry, reader] = starts[name.component];
      int first = starts[component.name].first, count = static_cast<int>(component.ranks.size());
      if (name.stage >= static_cast<int>(reader->ranks.size()))
        return Error{"component '" + component.name + "' enters stage " + std::to_string(name.stage) + " of '" +
                     reader->name + "', which has " + std::to_string(reader->ranks.size())};
      if (component.lanes && reader->lanes && component.ranks.size() != reader->ranks.size())
        return Error{"component '" + component.name + "' has " + std::to_string(count) + " lanes and its reader '" +
                     reader->name + "' has " + std::to_string(reader->ranks.size()) + "; give both the same number"};
      // Lane i feeds lane i; every lane feeds a stage; a last stage feeds every lane.
      for (int lane = component.lanes ? 0 : count - 1; lane < count; ++lane)
        for (int to = reader->lanes ? 0 : name.stage;
             to < (reader->lanes ? static_cast<int>(reader->ranks.size()) : name.stage + 1); ++to)
          if (!component.lanes || !reader->lanes || lane == to)
            pipeline.edges.push_back({0, first + lane, entry + to, true});
    }
  if (std::any_of(components->begin(), components->end(), [](const Component &c) { return c.defers; }))
    for (int microbatch = 0; microbatch < microbatches; ++microbatch)
      pipeline.partner.push_back(microbatch % 2 == 0 && microbatch + 1 < microbatches ? microbatch + 1 : -1);
  std::stable_sort(pipeline.edges.begin(), pipeline.edges.end(),
                   [](const Edge &a, const Edge &b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
  // A backward has something to do where parameters train, or a gradient goes on to such a stage.
  for (int stage = 0; stage < pipeline.numStages(); ++stage)
    pipeline.stages[stage].backward = pipeline.stages[stage].trains;
  for (size_t id = 0; id < pipeline.edges.size(); ++id) {
    Edge &edge = pipeline.edges[id];
    edge.id = static_cast<int>(id);
    pipeline.stages[edge.to].backward |= pipeline.stages[edge.from].backward;
  }
  for (Edge &edge : pipeline.edges)
    edge.carriesGradient = pipeline.stages[edge.from].backward;
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  return pipeline;
}

} // namespace braid::plan
