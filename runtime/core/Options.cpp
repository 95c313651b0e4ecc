//===- Options.cpp - The command line of a compiled program ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Options.h"
#include "runtime/core/Text.h"
#include "runtime/transport/gloo/GlooTransport.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

using namespace braid;
using namespace braid::runtime;

/// CLI::PositiveNumber lets nan pass.
static CLI::Validator positiveFinite(double most = std::numeric_limits<double>::max()) {
  auto check = [most](const std::string &input) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(input, value) && value > 0 && value <= most)
      return "";
    return "'" + input + "' is no number above 0 and up to " + text(most);
  };
  return CLI::Validator(check, "NUMBER");
}

/// CLI11 takes the nearest number for one that is too large.
static CLI::Validator integerFrom(int64_t least, int64_t most = int64_t(1) << 40) {
  auto check = [=](const std::string &input) -> std::string {
    int64_t value = 0;
    auto [end, error] = std::from_chars(input.data(), input.data() + input.size(), value);
    if (error == std::errc() && end == input.data() + input.size() && value >= least && value <= most)
      return "";
    return "'" + input + "' is no whole number from " + text(least) + " to " + text(most);
  };
  return CLI::Validator(check, "NUMBER");
}

/// A file or folder: an empty text is a shell variable that was not set.
static CLI::Validator isNamed() {
  return CLI::Validator([](const std::string &input) { return input.empty() ? "it is empty; name one" : ""; }, "");
}

