//===- Draw.cpp - braid-sim draw ------------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "braid/Plan/Draw/Draw.h"
#include "braid/Plan/Schedule/Grid.h"

using namespace braid;
using namespace braid::plan;

namespace {
struct Options {
  sim::Input input;
  std::string format = "text", output;
  DrawOptions draw;
};
} // namespace

static Status run(const Options &options) {
  Result<PlannedSchedule> planned = sim::load(options.input, {.messages = false, .update = false});
  if (!planned)
    return Error{planned.error()};
  if (options.format == "grid")
    return sim::writeFile(options.output, drawGrid(planned->schedule));
  Result<CostModel> costs = sim::costsOf(options.input, planned->pipeline);
  if (!costs)
    return Error{costs.error()};
  costs->keepTransfers = options.format == "html" || options.format == "trace";
  Result<Timeline> timeline = simulate(planned->pipeline, planned->schedule, *costs);
  if (!timeline)
    return Error{timeline.error()};
  if (options.format == "svg")
    return sim::writeFile(options.output, drawSvg(planned->pipeline, planned->schedule, *timeline, options.draw));
  if (options.format == "trace")
    return sim::writeFile(options.output, drawTrace(planned->pipeline, planned->schedule, *costs, *timeline));
  if (options.format == "html")
    return sim::writeFile(options.output,
                          drawHtml(planned->pipeline, planned->schedule, *costs, *timeline, options.draw));
  return sim::writeFile(options.output, drawText(planned->pipeline, planned->schedule, *timeline, options.draw));
}

void addDraw(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("draw", "Draw a timeline");
  sim::addInput(command, options->input);
  sim::addCosts(command, options->input);
  command->add_option("--format", options->format, "text, grid, svg, trace (Chrome, Perfetto) or html")
      ->check(CLI::IsMember({"text", "grid", "svg", "trace", "html"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write; standard output without");
  command->add_option("--title", options->draw.title, "Title of the picture");
  command->add_option("--width", options->draw.width, "Pixels of the time axis")->check(CLI::Range(50, 100000));
  command->add_option("--columns", options->draw.columns, "Characters of a text timeline")
      ->check(CLI::Range(10, 10000));
  sim::onRun(command, options, run);
}
