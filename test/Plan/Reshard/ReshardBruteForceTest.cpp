//===- ReshardBruteForceTest.cpp - Every small mesh and layout ------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All pairs of shardings of small values over small meshes, and a sample of those with more dimensions, executed
// forwards and backwards and compared with the definitions.
//
//===----------------------------------------------------------------------===//

#include "ReshardOracle.h"

#include <numeric>

using namespace braid::plan;

namespace {
enum class Place { Same, Permuted, Disjoint, Overlapping };

/// A mesh's axis sizes and a layout over them, without ranks and rows.
struct Form {
  std::vector<std::pair<std::string, int>> axes;
  Layout layout;
};

/// All ways to write n as an ordered product of at most `most` factors of at least 2.
std::vector<std::vector<int>> factorizations(int n, int most) {
  if (n == 1)
    return {{}};
  std::vector<std::vector<int>> result;
  for (int first = 2; first <= n && most > 0; ++first)
    if (n % first == 0)
      for (std::vector<int> rest : factorizations(n / first, most - 1)) {
        rest.insert(rest.begin(), first);
        result.push_back(rest);
      }
  return result;
}

/// All layouts of a value with `dims` dims over a mesh of these axes: each axis goes into a dim, at any place among the
/// axes there, or is partial, or comes nowhere.
void layouts(const std::vector<std::pair<std::string, int>> &axes, size_t next, Layout layout,
             std::vector<Layout> &result) {
  if (next == axes.size()) {
    result.push_back(layout);
    return;
  }
  const std::string &axis = axes[next].first;
  layouts(axes, next + 1, layout, result);
  Layout partial = layout;
  partial.partial.push_back(axis);
  layouts(axes, next + 1, partial, result);
  for (auto &dim : layout.dims)
    for (size_t at = 0; at <= dim.size(); ++at) {
      dim.insert(dim.begin() + static_cast<long>(at), axis);
      layouts(axes, next + 1, layout, result);
      dim.erase(dim.begin() + static_cast<long>(at));
    }
}

std::vector<Form> allForms(int mostLanes, int mostAxes, int dims) {
  std::vector<Form> forms;
  for (int lanes = 1; lanes <= mostLanes; ++lanes)
    for (const std::vector<int> &sizes : factorizations(lanes, mostAxes)) {
      static const char *const names[] = {"dp", "cp", "tp"};
      std::vector<std::pair<std::string, int>> axes;
      for (int size : sizes)
        axes.emplace_back(names[axes.size()], size);
      std::vector<Layout> all;
      layouts(axes, 0, {std::vector<std::vector<std::string>>(dims), {}}, all);
      for (const Layout &layout : all)
        forms.push_back({axes, layout});
    }
  return forms;
}

int64_t partsOf(const Form &form, int dim) {
  int64_t parts = 1;
  for (const std::string &axis : form.layout.dims[dim])
    for (const auto &[name, size] : form.axes)
      parts *= name == axis ? size : 1;
  return parts;
}

/// Gives the samples of `order` to the lanes of some leading axes of the row dimension.
Rows drawRows(const Form &form, int rowDim, const std::vector<int> &order, const std::vector<int64_t> &rowsPerSample,
              std::mt19937 &random) {
  const std::vector<std::string> &dim = form.layout.dims[rowDim];
  std::vector<std::string> axes(dim.begin(), dim.begin() + static_cast<long>(random() % (dim.size() + 1)));
  size_t lanes = 1;
  for (const std::string &axis : axes)
    for (const auto &[name, size] : form.axes)
      lanes *= name == axis ? size : 1;
  std::vector<std::vector<int>> samples(lanes);
  for (int sample : order)
    samples[random() % lanes].push_back(sample);
  return *Rows::ofSamples(axes, samples, rowsPerSample);
}

struct Totals {
  int64_t cases = 0, local = 0, exchanges = 0, collectives = 0, gathered = 0, above = 0;
};

/// Draws ranks, rows and sizes for two forms, plans, and checks everything.
void check(const Form &from, const Form &to, Place place, bool rows, std::mt19937 &random, Totals &totals) {
  int dims = static_cast<int>(from.layout.dims.size());
  ValueShape shape{{}, rows ? static_cast<int>(random() % dims) : -1, random() % 2 ? 1 : int64_t(1) << 22};
  ReshardOptions options;
  Sharding source{{{}, from.axes}, from.layout, {}}, destination{{{}, to.axes}, to.layout, {}};
  for (int dim = 0; dim < dims; ++dim)
    shape.sizes.push_back(std::lcm(partsOf(from, dim), partsOf(to, dim)) * (dims < 3 ? 1 + random() % 2 : 1));
  if (rows) {
    std::vector<int64_t> rowsPerSample(random() % 6);
    for (int64_t &count : rowsPerSample)
      count = random() % 4;
    shape.sizes[shape.rowDim] = std::accumulate(rowsPerSample.begin(), rowsPerSample.end(), int64_t(0));
    std::vector<int> order(rowsPerSample.size());
    std::iota(order.begin(), order.end(), 0);
    bool keepsOrder = random() % 3 == 0;
    if (!keepsOrder)
      std::shuffle(order.begin(), order.end(), random);
    source.rows = drawRows(from, shape.rowDim, order, rowsPerSample, random);
    if (!keepsOrder)
      std::shuffle(order.begin(), order.end(), random);
    if (random() % 3 == 0) // some samples are deferred
      order.resize(order.size() - order.size() / 3);
    destination.rows = drawRows(to, shape.rowDim, order, rowsPerSample, random);
    if (random() % 6 == 0) { // the gradient's way back: rows that nobody sends
      std::swap(source.rows, destination.rows);
      std::swap(source.mesh.axes, destination.mesh.axes);
      std::swap(source.layout, destination.layout);
      options.missingRows = true;
    }
  }
  auto lanesOf = [](const Mesh &mesh) {
    int lanes = 1;
    for (const auto &axis : mesh.axes)
      lanes *= axis.second;
    return lanes;
  };
  source.mesh.ranks.resize(lanesOf(source.mesh));
  destination.mesh.ranks.resize(lanesOf(destination.mesh));
  std::iota(source.mesh.ranks.begin(), source.mesh.ranks.end(), 0);
  int first = place == Place::Disjoint      ? lanesOf(source.mesh)
              : place == Place::Overlapping ? static_cast<int>(random() % lanesOf(source.mesh))
                                            : 0;
  std::iota(destination.mesh.ranks.begin(), destination.mesh.ranks.end(), first);
  if (place == Place::Permuted || (place == Place::Overlapping && random() % 2)) {
    std::shuffle(source.mesh.ranks.begin(), source.mesh.ranks.end(), random);
    std::shuffle(destination.mesh.ranks.begin(), destination.mesh.ranks.end(), random);
  }
  Network links = oracle::h100();
  links.ranksPerNode = 1 + static_cast<int>(random() % 8);

  Result<ReshardPlan> plan = planReshard(shape, source, destination, links, options);
  ASSERT_TRUE(plan) << plan.error();
  SCOPED_TRACE(oracle::describe(*plan));
  oracle::expectRight(*plan, random);
  oracle::expectAdjoint(*plan, random);

  // Inside one mesh collectives are taken by time: no longer than gathering all of it. Between meshes the bytes are the
  // fewest possible, unless summands are reduced: then the reduction may end on another of the ranks that want the sum,
  // and even axes behind the manifest may keep rows in it that nobody wants. Which lane of a partial destination gets
  // an element is not chosen by rank.
  oracle::Transfers transfers = oracle::fewestTransfers(shape, source, destination);
  int64_t bytes = plan->bytes(), fewest = transfers.fewest * shape.elementBytes;
  ASSERT_GE(bytes, fewest);
  bool summed = !source.layout.partial.empty(), summedAgain = summed && !destination.layout.partial.empty();
  if (place == Place::Disjoint && !summedAgain) {
    bool cut = rows && source.layout.dims[shape.rowDim].size() != source.rows.axes.size();
    ASSERT_LE(bytes, fewest + (cut ? transfers.summing * shape.elementBytes : 0));
  } else if (source.mesh.ranks != destination.mesh.ranks && !summed && destination.layout.partial.empty()) {
    ASSERT_EQ(bytes, fewest);
  }
  if (source.mesh == destination.mesh && !options.missingRows) {
    ASSERT_LE(plan->time(), oracle::wholeTime(shape, source, links) * (1 + 1e-9));
  }
  ++totals.cases;
  totals.local += bytes == 0;
  totals.exchanges += plan->exchange() != nullptr;
  totals.collectives += std::any_of(plan->steps.begin(), plan->steps.end(), [](const ReshardStep &step) {
    return step.kind != StepKind::Exchange && step.bytes > 0;
  });
  totals.gathered += plan->exchange() && plan->steps.back().kind == StepKind::AllGather;
  totals.above += bytes > fewest && !summedAgain;
}

void report(const char *what, const Totals &totals) {
  std::printf("%s: %lld cases, %lld without messages, %lld with an exchange (%lld gather behind it), %lld with "
              "collectives, %lld above the fewest bytes\n",
              what, static_cast<long long>(totals.cases), static_cast<long long>(totals.local),
              static_cast<long long>(totals.exchanges), static_cast<long long>(totals.gathered),
              static_cast<long long>(totals.collectives), static_cast<long long>(totals.above));
}
} // namespace

