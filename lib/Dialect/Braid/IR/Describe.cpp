//===- Describe.cpp - Where an op stands, for messages --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/Describe.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/ShapeAnalysis.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/Path.h"

#include <limits>

using namespace mlir;

namespace braid {

std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto opaque = dyn_cast<OpaqueOp>(op))
    stream << opaque.getName(); // braid.aten says nothing
  else
    stream << op->getName();
  if (auto path = op->getAttrOfType<StringAttr>(pathAttrName); path && !path.getValue().empty())
    stream << " in " << path.getValue();
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    stream << " at " << llvm::sys::path::filename(file.getFilename()) << ":" << file.getLine();
  return text;
}

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags; // as made, they hold what the command line says
  flags.useLocalScope().elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  flags.skipRegions(false).enableDebugInfo(false);
  op->print(stream, flags);
  return text;
}

} // namespace braid