ParsedOptions runtime::parseOptions(int argc, char **argv, const OptimizerSettings &defaults,
                                    const LearningRateSchedule &learningRate) {
  ParsedOptions parsed;
  RunOptions &options = parsed.options;
  CLI::App app("A training program compiled by braid.");
  app.set_version_flag("--version", "braid 0.1.0");
  app.get_formatter()->column_width(36);

  app.add_option("--data", options.data, "Batches: a safetensors file with step<i>/<input>")
      ->type_name("FILE")
      ->check(isNamed());
  app.add_option("--steps", options.steps, "Optimizer steps; by default each batch of the data once")
      ->check(integerFrom(1));
  app.add_option("--out", options.out, "Folder for metrics.jsonl and model.safetensors")
      ->type_name("DIR")
      ->check(isNamed());
  app.add_flag("--overwrite", options.overwrite, "Remove the earlier run that is in the folder of --out");
  app.add_flag("--dump-gradients", options.dumpGradients,
               "Also write gradients.safetensors: those of the first step, before clipping");
  app.add_option("--accumulate", options.accumulate, "Batches of each step, as one batch of their union (1)")
      ->check(integerFrom(1, 1 << 20));
  app.add_option("--seed", options.seed, "Of dropout and other random numbers (0)")
      ->check(integerFrom(0, std::numeric_limits<int64_t>::max()));
  const char *checkpoints = "Evaluation and checkpoints";
  app.add_option("--eval-data", options.evalData,
                 "Batches to take the loss of, like --data; nothing is learned from them")
      ->type_name("FILE")
      ->check(isNamed())
      ->group(checkpoints);
  app.add_option("--eval-every", options.evalEvery, "Steps between evaluations; by default one after the last step")
      ->check(integerFrom(1))
      ->group(checkpoints);
  app.add_option("--save-every", options.saveEvery,
                 "Steps between checkpoints in the folder of --out, and after the last")
      ->check(integerFrom(1))
      ->group(checkpoints);
  app.add_option("--keep", options.keep, "Keep this many of the newest checkpoints (all)")
      ->check(integerFrom(1))
      ->group(checkpoints);
  app.add_option("--resume", options.resume, "Go on from a checkpoint, or from the latest of a run")
      ->type_name("DIR")
      ->check(isNamed())
      ->group(checkpoints);
  app.add_option("--weights", options.weights, "The .pt file, if it is not where it was compiled")
      ->type_name("FILE")
      ->check(isNamed());

  std::string kind;
  double lr = 0, weightDecay = 0, eps = 0, momentum = 0;
  std::vector<double> betas;
  bool nesterov = false;
  const char *optimizer = "Optimizer";
  app.add_option("--optimizer", kind, "By default the plan's")
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->group(optimizer);
  auto *lrOption = app.add_option("--lr", lr, "Learning rate: 1e-3 for adamw, 0.1 for sgd")->group(optimizer);
  app.add_option("--betas", betas, "AdamW's: 0.9 0.999")->expected(2)->group(optimizer);
  auto *epsOption = app.add_option("--eps", eps, "AdamW's: 1e-8")->group(optimizer);
  auto *decayOption = app.add_option("--weight-decay", weightDecay, "0.01 for adamw, 0 for sgd")->group(optimizer);
  auto *momentumOption = app.add_option("--momentum", momentum, "SGD's: 0")->group(optimizer);
  std::vector<std::string> groups;
  app.add_option("--group", groups,
                 "Rates of some parameters: 'PATTERN: lr=1e-4, weight_decay=0'; the first match wins")
      ->allow_extra_args(false) // one with each --group
      ->type_name("GROUP")
      ->group(optimizer);
  options.learningRate = learningRate;
  app.add_option("--lr-schedule", options.learningRate.kind, "constant, linear or cosine (constant)")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}))
      ->group(optimizer);
  app.add_option("--warmup", options.learningRate.warmup, "Steps over which the learning rate rises from 0 (0)")
      ->check(integerFrom(0))
      ->group(optimizer);
  auto *lrSteps = app.add_option("--lr-steps", options.learningRate.steps,
                                 "Steps over which the learning rate falls (those of the run)")
                      ->check(integerFrom(1))
                      ->group(optimizer);
  auto *lrMinimum =
      app.add_option("--lr-minimum", options.learningRate.minimum, "What it falls to, as a share of it (0)")
          ->group(optimizer);
  app.add_flag("--nesterov", nesterov, "SGD with Nesterov's momentum")->group(optimizer);
  app.add_option("--clip-norm", options.clipNorm, "Largest norm of all gradients together (the plan's)")
      ->check(positiveFinite())
      ->group(optimizer);
  std::map<std::string, bool> continues = {{"stop", false}, {"continue", true}};
  app.add_option("--on-nonfinite", options.updateNonFinite,
                 "A loss or gradient that is no finite number ends training before the update (stop)")
      ->transform(CLI::CheckedTransformer(continues))
      ->type_name("stop|continue")
      ->group(optimizer);

  const char *ranks = "Ranks";
  app.add_option("--local", options.local, "Start this many ranks on this machine")
      ->check(integerFrom(1, 1 << 20))
      ->group(ranks);
  std::map<std::string, TransportKind> transports = {{"auto", TransportKind::Auto},
                                                     {"shm", TransportKind::Shm},
                                                     {"tcp", TransportKind::Tcp},
                                                     {"gloo", TransportKind::Gloo},
                                                     {"threads", TransportKind::Threads}};
  app.add_option("--transport", options.transport,
                 "Shared memory (shm), or connections between machines (tcp, by default where there are several, or "
                 "PyTorch's gloo); with --local also threads of one process")
      ->transform(CLI::CheckedTransformer(transports))
      ->type_name("auto|shm|tcp|gloo|threads")
      ->group(ranks);
  app.add_option("--threads", options.threads, "Threads of each rank (1)")
      ->check(integerFrom(1, 1 << 16))
      ->group(ranks);
  std::map<std::string, MatrixLibrary> libraries = {
      {"auto", MatrixLibrary::Auto}, {"blas", MatrixLibrary::Blas}, {"onednn", MatrixLibrary::OneDnn}};
  app.add_option("--matmul", options.matrixLibrary,
                 "The library of large float32 matrix products (auto: the faster one on this processor)")
      ->transform(CLI::CheckedTransformer(libraries))
      ->type_name("auto|blas|onednn")
      ->group(ranks);
  app.add_option("--deadline", options.deadline, "Seconds that a rank waits for another (300)")
      ->check(positiveFinite(1e9))
      ->group(ranks);
  app.add_option("--standstill", options.standstill, "Seconds that the process of a rank may stand still, stopped (10)")
      ->check(positiveFinite(1e9))
      ->group(ranks);

  std::map<std::string, ProgressMode> modes = {
      {"auto", ProgressMode::Auto}, {"on", ProgressMode::On}, {"off", ProgressMode::Off}};
  app.add_option("--progress", options.progress, "A bar that redraws itself (auto: on a terminal)")
      ->transform(CLI::CheckedTransformer(modes))
      ->type_name("auto|on|off");
  app.add_flag("--quiet", options.quiet, "Print errors only");
  app.add_flag("--show-plan", options.showPlan, "Print the compiled plan as JSON and end");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    parsed.exit = app.exit(error);
    return parsed;
  }
  if (options.showPlan)
    return parsed;

  auto refuse = [&](const std::string &message) {
    std::fprintf(stderr, "braid: %s\n", message.c_str());
    parsed.exit = 1;
  };
  for (const std::string &group : groups) {
    plan::Result<ParameterGroup> read = ParameterGroup::parse(group);
    if (!read) {
      refuse(read.error());
      return parsed;
    }
    options.groups.push_back(*read);
  }
  options.optimizer = defaults;
  bool isAdamW = defaults.kind == OptimizerSettings::Kind::AdamW;
  if (!kind.empty() && (kind == "adamw") != isAdamW)
    options.optimizer = *OptimizerSettings::named(kind);
  isAdamW = options.optimizer.kind == OptimizerSettings::Kind::AdamW;
  if (lrOption->count())
    options.optimizer.lr = lr;
  if (decayOption->count())
    options.optimizer.weightDecay = weightDecay;
  if (!betas.empty()) {
    options.optimizer.beta1 = betas[0];
    options.optimizer.beta2 = betas[1];
  }
  if (epsOption->count())
    options.optimizer.eps = eps;
  if (momentumOption->count())
    options.optimizer.momentum = momentum;
  options.optimizer.nesterov |= nesterov;
  if (isAdamW && (momentumOption->count() || nesterov))
    refuse(
        "--momentum and --nesterov belong to sgd and the optimizer is adamw; pass --optimizer sgd, or leave them out");
  else if (!isAdamW && (!betas.empty() || epsOption->count()))
    refuse("--betas and --eps belong to adamw and the optimizer is sgd; pass --optimizer adamw, or leave them out");
  else if (plan::Status status = options.optimizer.check(); !status)
    refuse(status.error());
  else if (!(options.clipNorm >= 0 && std::isfinite(options.clipNorm)))
    refuse(text("the norm of --clip-norm is ", options.clipNorm, "; give one above 0, and finite, or leave it out"));
  else if (plan::Status status = options.learningRate.check(); !status)
    refuse(status.error());
  else if (options.learningRate.kind == "constant" && (lrSteps->count() || lrMinimum->count()))
    refuse(
        "--lr-steps and --lr-minimum say how a learning rate falls, and it is constant; pass --lr-schedule linear or "
        "cosine, or leave them out");
  else if (options.data.empty())
    refuse("there is no data; pass --data FILE, a safetensors file with step0/<input>, step1/<input> and so on");
  else if (options.dumpGradients && options.out.empty())
    refuse("--dump-gradients needs a folder to write to; pass --out DIR too");
  else if (options.saveEvery && options.out.empty())
    refuse("--save-every needs a folder to write to; pass --out DIR too");
  else if (options.keep && !options.saveEvery)
    refuse("--keep is for checkpoints, and there are none; pass --save-every N too");
  else if (options.evalEvery && options.evalData.empty())
    refuse("--eval-every needs batches to evaluate on; pass --eval-data FILE too");
  else if (options.transport == TransportKind::Threads && !options.local)
    refuse("--transport threads starts its ranks itself; pass --local N too");
  else if (options.transport == TransportKind::Tcp && options.local)
    refuse("--transport tcp is for ranks that torchrun, Slurm or MPI started; leave --local or --transport out");
  else if (options.transport == TransportKind::Gloo && !hasGloo())
    refuse("this runtime was built without gloo, whose headers the Debian package libgloo-dev brings; install it and "
           "build braid again, or leave --transport gloo out");
  return parsed;
}

