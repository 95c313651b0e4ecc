//===- Samples.h - What each sample of a data set costs -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The balancer knows of a sample its rows (tokens) and its load in every component: the encoders in order, then the
// language model. A load is the time of the component's whole forward for this sample, in any unit. Loads of samples
// add up to that of a micro-batch: samples are packed, and attention does not look across them.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_BALANCE_SAMPLES_H
#define BRAID_PLAN_BALANCE_SAMPLES_H

#include "braid/Plan/Support/Result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

/// Numbers by named column. Rows are samples, in the order of the file.
struct SampleTable {
  std::vector<std::string> columns;
  std::vector<std::vector<double>> values; // [column][row]; an empty cell is NaN

  size_t rows() const { return values.empty() ? 0 : values[0].size(); }
  /// An error lists the columns there are. A cell that is empty, negative or infinite is an error that names its line.
  Result<std::vector<double>> column(std::string_view name) const;

  /// Reads comma-separated text whose first line names the columns. `name` is the file's, for errors.
  static Result<SampleTable> parse(std::string_view text, const std::string &name);
};

/// Time of a forward over a sample of x rows in s equal segments (images, frames) that attend to themselves only:
/// quadratic x^2 / s + linear x; and `constant` for each micro-batch, however small. (Entrain, section on the cost
/// model: T(x) = a x^2 + b x + c)
struct LoadModel {
  double quadratic = 0, linear = 1, constant = 0;

  double of(double rows, double segments = 1) const {
    return quadratic * rows * rows / (segments < 1 ? 1 : segments) + linear * rows;
  }
};

struct SampleLoads {
  std::vector<std::vector<double>> loads; // [component][sample]; the language model is the last component
  std::vector<std::vector<double>> rows;  // likewise

  int components() const { return static_cast<int>(loads.size()); }
  int size() const { return loads.empty() ? 0 : static_cast<int>(loads[0].size()); }
  /// These samples alone, renumbered from 0 in this order.
  SampleLoads select(const std::vector<int> &samples) const;
  /// Same sizes everywhere, no NaN, nothing negative or infinite.
  Status check() const;
};

/// Samples of step `step`: batch `step` of an endless sequence of random permutations of the data set, each seeded by
/// its number. Any step is found without those before it; 0 < size.
std::vector<int> drawBatch(int size, int count, uint64_t seed, uint64_t step);

} // namespace braid::plan

#endif // BRAID_PLAN_BALANCE_SAMPLES_H
