//===- LeastSquares.cpp - Fitting constants to measurements ---------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/LeastSquares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace braid::plan {

Status Observations::check() const {
  if (measured.empty() || amounts.size() != measured.size())
    return Error{"there are " + std::to_string(amounts.size()) + " rows of amounts and " +
                 std::to_string(measured.size()) + " measurements; give one of each per row, at least one row"};
  if (!weights.empty() && weights.size() != measured.size())
    return Error{"there are " + std::to_string(weights.size()) + " weights for " + std::to_string(measured.size()) +
                 " measurements; give one each"};
  for (size_t row = 0; row < measured.size(); ++row) {
    if (!(measured[row] > 0) || !std::isfinite(measured[row]))
      return Error{"measurement " + std::to_string(row) + " is " + std::to_string(measured[row]) +
                   " and must be positive"};
    if (amounts[row].size() != amounts[0].size() || amounts[row].empty())
      return Error{"measurement " + std::to_string(row) + " has " + std::to_string(amounts[row].size()) +
                   " amounts and the first has " + std::to_string(amounts[0].size()) + "; give as many"};
    for (double amount : amounts[row])
      if (!std::isfinite(amount))
        return Error{"measurement " + std::to_string(row) + " has an amount that is no number"};
  }
  return {};
}

namespace {
/// Rows divided by their measurement and weighted, columns brought to length 1: well conditioned.
struct Scaled {
  std::vector<std::vector<double>> columns;
  std::vector<double> right;
  std::vector<double> lengths; // what the columns were divided by; 0: a column of zeros

  explicit Scaled(const Observations &observations) {
    size_t rows = observations.rows(), count = observations.amounts[0].size();
    columns.assign(count, std::vector<double>(rows));
    right.resize(rows);
    lengths.resize(count);
    for (size_t row = 0; row < rows; ++row) {
      double weight = observations.weights.empty() ? 1 : std::sqrt(std::max(0.0, observations.weights[row]));
      right[row] = weight;
      for (size_t column = 0; column < count; ++column)
        columns[column][row] = observations.amounts[row][column] * weight / observations.measured[row];
    }
    for (size_t column = 0; column < count; ++column) {
      double sum = 0;
      for (double value : columns[column])
        sum += value * value;
      lengths[column] = std::sqrt(sum);
      for (double &value : columns[column])
        value = lengths[column] > 0 ? value / lengths[column] : 0;
    }
  }
};
} // namespace