std::map<std::string, std::string> runtime::trainingSettings(const RunOptions &options) {
  const OptimizerSettings &optimizer = options.optimizer;
  const LearningRateSchedule &rate = options.learningRate;
  std::map<std::string, std::string> settings = {{"lr", text(optimizer.lr)},
                                                 {"weight decay", text(optimizer.weightDecay)},
                                                 {"clip norm", text(options.clipNorm)},
                                                 {"accumulate", text(options.accumulate)},
                                                 {"seed", text(options.seed.value_or(0))},
                                                 {"schedule", rate.kind},
                                                 {"warm-up", text(rate.warmup)}};
  if (optimizer.kind == OptimizerSettings::Kind::AdamW) {
    settings["betas"] = text(optimizer.beta1, " ", optimizer.beta2);
    settings["eps"] = text(optimizer.eps);
  } else {
    settings["momentum"] = text(optimizer.momentum, optimizer.nesterov ? " (Nesterov)" : "");
  }
  if (rate.kind != "constant") {
    settings["schedule's steps"] = text(rate.steps ? rate.steps : options.steps);
    settings["schedule's minimum"] = text(rate.minimum);
  }
  for (size_t i = 0; i < options.groups.size(); ++i)
    settings[text("group ", i + 1)] = options.groups[i].str();
  return settings;
}
