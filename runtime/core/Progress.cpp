//===- Progress.cpp - What a person sees while training -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Progress.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <unistd.h>

using namespace braid::runtime;

static constexpr int barWidth = 24;
static constexpr int mostLines = 20;

Progress::Progress(ProgressMode mode, bool quiet, int64_t steps, int64_t done)
    : bar(mode == ProgressMode::On || (mode == ProgressMode::Auto && isatty(STDERR_FILENO))), quiet(quiet),
      steps(steps), first(done), start(std::chrono::steady_clock::now()) {
  if (mode == ProgressMode::Off)
    bar = false;
}

Progress::~Progress() {
  if (drawn)
    std::fputc('\n', stderr);
}

void Progress::evaluated(int64_t step, double loss) {
  if (quiet)
    return;
  if (bar)
    std::fputs("\r\033[K", stderr);
  std::printf("step %lld/%lld  eval loss %.6f\n", static_cast<long long>(step + 1), static_cast<long long>(steps),
              loss);
  std::fflush(stdout);
}

static std::string clockText(double seconds) {
  char buffer[32];
  long total = static_cast<long>(seconds + 0.5);
  if (total >= 3600)
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  else
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld", total / 60, total % 60);
  return buffer;
}

void Progress::update(const StepMetrics &metrics) {
  if (quiet)
    return;
  int64_t done = metrics.step + 1;
  double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string rate;
  if (metrics.samples && metrics.seconds > 0) {
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, "  %.4g samples/s", metrics.samples / metrics.seconds);
    rate = buffer;
  }
  if (!bar) {
    int64_t every = std::max<int64_t>(1, steps / mostLines);
    if (done % every == 0 || done == first + 1 || done == steps) {
      std::printf("step %lld/%lld  loss %.6f  grad norm %.4g  %.3f s%s\n", static_cast<long long>(done),
                  static_cast<long long>(steps), metrics.loss, metrics.gradientNorm, metrics.seconds, rate.c_str());
      std::fflush(stdout);
    }
    return;
  }
  int filled = static_cast<int>(barWidth * done / std::max<int64_t>(steps, 1));
  std::string drawing(filled, '#');
  drawing.resize(barWidth, '-');
  double left = elapsed / (done - first) * (steps - done);
  // ESC [K clears what a longer line left.
  std::fprintf(stderr, "\r[%s] %lld/%lld  loss %.5f  grad norm %.4g%s  ETA %s\033[K", drawing.c_str(),
               static_cast<long long>(done), static_cast<long long>(steps), metrics.loss, metrics.gradientNorm,
               rate.c_str(), clockText(left).c_str());
  std::fflush(stderr);
  drawn = true;
}
