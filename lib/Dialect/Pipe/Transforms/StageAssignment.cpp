//===- StageAssignment.cpp - Which stage a unit call belongs to -----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageAssignment.h"
#include "PlanSupport.h"

#include "braid/Plan/Schedule/Partition.h"
#include "braid/Plan/Support/Text.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;

namespace braid::pipe {

bool isInputOnly(CallOp call) { return call->hasAttr("input_only"); }

static double flopsOf(CallOp call, SymbolTable &symbols, ShapeAnalysis &shapes) {
  double sum = 0;
  auto unit = symbols.lookup<func::FuncOp>(call.getCallee());
  unit.walk([&](CostOpInterface op) {
    sum += static_cast<double>(shapes.example(op.getFlops(shapes)).value_or(0));
  });
  return sum;
}

namespace {
class Assignment {
public:
  Assignment(func::FuncOp main, ShapeAnalysis &shapes) : main(main), symbols(shapes.getModule()) {
    for (CallOp call : main.getBody().front().getOps<CallOp>())
      if (!isInputOnly(call)) {
        number[call] = calls.size();
        calls.push_back(call);
        flops.push_back(flopsOf(call, symbols, shapes));
      }
  }

  FailureOr<std::vector<StageInfo>> even(int64_t count) {
    SmallVector<int> all = llvm::to_vector(llvm::seq<int>(0, calls.size()));
    return cut({{"", all, count, {}}});
  }

  FailureOr<std::vector<StageInfo>> byComponents(const plan::PlanFile &file) {
    SmallVector<int> component(calls.size(), -1);
    std::vector<Part> parts(file.components.size());
    for (auto [at, entry] : llvm::enumerate(file.components)) {
      parts[at].name = entry.name;
      for (const plan::PlanPattern &pattern : entry.modules)
        if (llvm::none_of(calls, [&](CallOp call) { return plan::matchesModule(pattern.text, pathOf(call)); }))
          return planError(file, pattern.location)
                 << "pattern '" << pattern.text << "' of component '" << entry.name
                 << "' matches no unit" << nearestUnit(pattern.text);
      if (!entry.mesh)
        continue;
      for (auto &[axis, size] : entry.mesh->axes)
        if (axis != "pp" && size != 1)
          return planError(file, entry.mesh->location)
                 << "component '" << entry.name << "' asks for axis " << axis << " = " << size
                 << "; of the mesh axes only pp is built: give the component as many ranks as pp says";
      parts[at].stages = entry.mesh->axis("pp");
      parts[at].ranks.assign(entry.mesh->ranks.begin(), entry.mesh->ranks.end());
      if (static_cast<int64_t>(parts[at].ranks.size()) != parts[at].stages)
        return planError(file, entry.mesh->location)
               << "component '" << entry.name << "' has " << parts[at].ranks.size() << " ranks for pp = "
               << parts[at].stages << ": give it one rank for each pipeline stage (axes: {pp: "
               << parts[at].ranks.size() << "})";
    }
    for (auto [at, call] : llvm::enumerate(calls)) {
      const plan::PlanComponent *found = file.componentOf(pathOf(call));
      if (call->hasAttr("glue"))
        continue; // below, between what it reads and what reads it
      if (!found)
        return call.emitOpError() << "of module '" << pathOf(call) << "' belongs to no component of " << file.name
                                  << ": add its path, or \"*\" for all others, to a component's modules";
      component[at] = found - file.components.data();
    }
    if (failed(checkPatternsAreUsed(file, component)))
      return failure();
    FailureOr<SmallVector<int>> order = orderComponents(file, component);
    if (failed(order))
      return failure();
    SmallVector<int> rankOf(parts.size());
    for (auto [position, at] : llvm::enumerate(*order))
      rankOf[at] = position;
    // Glue runs where its readers run, unless its own pattern names a component that data flow allows.
    for (int at = calls.size() - 1; at >= 0; --at) {
      if (component[at] >= 0)
        continue;
      int first = 0, last = parts.size() - 1;
      bool read = false;
      for (int user : usersOf(at))
        if (component[user] >= 0) {
          last = std::min(last, rankOf[component[user]]);
          read = true;
        }
      for (Value input : calls[at].getInputs())
        if (auto source = input.getDefiningOp<CallOp>(); source && number.count(source))
          if (int from = component[number[source]]; from >= 0)
            first = std::max(first, rankOf[from]);
      int chosen = read ? last : first;
      component[at] = (*order)[chosen];
    }
    std::vector<Part> ordered;
    for (int at : *order) {
      for (int call = 0; call < static_cast<int>(calls.size()); ++call)
        if (component[call] == at)
          parts[at].calls.push_back(call);
      ordered.push_back(parts[at]);
    }
    // Components without a mesh take the ranks that are left, in order.
    llvm::SmallDenseSet<int> taken;
    for (const Part &part : ordered)
      taken.insert(part.ranks.begin(), part.ranks.end());
    int next = 0;
    for (Part &part : ordered)
      while (static_cast<int64_t>(part.ranks.size()) < part.stages) {
        while (!taken.insert(next).second)
          ++next;
        part.ranks.push_back(next);
      }
    int world = static_cast<int>(taken.size());
    for (const Part &part : ordered)
      for (int rank : part.ranks)
        if (rank >= world)
          return emitPlanError(main.getContext(), file)
                 << "component '" << part.name << "' uses rank " << rank << ", but all components together use "
                 << world << " ranks: number them from 0 to " << world - 1 << " without gaps";
    return cut(ordered);
  }

private:
  struct Part {
    std::string name;
    SmallVector<int> calls;
    int64_t stages = 1;
    SmallVector<int> ranks; // empty: as the stages are numbered
  };