// All pairs of shardings of one- and two-dimensional values on up to four lanes, in all placements, with rows and
// without.
TEST(ReshardBruteForce, AllOfFourLanes) {
  std::mt19937 random(1);
  Totals totals;
  for (int dims = 1; dims <= 2; ++dims) {
    std::vector<Form> forms = allForms(4, 2, dims);
    for (const Form &from : forms)
      for (const Form &to : forms)
        for (Place place : {Place::Same, Place::Permuted, Place::Disjoint, Place::Overlapping})
          for (bool rows : {false, true}) {
            check(from, to, place, rows, random, totals);
            if (HasFatalFailure())
              return;
          }
  }
  report("up to 4 lanes", totals);
  EXPECT_GT(totals.cases, 10000);
}

// All pairs of shardings of one-dimensional values on up to eight lanes, with three axes.
TEST(ReshardBruteForce, AllOfEightLanes) {
  std::mt19937 random(2);
  Totals totals;
  std::vector<Form> forms = allForms(8, 3, 1);
  for (const Form &from : forms)
    for (const Form &to : forms) {
      Place place = static_cast<Place>(totals.cases % 4);
      check(from, to, place, random() % 2, random, totals);
      if (HasFatalFailure())
        return;
    }
  report("up to 8 lanes, one dimension", totals);
  EXPECT_GT(totals.cases, 10000);
}

// A sample of pairs of shardings of values with two and three dimensions on up to eight lanes with three axes.
TEST(ReshardBruteForce, SampleOfEightLanes) {
  std::mt19937 random(3);
  Totals totals;
  std::vector<Form> forms[2] = {allForms(8, 3, 2), allForms(8, 3, 3)};
  for (int i = 0; i < 4000; ++i) {
    const std::vector<Form> &list = forms[i % 2];
    const Form &from = list[random() % list.size()], &to = list[random() % list.size()];
    check(from, to, static_cast<Place>(random() % 4), random() % 2, random, totals);
    if (HasFatalFailure())
      return;
  }
  report("up to 8 lanes, sample", totals);
}
