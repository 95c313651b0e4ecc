//===- Collate.cpp - Collate rules of @main's inputs ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/Collate.h"
#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"

using namespace mlir;

namespace braid {

FailureOr<CollatedInputs> getCollatedInputs(func::FuncOp main) {
  CollatedInputs result;
  std::optional<Expr> samples;
  SmallVector<bool> stated;
  for (unsigned number = 0; number < main.getNumArguments(); ++number) {
    auto name = main.getArgAttrOfType<StringAttr>(number, inputAttrName);
    auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[number]);
    if (!name || !type)
      continue;
    plan::CollatedInput input{name.getValue().str(), {}, {}};
    auto dims = main.getArgAttrOfType<ArrayAttr>(number, dimsAttrName);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      plan::Result<Expr> size = Expr(type.getDimSize(dim));
      if (dims && dim < static_cast<int64_t>(dims.size()) && isa<StringAttr>(dims[dim]))
        size = Expr::parse(cast<StringAttr>(dims[dim]).getValue().str());
      if (!size)
        return main.emitError() << "input '" << name.getValue() << "': " << size.error();
      input.dims.push_back(*size);
    }
    auto text = main.getArgAttrOfType<StringAttr>(number, collateAttrName);
    stated.push_back(static_cast<bool>(text));
    if (text) {
      plan::Result<plan::CollateRule> rule = plan::CollateRule::parse(text.getValue().str());
      if (!rule)
        return main.emitError() << "input '" << name.getValue() << "': " << rule.error();
      input.rule = *rule;
    }
    if (!samples && (!text || input.rule.stacks()) && !input.dims.empty() && !input.dims[0].constant())
      samples = input.dims[0];
    result.inputs.push_back(std::move(input));
    result.arguments.push_back(number);
  }
  for (auto [input, has] : llvm::zip(result.inputs, stated))
    if (!has && !(samples && !input.dims.empty() && input.dims[0] == *samples))
      input.rule.kind = plan::CollateRule::Kind::Shared;
  return result;
}

} // namespace braid
