//===- Metrics.cpp - One line of JSON a step ------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Metrics.h"
#include "runtime/core/Text.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <sys/resource.h>

using namespace braid;
using namespace braid::runtime;

plan::Result<MetricsFile> MetricsFile::create(const std::string &path) {
  MetricsFile result;
  result.path = path;
  result.file.reset(std::fopen(path.c_str(), "we"));
  if (!result.file)
    return plan::Error{text("cannot create ", path, ": ", std::strerror(errno))};
  return result;
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
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    line["peak_mib"] = usage.ru_maxrss / 1024; // resident, of rank 0's process
  std::string bytes = line.dump() + "\n";
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() || std::fflush(file.get()) != 0)
    return plan::Error{text("cannot write ", path, ": ", std::strerror(errno))};
  return {};
}
