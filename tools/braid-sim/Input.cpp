//===- Input.cpp - Which schedule a subcommand works on, and its costs ----===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include <algorithm>
#include <functional>
#include <limits>

using namespace braid;
using namespace braid::plan;
using braid::sim::Command;
using braid::sim::Input;

static bool anyAction(const PlannedSchedule &planned, const std::function<bool(const Action &)> &holds) {
  for (const std::vector<Action> &row : planned.schedule.rows)
    if (std::any_of(row.begin(), row.end(), holds))
      return true;
  return false;
}

static bool hasKind(const PlannedSchedule &planned, ActionKind kind) {
  return anyAction(planned, [=](const Action &action) { return action.kind == kind; });
}

static bool anyDefers(const PlannedSchedule &planned) {
  const std::vector<Stage> &stages = planned.pipeline.stages;
  return std::any_of(stages.begin(), stages.end(), [](const Stage &stage) { return stage.defers; });
}

/// "interleaved or looped_bfs": the kinds that read something of a request.
static std::string kindsThat(bool ScheduleKind::*reads) {
  std::vector<std::string> names;
  for (const ScheduleKind &kind : scheduleKinds())
    if (kind.*reads)
      names.push_back(kind.name);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

static bool kindReads(const Input &input, bool ScheduleKind::*reads) {
  for (const ScheduleKind &kind : scheduleKinds())
    if (kind.name == input.request.kind)
      return kind.*reads;
  return true; // makeSchedule() refuses the kind
}

void sim::addInput(Command &command, Input &input, Reads reads) {
  constexpr int64_t most = std::numeric_limits<int>::max();
  std::vector<std::string> kinds;
  for (const ScheduleKind &kind : scheduleKinds())
    kinds.push_back(kind.name);
  std::string chunked = kindsThat(&ScheduleKind::readsChunks), updated = kindsThat(&ScheduleKind::readsUpdates),
              eager = kindsThat(&ScheduleKind::readsEager);
  command->add_option("-k,--kind", input.request.kind, "Schedule; braid-sim list explains them")
      ->check(oneOf(kinds))
      ->capture_default_str();
  command->add_option("-p,--ranks", input.request.ranks, "Ranks of the pipeline")
      ->check(integerFrom(1, 1 << 16))
      ->capture_default_str();
  command->add_option("-m,--microbatches", input.request.microbatches, "Micro-batches of the whole table")
      ->check(integerFrom(1, most))
      ->capture_default_str();
  command->add_option("--chunks", input.request.chunks, "Stages per rank, for " + chunked)
      ->check(integerFrom(1, 1024))
      ->capture_default_str();
  command->add_option("--updates", input.request.updates, "Optimizer steps in the table, for " + updated)
      ->check(integerFrom(1, most))
      ->capture_default_str();
  command
      ->add_option("--component", input.components,
                   "Part of a multimodal model, instead of --ranks: NAME:RANKS[:READERS[:FLAGS]] as in "
                   "vision:0-1:llm:defers, llm:2-5; flags are frozen, defers and lanes")
      ->check(named());
  command->add_option("-t,--table", input.table, "Read this CSV file instead: one row per rank, as PyTorch writes it")
      ->check(named());
  command->add_option("--edge", input.edges, "An edge FROM:TO besides those between neighbours, for --table");
  addList(command, "--frozen", input.frozen, "Stages without a backward, for --table", integerFrom(0, most));
  command.readOnlyIf({"--edge", "--frozen"}, "with --table", [&input] { return input.hasTable(); });
  command.readOnlyIf({"--kind", "--microbatches"}, "without --table", [&input] { return !input.hasTable(); });
  command.readOnlyIf({"--ranks"}, "without --table and --component",
                     [&input] { return !input.hasTable() && input.components.empty(); });
  command.readOnlyIf({"--chunks"}, "for --kind " + chunked + ", without --table and --component", [&input] {
    return !input.hasTable() && input.components.empty() && kindReads(input, &ScheduleKind::readsChunks);
  });
  if (reads == Reads::Pipeline)
    command.readOnlyIf({"--kind"}, "without --component", [&input] { return input.components.empty(); });
  if (reads == Reads::Table) {
    command->add_option("--eager", input.eager, "Micro-batches in flight in stages that defer, where 1f1b has fewer")
        ->check(integerFrom(1, most))
        ->capture_default_str();
    command
        ->add_option("--recompute", input.recompute,
                     "Stages keep a checkpoint and compute the rest again: none, with_backward (layer by layer), early "
                     "(before the gradient comes)")
        ->check(oneOf({"none", "with_backward", "early"}))
        ->capture_default_str();
    command.readOnlyIf({"--updates"}, "for --kind " + updated + ", without --table",
                       [&input] { return !input.hasTable() && kindReads(input, &ScheduleKind::readsUpdates); });
    command.readOnlyIf({"--eager"}, "for --kind " + eager + ", without --table",
                       [&input] { return !input.hasTable() && kindReads(input, &ScheduleKind::readsEager); });
    input.rules.push_back({{{command.option("--eager")}, "where a --component defers"}, anyDefers});
    input.rules.push_back(
        {{{command.option("--recompute")}, "where the table says the same: RECOMPUTE stands in it, or does not"},
         [&input](const PlannedSchedule &planned) {
           return (input.recompute != "none") == hasKind(planned, ActionKind::Recompute);
         }});
  }
  for (CLI::Option *option : command.optionsOf("Options"))
    if (option->get_name() != "--help")
      option->group(scheduleGroup);
}

void sim::addCosts(Command &command, Input &input, Reads reads) {
  auto duration = [&](const char *names, double &value, const char *help) {
    command->add_option(names, value, help)->check(numberFrom(0))->capture_default_str()->group(costGroup);
  };
  auto orMinusOne = [&](const char *names, double &value, const char *help) {
    command->add_option(names, value, help)->check(numberOrMinusOne())->capture_default_str()->group(costGroup);
  };
  auto part = [&](const char *names, double &value, const char *help) {
    command->add_option(names, value, help)->check(share())->capture_default_str()->group(costGroup);
  };
  auto perStage = [&](const char *name, const char *other, std::vector<double> &values) {
    CLI::Option *list = addList(command, name, values, "Durations for each stage", numberFrom(0))->group(costGroup);
    command.readOnlyIf({other}, std::string("without ") + name, [list] { return list->count() == 0; });
  };
  duration("-f,--forward", input.forward, "Duration of a stage's forward");
  duration("-i,--input", input.input, "Duration of its input gradient");
  duration("-w,--weight", input.weight, "Duration of its weight gradient");
  perStage("--forwards", "--forward", input.forwards);
  perStage("--inputs", "--input", input.inputs);
  perStage("--weights", "--weight", input.weights);
  duration("-c,--latency", input.latency, "Time from one rank to another");
  duration("--activation", input.activation, "Memory that a stage's forward makes");
  orMinusOne("--kept", input.kept, "Of it, what waits for the weight gradient; -1: all");
  duration("--bytes", input.bytes, "Size of a message");
  duration("--time-per-byte", input.timePerByte, "Time that a byte takes on a link");
  part("--deferred-share", input.deferredShare, "Of a micro-batch with a partner, what it defers");
  part("--input-release", input.inputRelease, "Share of a full backward after which its gradient leaves");
  auto need = [&](std::vector<std::string> names, const char *where,
                  std::function<bool(const PlannedSchedule &)> holds) {
    std::vector<CLI::Option *> options;
    for (const std::string &name : names)
      options.push_back(command.option(name));
    input.rules.push_back({{std::move(options), where}, std::move(holds)});
  };
  need({"--deferred-share"}, "where a --component defers", anyDefers);
  auto takesTime = [&input] { return input.timePerByte > 0 && (input.bytes > 0 || input.boundaryBytes > 0); };
  command.readOnlyIf({"--time-per-byte"}, "with a size of messages: --bytes",
                     [&input] { return input.bytes > 0 || input.boundaryBytes > 0; });
  if (reads == Reads::Pipeline)
    return;
  duration("--checkpoint", input.checkpoint, "Memory that a forward makes where the rest is recomputed");
  orMinusOne("--replayed", input.replayed,
             "Of that rest, what is there at a time with --recompute with_backward; -1: all");
  orMinusOne("--recomputation", input.recomputation, "Duration of a stage's recomputation; -1: its forward's");
  command->add_option("--links", input.links, "What messages at one time do to each other: free, serial, ports")
      ->check(oneOf({"free", "serial", "ports"}))
      ->capture_default_str()
      ->group(costGroup);
  orMinusOne("--boundary-bytes", input.boundaryBytes, "Size of one between components; -1: --bytes");
  command
      ->add_option("--durations", input.durations,
                   "File of lines ACTION,DURATION as in 0F3,1.5, where micro-batches differ")
      ->check(named())
      ->group(costGroup);
  command->add_option("--overlap", input.overlap, "How overlapped blocks run: atomic, early, sequential")
      ->check(oneOf({"atomic", "early", "sequential"}))
      ->capture_default_str()
      ->group(costGroup);
  part("--forward-release", input.blockForwardRelease,
       "Share of an overlapped block after which its forward's result leaves");
  part("--backward-release", input.blockBackwardRelease, "And its backward's");
  command.readOnlyIf({"--links"}, "with --time-per-byte and --bytes", takesTime);
  command.readOnlyIf({"--replayed"}, "with --recompute with_backward",
                     [&input] { return input.recompute == "with_backward"; });
  command.readOnlyIf({"--forward-release"}, "with --overlap atomic", [&input] { return input.overlap == "atomic"; });
  command.readOnlyIf({"--backward-release"}, "with --overlap atomic or early",
                     [&input] { return input.overlap != "sequential"; });
  need({"--boundary-bytes"}, "with several --component",
       [](const PlannedSchedule &planned) { return planned.pipeline.components.size() > 1; });
  need({"--checkpoint", "--recomputation"}, "where stages recompute: --recompute, or RECOMPUTE in the table",
       [](const PlannedSchedule &planned) { return hasKind(planned, ActionKind::Recompute); });
  need({"--kept"}, "where a schedule has weight gradients of their own (W)",
       [](const PlannedSchedule &planned) { return hasKind(planned, ActionKind::BackwardWeight); });
  need({"--input-release"}, "where a schedule has full backwards (B)",
       [](const PlannedSchedule &planned) { return hasKind(planned, ActionKind::FullBackward); });
  need({"--overlap", "--forward-release", "--backward-release"}, "where a schedule has overlapped blocks",
       [](const PlannedSchedule &planned) {
         return anyAction(planned, [](const Action &action) { return action.joinsNext; });
       });
}
