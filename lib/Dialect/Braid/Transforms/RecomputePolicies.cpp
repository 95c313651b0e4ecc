//===- RecomputePolicies.cpp - What each unit computes again --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputePolicies.h"

#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Support/Text.h"

using namespace mlir;

namespace braid {

static constexpr StringLiteral words[] = {"none", "selective", "full"};

static StringRef pathOf(CallOp call) { return call.getPath().value_or(""); }

/// The component of each call; glue that no pattern names belongs to what reads it.
static llvm::DenseMap<Operation *, const plan::PlanComponent *> findComponents(ArrayRef<CallOp> calls,
                                                                               const plan::PlanFile &file) {
  llvm::DenseMap<Operation *, const plan::PlanComponent *> components;
  for (CallOp call : llvm::reverse(calls)) {
    const plan::PlanComponent *&own = components[call];
    own = file.componentOf(pathOf(call));
    if (own || !call->hasAttr("glue"))
      continue;
    for (Operation *user : call->getUsers())
      if (const plan::PlanComponent *reader = components.lookup(user)) {
        components[call] = reader;
        break;
      }
  }
  return components;
}

/// Names of components, modules of units and modules above these.
static std::vector<std::string> knownNames(ArrayRef<CallOp> calls, const plan::PlanFile &file) {
  std::vector<std::string> names;
  for (const plan::PlanComponent &component : file.components)
    names.push_back(component.name);
  for (CallOp call : calls)
    for (StringRef path = pathOf(call); !path.empty(); path = path.contains('.') ? path.rsplit('.').first : "")
      if (!call->hasAttr("glue") && !llvm::is_contained(names, path))
        names.push_back(path.str());
  return names;
}

FailureOr<llvm::DenseMap<Operation *, StringRef>> findRecomputePolicies(func::FuncOp main, StringRef planFile,
                                                                        StringRef word) {
  SmallVector<CallOp> calls(main.getBody().front().getOps<CallOp>());
  llvm::DenseMap<Operation *, StringRef> policies;
  if (!word.empty()) {
    const StringLiteral *known = llvm::find(words, word);
    if (known == std::end(words))
      return emitError(UnknownLoc::get(main.getContext()))
             << "recompute is '" << word << "'; there are none, selective and full";
    for (CallOp call : calls)
      policies[call] = *known;
    return policies;
  }
  if (planFile.empty())
    return policies;
  plan::Result<plan::PlanFile> file = plan::readPlan(planFile.str());
  if (!file)
    return emitError(UnknownLoc::get(main.getContext())) << file.error();
  llvm::DenseMap<Operation *, const plan::PlanComponent *> components = findComponents(calls, *file);
  for (const plan::PlanRecompute &entry : file->recompute) {
    auto isNamed = [&](const plan::PlanComponent &component) { return component.name == entry.pattern.text; };
    bool isComponent = llvm::any_of(file->components, isNamed), used = isComponent;
    for (CallOp call : calls) {
      const plan::PlanComponent *component = components.lookup(call);
      bool matches =
          isComponent ? component && isNamed(*component) : plan::matchesModule(entry.pattern.text, pathOf(call));
      used |= matches;
      if (matches)
        policies.try_emplace(call, *llvm::find(words, entry.policy)); // the first match wins
    }
    if (used)
      continue;
    std::string near = plan::nearest(StringRef(entry.pattern.text).rtrim(".*").str(), knownNames(calls, *file));
    return emitError(FileLineColLoc::get(main.getContext(), file->name, entry.pattern.location.line,
                                         entry.pattern.location.column))
           << "recompute names '" << entry.pattern.text << "', which is neither a component nor a module of a unit"
           << (near.empty() ? "; braidc --emit=units lists the units" : "; the nearest is '" + near + "'");
  }
  return policies;
}

} // namespace braid
