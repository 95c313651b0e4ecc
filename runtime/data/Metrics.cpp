//===- Metrics.cpp - One line of JSON a step ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Metrics.h"
#include "runtime/aten/Allocator.h"
#include "runtime/core/Text.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

plan::Result<MetricsFile> MetricsFile::create(const std::string &path) { return open(path); }

plan::Result<MetricsFile> MetricsFile::resume(const std::string &path, int64_t step) {
  std::string kept, temporary = path + ".tmp";
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    // A run that was killed may have left half a line.
    nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.value("step", step) < step)
      kept += line + "\n";
  }
  old.close();
  plan::Result<MetricsFile> result = open(temporary);
  if (!result)
    return result;
  if (plan::Status status = result->writeLine(kept); !status)
    return plan::Error{status.error()};
  if (fsync(fileno(result->file.get())) != 0 || std::rename(temporary.c_str(), path.c_str()) != 0)
    return plan::Error{text("cannot write ", path, ": ", std::strerror(errno))};
  result->path = path;
  return result;
}

plan::Result<MetricsFile> MetricsFile::open(const std::string &path) {
  MetricsFile result;
  result.path = path;
  result.file.reset(std::fopen(path.c_str(), "we"));
  if (!result.file)
    return plan::Error{text("cannot create ", path, ": ", std::strerror(errno))};
  return result;
}

/// getrusage would tell the larger one of this program and of the one that started it.
static std::optional<int64_t> peakResidentMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (std::string_view(line).starts_with("VmHWM:"))
      return std::strtoll(line.c_str() + 6, nullptr, 10) / 1024; // kB
  return std::nullopt;
}

plan::Status MetricsFile::write(const StepMetrics &metrics) {
  nlohmann::ordered_json line;
  line["step"] = metrics.step;
  line["loss"] = metrics.loss;
  line["grad_norm"] = metrics.gradientNorm;
  line["seconds"] = metrics.seconds;
  if (metrics.samples) {
    line["samples"] = metrics.samples;
    line["samples_per_second"] = metrics.seconds > 0 ? metrics.samples / metrics.seconds : 0.0;
  }
  line["lr"] = metrics.lr;
  auto now = std::chrono::steady_clock::now();
  if (!peakMib || now - peakRead > std::chrono::milliseconds(50)) {
    peakMib = peakResidentMib();
    peakRead = now;
  }
  if (peakMib)
    line["peak_mib"] = *peakMib; // of rank 0's process
  if (size_t peak = allocatorStatistics().peak)
    line["tensor_mib"] = std::round(peak * 10 / 1048576.0) / 10;
  return writeLine(line.dump() + "\n");
}

plan::Status MetricsFile::writeEvaluation(int64_t step, double loss, double seconds) {
  nlohmann::ordered_json line;
  line["step"] = step;
  line["eval_loss"] = loss;
  line["seconds"] = seconds;
  return writeLine(line.dump() + "\n");
}

plan::Status MetricsFile::writeLine(const std::string &bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() || std::fflush(file.get()) != 0)
    return plan::Error{text("cannot write ", path, ": ", std::strerror(errno))};
  return {};
}
