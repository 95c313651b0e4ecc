//===- AssignCollateRules.cpp - The plan's collate rules ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Collate.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"
#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Support/Text.h"

#include <cmath>

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_ASSIGNCOLLATERULES
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
using Kind = plan::CollateRule::Kind;

struct AssignCollateRules : impl::AssignCollateRulesBase<AssignCollateRules> {
  using AssignCollateRulesBase::AssignCollateRulesBase;

  void runOnOperation() override {
    if (failed(assign()))
      signalPassFailure();
  }

private:
  LogicalResult assign() {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return success();
    if (!planFile.empty()) {
      plan::Result<plan::PlanFile> read = plan::readPlan(planFile);
      if (!read)
        return emitError(UnknownLoc::get(&getContext())) << read.error();
      file = *read;
    }
    for (const plan::PlanInput &entry : file.inputs)
      if (entry.collate && failed(setRule(main, entry)))
        return failure();
    FailureOr<CollatedInputs> collated = getCollatedInputs(main);
    if (failed(collated))
      return failure();
    plan::BatchDivision division;
    if (std::optional<plan::DivisionError> error = plan::divide(collated->inputs, division))
      return emitAt(main, collated->inputs[error->input].name) << error->message;
    for (auto [input, argument] : llvm::zip(collated->inputs, collated->arguments))
      if (failed(checkInput(main, input, cast<RankedTensorType>(main.getArgumentTypes()[argument]), division)))
        return failure();
    return success();
  }

  LogicalResult setRule(func::FuncOp main, const plan::PlanInput &entry) {
    std::vector<std::string> names;
    for (unsigned number = 0; number < main.getNumArguments(); ++number) {
      auto name = main.getArgAttrOfType<StringAttr>(number, inputAttrName);
      if (!name)
        continue;
      names.push_back(name.getValue().str());
      if (name.getValue() != entry.name)
        continue;
      main.setArgAttr(number, collateAttrName, StringAttr::get(&getContext(), entry.collate->str()));
      return success();
    }
    return emitAt(main, entry.name) << "the model has no input '" << entry.name << "'"
                                    << plan::suggest(entry.name, names);
  }

  LogicalResult checkInput(func::FuncOp main, const plan::CollatedInput &input, RankedTensorType type,
                           const plan::BatchDivision &division) {
    const plan::CollateRule &rule = input.rule;
    Type element = type.getElementType();
    if (!rule.input.empty() && !element.isInteger(64) && !element.isInteger(32))
      return emitAt(main, input.name) << "input '" << input.name << "' has elements " << element
                                      << ", and its collate rule " << rule.str() << " needs i64 or i32";
    if (rule.stacks() && !(input.dims[0] == division.samples))
      return emitAt(main, input.name) << "input '" << input.name << "' cannot be stacked: its dim 0 is '"
                                      << input.dims[0].str() << "' and the samples are counted by '"
                                      << division.samples.str() << "'; give both the same name in dims";
    bool whole = rule.value == std::floor(rule.value) && std::fabs(rule.value) < 0x1p53;
    if (rule.kind == Kind::Pad && isa<IntegerType>(element) && !whole)
      return emitAt(main, input.name) << "input '" << input.name << "' has elements " << element
                                      << ", and its collate rule fills with " << rule.str() << "; give a whole number";
    return success();
  }

  /// At the input's entry in the plan, or at the function where the plan has none.
  InFlightDiagnostic emitAt(func::FuncOp main, StringRef input) {
    for (const plan::PlanInput &entry : file.inputs)
      if (entry.name == input)
        return emitError(FileLineColLoc::get(&getContext(), file.name, entry.location.line, entry.location.column));
    return main.emitError();
  }

  plan::PlanFile file;
};
} // namespace
} // namespace braid
