//===- ReshardInterpreter.h - A reshard on plain arrays ---------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The meaning of a reshard's steps, executed on one machine.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_PLAN_RESHARDINTERPRETER_H
#define BRAID_TEST_PLAN_RESHARDINTERPRETER_H

#include "braid/Plan/Reshard/Reshard.h"

#include <algorithm>

namespace braid::plan::oracle {

/// What the lanes of a sharding hold, each with the last dimension fastest.
using LocalBuffers = std::vector<std::vector<int64_t>>;

namespace interpreter {
/// A dense array with its sizes.
struct Array {
  std::vector<int64_t> sizes, values;

  static Array zeros(std::vector<int64_t> sizes) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return {std::move(sizes), std::vector<int64_t>(static_cast<size_t>(count))};
  }
};

/// Adds a box of one array to a box of another.
inline void addBox(const Array &from, Array &to, const Slice &box, size_t dim = 0, int64_t fromAt = 0,
                   int64_t toAt = 0) {
  if (dim == box.size()) {
    to.values[toAt] += from.values[fromAt];
    return;
  }
  for (int64_t i = 0; i < box[dim].size; ++i)
    addBox(from, to, box, dim + 1, fromAt * from.sizes[dim] + box[dim].from + i,
           toAt * to.sizes[dim] + box[dim].to + i);
}

inline Slice wholeOf(const Array &array) {
  Slice box;
  for (int64_t size : array.sizes)
    box.push_back({0, 0, size});
  return box;
}

class Interpreter {
public:
  Interpreter(const ReshardStep &step, const ValueShape &shape)
      : step(step), before(divide(shape, step.before)), after(divide(shape, step.after)) {}

  Result<LocalBuffers> run(LocalBuffers buffers) {
    if (buffers.size() != static_cast<size_t>(before.mesh->lanes()))
      return Error{step.str() + ": there are buffers for " + std::to_string(buffers.size()) + " lanes"};
    for (int lane = 0; lane < before.mesh->lanes(); ++lane) {
      if (buffers[lane].size() != static_cast<size_t>(before.elementsOf(lane)))
        return Error{step.str() + ": lane " + std::to_string(lane) + " holds " + std::to_string(buffers[lane].size()) +
                     " elements instead of " + std::to_string(before.elementsOf(lane))};
      in.push_back({before.sizesOf(lane), std::move(buffers[lane])});
    }
    for (int lane = 0; lane < after.mesh->lanes(); ++lane)
      out.push_back(Array::zeros(after.sizesOf(lane)));
    if (step.kind == StepKind::Exchange) {
      for (const auto *list : {&step.exchange.copies, &step.exchange.messages})
        for (const Message &message : *list)
          for (const Slice &slice : message.slices)
            addBox(in[message.fromLane], out[message.toLane], slice);
    } else if (step.kind == StepKind::Slice || step.kind == StepKind::Pad) {
      for (int lane = 0; lane < before.mesh->lanes(); ++lane)
        copyCommon(lane);
    } else {
      for (const std::vector<int> &group : groupsOf(*before.mesh, step.axes))
        if (Status status = collective(group); !status)
          return Error{step.str() + ": " + status.error()};
    }
    LocalBuffers result;
    for (Array &array : out)
      result.push_back(std::move(array.values));
    return result;
  }

private:
  const ReshardStep &step;
  Division before, after;
  std::vector<Array> in, out;

  /// What a lane holds both before and after stays.
  void copyCommon(int lane) {
    std::vector<std::vector<SliceDim>> common(before.dims.size());
    for (int dim = 0; dim < static_cast<int>(common.size()); ++dim) {
      int64_t from = 0;
      for (const Interval &old : before.dims[dim].parts[before.partOf(lane, dim)]) {
        int64_t to = 0;
        for (const Interval &fresh : after.dims[dim].parts[after.partOf(lane, dim)]) {
          int64_t begin = std::max(old.begin, fresh.begin), end = std::min(old.end, fresh.end);
          if (begin < end)
            common[dim].push_back({from + begin - old.begin, to + begin - fresh.begin, end - begin});
          to += fresh.size();
        }
        from += old.size();
      }
    }
    Slice box(common.size());
    copyBoxes(lane, common, box, 0);
  }
  void copyBoxes(int lane, const std::vector<std::vector<SliceDim>> &common, Slice &box, size_t dim) {
    if (dim == common.size()) {
      addBox(in[lane], out[lane], box);
      return;
    }
    for (const SliceDim &segment : common[dim]) {
      box[dim] = segment;
      copyBoxes(lane, common, box, dim + 1);
    }
  }

  /// The group's buffers, joined along `dim` or added, are cut along `cut` or given to all.
  Status collective(const std::vector<int> &group) {
    bool adds = step.kind == StepKind::ReduceScatter || step.kind == StepKind::AllReduce;
    int cut = step.kind == StepKind::AllToAll ? step.toDim : step.kind == StepKind::ReduceScatter ? step.dim : -1;
    std::vector<int64_t> sizes = in[group[0]].sizes;
    if (!adds) {
      sizes[step.dim] = 0;
      for (int lane : group)
        sizes[step.dim] += in[lane].sizes[step.dim];
    }
    Array joined = Array::zeros(sizes);
    int64_t offset = 0;
    for (int lane : group) {
      Slice box = wholeOf(in[lane]);
      for (size_t dim = 0; dim < box.size(); ++dim)
        if ((adds || static_cast<int>(dim) != step.dim) && box[dim].size != sizes[dim])
          return Error{"the lanes of a group hold different sizes of dim " + std::to_string(dim)};
      if (!adds) {
        box[step.dim].to = offset;
        offset += box[step.dim].size;
      }
      addBox(in[lane], joined, box);
    }
    offset = 0;
    for (int lane : group) {
      Slice box = wholeOf(out[lane]);
      if (cut >= 0) {
        box[cut].from = offset;
        offset += box[cut].size;
      }
      for (size_t dim = 0; dim < box.size(); ++dim)
        if (box[dim].from + box[dim].size > sizes[dim] || (static_cast<int>(dim) != cut && box[dim].size != sizes[dim]))
          return Error{"lane " + std::to_string(lane) + " should hold " + std::to_string(box[dim].size) +
                       " indices of dim " + std::to_string(dim) + ", and the group has " + std::to_string(sizes[dim])};
      addBox(joined, out[lane], box);
    }
    if (cut >= 0 && offset != sizes[cut])
      return Error{"the lanes of a group do not share all of dim " + std::to_string(cut)};
    return {};
  }
};
} // namespace interpreter

/// Fails if a step's buffers do not have the sizes that its layouts say.
inline Result<LocalBuffers> interpret(const ReshardPlan &plan, LocalBuffers buffers) {
  for (const ReshardStep &step : plan.steps) {
    Result<LocalBuffers> next = interpreter::Interpreter(step, plan.shape).run(std::move(buffers));
    if (!next)
      return next;
    buffers = std::move(*next);
  }
  return buffers;
}

} // namespace braid::plan::oracle

#endif // BRAID_TEST_PLAN_RESHARDINTERPRETER_H
