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
  Result<CostModel> costs = sim::costsOf(options.input, *planned);
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
  sim::Command command(app, "draw", "Draw a timeline",
                       {"draw --kind zb_h1 -p 4 -m 8", "draw --kind amdp -p 8 -m 24 --format html -o amdp.html",
                        "draw --table mine.csv --format svg --title mine -o mine.svg"});
  sim::addInput(command, options->input, sim::Reads::Table);
  sim::addCosts(command, options->input, sim::Reads::Table);
  command->add_option("--format", options->format, "text, grid, svg, trace (Chrome, Perfetto) or html")
      ->check(sim::oneOf({"text", "grid", "svg", "trace", "html"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "File to write; standard output without")
      ->check(sim::outputFile());
  command->add_option("--title", options->draw.title, "Title of the picture");
  command->add_option("--width", options->draw.width, "Pixels of the time axis")->check(sim::integerFrom(50, 100000));
  command->add_option("--columns", options->draw.columns, "Characters of a text timeline")
      ->check(sim::integerFrom(10, 10000));
  auto isOne = [&format = options->format](const char *a, const char *b = "") { return format == a || format == b; };
  command.readOnlyIf(command.optionsOf(sim::costGroup), "with --format text, svg, trace or html",
                     [isOne] { return !isOne("grid"); });
  command.readOnlyIf({"--title", "--width"}, "with --format svg or html", [isOne] { return isOne("svg", "html"); });
  command.readOnlyIf({"--columns"}, "with --format text", [isOne] { return isOne("text"); });
  command.readOnlyIf({"--activation"}, "with --format svg, trace or html", [isOne] { return !isOne("text", "grid"); });
  command.readOnlyIf({"--kept", "--checkpoint", "--replayed"}, "with --format trace or html",
                     [isOne] { return isOne("trace", "html"); });
  command.readOnlyIf({"--bytes", "--boundary-bytes"}, "with --time-per-byte, or --format trace or html",
                     [isOne, &input = options->input] { return input.timePerByte > 0 || isOne("trace", "html"); });
  command.readOnlyIf({"--edge", "--frozen", "--component", "--recompute"},
                     "without --table, or with --format text, svg, trace or html",
                     [isOne, &input = options->input] { return !input.hasTable() || !isOne("grid"); });
  command.onRun(options, run);
}
