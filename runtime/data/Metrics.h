//===- Metrics.h - One line of JSON a step -----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_DATA_METRICS_H
#define BRAID_RUNTIME_DATA_METRICS_H

#include "braid/Plan/Support/Result.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace braid::runtime {

struct StepMetrics {
  int64_t step = 0; // from 0
  double loss = 0, gradientNorm = 0;
  double seconds = 0;  // of this step
  int64_t samples = 0; // in this step's batch; 0 where the inputs have no sample dim
  double lr = 0;
};

/// metrics.jsonl, flushed after each line. A loss or norm that is no finite number is null.
class MetricsFile {
public:
  static plan::Result<MetricsFile> create(const std::string &path);
  /// Goes on with the file of a run that is taken up at step `step`: what the run logged from there on is dropped.
  static plan::Result<MetricsFile> resume(const std::string &path, int64_t step);
  plan::Status write(const StepMetrics &metrics);
  /// The loss of the evaluation after `step`.
  plan::Status writeEvaluation(int64_t step, double loss, double seconds);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  static plan::Result<MetricsFile> open(const std::string &path);
  plan::Status writeLine(const std::string &line);

  std::string path;
  std::unique_ptr<std::FILE, Close> file;
  std::optional<int64_t> peakMib; // most memory that was resident, as it was at `peakRead`
  std::chrono::steady_clock::time_point peakRead;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_DATA_METRICS_H