  static StringRef pathOf(CallOp call) { return call.getPath().value_or(""); }

  InFlightDiagnostic planError(const plan::PlanFile &file, plan::FileLocation at) {
    return emitPlanError(main.getContext(), file, at);
  }

  /// The first component that matches a module has it; a pattern that is left with nothing is a mistake.
  LogicalResult checkPatternsAreUsed(const plan::PlanFile &file, ArrayRef<int> component) {
    for (auto [at, entry] : llvm::enumerate(file.components))
      for (const plan::PlanPattern &pattern : entry.modules) {
        std::optional<int> other;
        bool used = false;
        for (auto [call, owner] : llvm::zip(calls, component))
          if (owner >= 0 && plan::matchesModule(pattern.text, pathOf(call))) {
            used |= owner == static_cast<int>(at);
            other = owner;
          }
        if (other && !used)
          return planError(file, pattern.location)
                 << "pattern '" << pattern.text << "' of component '" << entry.name
                 << "' matches only modules that component '" << file.components[*other].name
                 << "', which comes first, has already: write '" << entry.name << "' before it, or narrow its patterns";
      }
    return success();
  }

  /// Among the units and the modules that they are in.
  std::string nearestUnit(StringRef pattern) {
    std::set<std::string> paths;
    for (CallOp call : calls)
      if (!call->hasAttr("glue"))
        for (StringRef path = pathOf(call); !path.empty(); path = path.rsplit('.').first) {
          paths.insert(path.str());
          if (!path.contains('.'))
            break;
        }
    std::string near = plan::nearest(pattern.rtrim(".*").str(), {paths.begin(), paths.end()});
    return near.empty() ? "; braidc --emit=units lists them" : "; the nearest is '" + near + "'";
  }

  SmallVector<int> usersOf(int at) {
    SmallVector<int> users;
    for (Operation *user : calls[at]->getUsers())
      if (auto call = dyn_cast<CallOp>(user); call && number.count(call))
        users.push_back(number[call]);
    return users;
  }