static double dot(const std::vector<double> &a, const std::vector<double> &b, size_t from = 0) {
  double sum = 0;
  for (size_t i = from; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Solves for the chosen columns by Householder reflections; nothing if they depend on each other.
static std::optional<std::vector<double>> solve(const Scaled &problem, const std::vector<size_t> &chosen) {
  std::vector<std::vector<double>> columns;
  for (size_t column : chosen)
    columns.push_back(problem.columns[column]);
  std::vector<double> right = problem.right;
  size_t rows = right.size(), count = columns.size();
  if (rows < count)
    return std::nullopt;
  std::vector<double> diagonal(count);
  for (size_t k = 0; k < count; ++k) {
    double length = std::sqrt(dot(columns[k], columns[k], k));
    if (length < 1e-12)
      return std::nullopt;
    // The reflection that turns this column into -sign(first) * length at row k.
    double first = columns[k][k];
    diagonal[k] = first > 0 ? -length : length;
    std::vector<double> reflector(rows, 0.0);
    std::copy(columns[k].begin() + k, columns[k].end(), reflector.begin() + k);
    reflector[k] -= diagonal[k];
    double square = dot(reflector, reflector, k);
    auto reflect = [&](std::vector<double> &vector) {
      double factor = 2 * dot(reflector, vector, k) / square;
      for (size_t row = k; row < rows; ++row)
        vector[row] -= factor * reflector[row];
    };
    for (size_t later = k + 1; later < count; ++later)
      reflect(columns[later]);
    reflect(right);
  }
  std::vector<double> result(count);
  for (size_t k = count; k-- > 0;) {
    double value = right[k];
    for (size_t later = k + 1; later < count; ++later)
      value -= columns[later][k] * result[later];
    result[k] = value / diagonal[k];
  }
  return result;
}

Result<std::vector<double>> nonNegativeLeastSquares(const Observations &observations) {
  if (Status status = observations.check(); !status)
    return Error{status.error()};
  Scaled problem(observations);
  size_t count = problem.columns.size();
  std::vector<double> solution(count, 0);
  std::vector<char> positive(count, false), refused(count, false);
  while (true) {
    std::vector<double> residual = problem.right;
    for (size_t column = 0; column < count; ++column)
      for (size_t row = 0; row < residual.size(); ++row)
        residual[row] -= problem.columns[column][row] * solution[column];
    // The constant at 0 whose growth helps most.
    size_t best = count;
    double most = 1e-12;
    for (size_t column = 0; column < count; ++column) {
      double gain = dot(problem.columns[column], residual);
      if (!positive[column] && !refused[column] && problem.lengths[column] > 0 && gain > most) {
        most = gain;
        best = column;
      }
    }
    if (best == count)
      break;
    positive[best] = true;
    while (true) {
      std::vector<size_t> chosen;
      for (size_t column = 0; column < count; ++column)
        if (positive[column])
          chosen.push_back(column);
      std::optional<std::vector<double>> next = solve(problem, chosen);
      if (!next) { // says nothing that the others do not
        positive[best] = false;
        refused[best] = true;
        break;
      }
      double step = 1;
      for (size_t i = 0; i < chosen.size(); ++i)
        if ((*next)[i] <= 0)
          step = std::min(step, solution[chosen[i]] / (solution[chosen[i]] - (*next)[i]));
      for (size_t i = 0; i < chosen.size(); ++i)
        solution[chosen[i]] += step * ((*next)[i] - solution[chosen[i]]);
      if (step == 1)
        break;
      bool dropped = false;
      for (size_t i = 0; i < chosen.size(); ++i)
        if ((*next)[i] <= 0 && solution[chosen[i]] <= 1e-14) {
          solution[chosen[i]] = 0;
          positive[chosen[i]] = false;
          dropped = true;
          refused[chosen[i]] |= chosen[i] == best; // or it would come back for ever
        }
      if (!dropped)
        break;
    }
  }
  for (size_t column = 0; column < count; ++column)
    solution[column] = problem.lengths[column] > 0 ? solution[column] / problem.lengths[column] : 0;
  return solution;
}

Result<std::vector<double>> nonNegativeLeastDeviations(const Observations &observations, double floor) {
  Observations weighted = observations;
  if (weighted.weights.empty())
    weighted.weights.assign(observations.rows(), 1);
  Result<std::vector<double>> result = nonNegativeLeastSquares(weighted);
  for (int round = 0; result && round < 40; ++round) {
    std::vector<double> errors = relativeErrors(observations, *result);
    for (size_t row = 0; row < errors.size(); ++row)
      weighted.weights[row] =
          (observations.weights.empty() ? 1 : observations.weights[row]) / std::max(std::abs(errors[row]), floor);
    result = nonNegativeLeastSquares(weighted);
  }
  return result;
}

std::vector<double> relativeErrors(const Observations &observations, const std::vector<double> &constants) {
  std::vector<double> errors;
  for (size_t row = 0; row < observations.rows(); ++row)
    errors.push_back(dot(observations.amounts[row], constants) / observations.measured[row] - 1);
  return errors;
}

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

static std::vector<double> ranksOf(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]])
      ++last;
    for (size_t i = first; i < last; ++i)
      ranks[order[i]] = (first + last - 1) / 2.0;
    first = last;
  }
  return ranks;
}

double rankCorrelation(const std::vector<double> &first, const std::vector<double> &second) {
  std::vector<double> a = ranksOf(first), b = ranksOf(second);
  double mean = (a.size() - 1) / 2.0, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

} // namespace braid::plan