  FailureOr<SmallVector<int>> orderComponents(const plan::PlanFile &file, ArrayRef<int> component) {
    // Reachability between components, through glue too.
    size_t count = file.components.size();
    std::vector<llvm::SmallDenseSet<int>> above(calls.size());
    std::vector<llvm::MapVector<int, std::pair<int, int>>> edges(count); // to component: an example of calls
    for (int at = 0; at < static_cast<int>(calls.size()); ++at)
      for (Value input : calls[at].getInputs()) {
        auto source = input.getDefiningOp<CallOp>();
        if (!source || !number.count(source))
          continue;
        int from = number[source];
        if (component[from] < 0)
          above[at].insert(above[from].begin(), above[from].end());
        else
          above[at].insert(from);
        if (component[at] >= 0)
          for (int unit : above[at])
            if (component[unit] != component[at])
              edges[component[unit]].insert({component[at], {unit, at}});
      }
    SmallVector<int> order, waiting(count);
    for (auto &targets : edges)
      for (auto &[to, example] : targets)
        ++waiting[to];
    SmallVector<bool> done(count);
    while (order.size() < count) {
      int ready = -1;
      for (int at = 0; at < static_cast<int>(count) && ready < 0; ++at)
        if (!done[at] && !waiting[at])
          ready = at;
      if (ready < 0) {
        for (int at = 0; at < static_cast<int>(count); ++at)
          if (!done[at])
            for (auto &[to, example] : edges[at])
              if (!done[to]) {
                auto diagnostic = calls[example.second].emitOpError()
                                  << "of component '" << file.components[to].name << "' reads module '"
                                  << pathOf(calls[example.first]) << "' of component '" << file.components[at].name
                                  << "', which depends on the first again: components must not form a cycle; name "
                                     "the modules of both in one component";
                return diagnostic;
              }
        return failure();
      }
      done[ready] = true;
      order.push_back(ready);
      for (auto &[to, example] : edges[ready])
        --waiting[to];
    }
    return order;
  }

  FailureOr<std::vector<StageInfo>> cut(ArrayRef<Part> parts) {
    std::vector<StageInfo> stages;
    for (const Part &part : parts) {
      std::vector<double> weights;
      for (int call : part.calls)
        weights.push_back(flops[call]);
      plan::Result<std::vector<int>> starts = plan::partitionEvenly(weights, part.stages);
      if (!starts)
        return main.emitError() << (part.name.empty() ? "the model" : "component '" + part.name + "'") << " has "
                                << part.calls.size() << " units and glue pieces, which cannot fill " << part.stages
                                << " stages: ask for fewer stages (braidc --emit=units shows the units)";
      for (int64_t at = 0; at < part.stages; ++at) {
        StageInfo &stage = stages.emplace_back();
        stage.name = part.name.empty() ? "stage" + std::to_string(at)
                     : part.stages == 1 ? part.name
                                        : part.name + "." + std::to_string(at);
        stage.rank = part.ranks.empty() ? stages.size() - 1 : part.ranks[at];
        size_t end = at + 1 < part.stages ? (*starts)[at + 1] : part.calls.size();
        for (size_t call = (*starts)[at]; call < end; ++call) {
          stage.calls.push_back(calls[part.calls[call]]);
          stage.flops += flops[part.calls[call]];
        }
      }
    }
    return stages;
  }

  func::FuncOp main;
  SymbolTable symbols;
  std::vector<CallOp> calls;
  std::vector<double> flops;
  llvm::DenseMap<Operation *, int> number;
};
} // namespace

FailureOr<std::vector<StageInfo>> assignStages(func::FuncOp main, ShapeAnalysis &shapes, const plan::PlanFile *planFile,
                                               int64_t count) {
  Assignment assignment(main, shapes);
  if (!planFile || planFile->components.empty())
    return assignment.even(count);
  FailureOr<std::vector<StageInfo>> stages = assignment.byComponents(*planFile);
  if (succeeded(stages) && count != 1 && static_cast<int64_t>(stages->size()) != count)
    return emitPlanError(main.getContext(), *planFile, planFile->components.front().location)
           << "the plan's components make " << stages->size() << (stages->size() == 1 ? " stage" : " stages")
           << ", and the number of stages asked for is " << count << "; leave one of the two out";
  return stages;
}

} // namespace braid::pipe
