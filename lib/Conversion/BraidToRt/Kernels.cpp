//===- Kernels.cpp - Groups of elementwise ops as kernels -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op that has a scalar form starts as a group of its own. A producer's and a consumer's group become one where
// their spaces agree and no path leads from the one to the other through anything else, so that the graph of groups
// stays acyclic. What moves between memory and registers then is a group's inputs and outputs only.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "KernelBody.h"

#include "braid/Dialect/Braid/IR/Describe.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace braid {

/// A kernel's inputs are pointers in registers, or on the stack beyond these.
static constexpr size_t maxOperands = 24;
static constexpr int64_t maxRank = 8;

struct KernelBuilder::Group {
  SmallVector<Operation *> ops; // in the block's order
  SmallVector<Expr, 4> space;
  bool reduces = false;
};

StringAttr pathBelow(StringAttr caller, StringAttr path) {
  if (!caller || path.getValue().starts_with(caller.getValue()))
    return path;
  return path.empty() ? caller : StringAttr::get(path.getContext(), caller.getValue() + "." + path.getValue());
}

rt::SiteAttr makeSite(Operation *op, StringAttr caller) {
  Builder builder(op->getContext());
  auto own = op->getAttrOfType<StringAttr>(pathAttrName);
  StringAttr path = pathBelow(caller, own ? own : builder.getStringAttr(""));
  auto file = op->getLoc()->findInstanceOf<FileLineColLoc>();
  if (path.empty() && !file)
    return nullptr;
  return rt::SiteAttr::get(builder.getContext(), path,
                           builder.getStringAttr(file ? llvm::sys::path::filename(file.getFilename()) : ""),
                           file ? file.getLine() : 0);
}

/// Whether `rows` is `space` with a last dim of 1.
static bool isRowsOf(ArrayRef<Expr> rows, ArrayRef<Expr> space) {
  return !space.empty() && rows.size() == space.size() && rows.drop_back() == space.drop_back() &&
         ShapeAnalysis::isOne(rows.back());
}

namespace {
/// The groups of a block, as a graph.
class Grouping {
public:
  struct Node {
    SmallVector<Operation *> ops;
    SmallVector<Expr, 4> space; // empty for what is no group
    bool reduces = false, fusable = false;
    unsigned last = 0; // the place of the last op
  };

  Grouping(Block &block, ShapeAnalysis &shapes) : shapes(shapes) {
    // What has no shape, as the gradients of opaque ops, is no group; that is no error.
    ScopedDiagnosticHandler silent(block.getParentOp()->getContext(), [](Diagnostic &) { return success(); });
    unsigned place = 0;
    for (Operation &op : block) {
      places[&op] = place;
      parents.push_back(place);
      Node &node = nodes.emplace_back();
      node.ops.push_back(&op);
      node.last = place++;
      node.fusable = findSpace(&op, node);
    }
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          tryMerge(find(places[producer]), find(places[&op]));
  }

  SmallVector<Node *> groups() {
    SmallVector<Node *> result;
    for (auto [place, node] : llvm::enumerate(nodes))
      if (parents[place] == place && node.fusable)
        result.push_back(&node);
    return result;
  }

private:
  unsigned find(unsigned place) {
    while (parents[place] != place)
      place = parents[place] = parents[parents[place]];
    return place;
  }

  bool findSpace(Operation *op, Node &node) {
    if (op->getNumResults() != 1 || op->getNumRegions() || !isa<AtenOpInterface>(op))
      return false;
    FailureOr<TensorShape> result = shapes.shapeOf(op->getResult(0));
    if (failed(result))
      return false;
    node.space = result->dims;
    // A trial: the code goes with the block.
    OpBuilder builder(op->getContext());
    OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
    Block &trial = *scratch->getBody();
    builder.setInsertionPointToEnd(&trial);
    SmallVector<Value> elements;
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type) // sizes of an expand
        continue;
      if (!isKernelType(type.getElementType()))
        return false;
      elements.push_back(trial.addArgument(type.getElementType(), op->getLoc()));
    }
    if (elements.empty())
      return false;
    if (isa<SumDimOp, MeanDimOp, AmaxOp>(op)) {
      FailureOr<TensorShape> operand = shapes.shapeOf(op->getOperand(0));
      if (failed(operand) || !isRowReduction(op, operand->rank()))
        return false;
      node.space = operand->dims;
    }
    node.reduces = needsRows(op);
    bool emitted = static_cast<bool>(emitScalar(builder, op, elements));
    trial.clear();
    trial.eraseArguments([](BlockArgument) { return true; });
    return emitted && static_cast<int64_t>(node.space.size()) <= maxRank && !node.space.empty();
  }

  void tryMerge(unsigned producer, unsigned consumer) {
    if (producer == consumer)
      return;
    Node &first = nodes[producer], &second = nodes[consumer];
    if (!first.fusable || !second.fusable)
      return;
    ArrayRef<Expr> a = first.space, b = second.space;
    bool firstRows = isRowsOf(a, b) && !first.reduces, secondRows = isRowsOf(b, a) && !second.reduces;
    if (a != b && !firstRows && !secondRows)
      return;
    if (first.ops.size() + second.ops.size() > 64 || countOperands(first, second) > maxOperands)
      return;
    if (usesDropped(first, second) || reaches(producer, consumer))
      return;
    if (a != b && firstRows)
      first.space = second.space;
    first.reduces |= second.reduces;
    first.ops.append(second.ops);
    llvm::sort(first.ops, [&](Operation *x, Operation *y) { return places[x] < places[y]; });
    first.last = std::max(first.last, second.last);
    second = {};
    parents[consumer] = producer;
  }

  /// Whether `second` reads a reduction of `first` that dropped its dim. Such a value has the rows of the space, but
  /// broadcasts as if its last dim were the space's: it is no row value.
  static bool usesDropped(const Node &first, const Node &second) {
    return llvm::any_of(first.ops, [&](Operation *op) {
      return dropsRowDim(op) &&
             llvm::any_of(op->getUsers(), [&](Operation *user) { return llvm::is_contained(second.ops, user); });
    });
  }

  size_t countOperands(const Node &first, const Node &second) {
    llvm::SmallDenseSet<Operation *> inside(first.ops.begin(), first.ops.end());
    inside.insert(second.ops.begin(), second.ops.end());
    llvm::SmallDenseSet<Value> operands;
    for (Operation *op : inside) {
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()) && !inside.contains(operand.getDefiningOp()))
          operands.insert(operand);
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        operands.insert(op->getResult(0));
    }
    return operands.size();
  }

  /// Whether a path leads from `from` to `to` through another node.
  bool reaches(unsigned from, unsigned to) {
    unsigned end = nodes[to].last;
    llvm::SmallDenseSet<unsigned> seen = {from};
    SmallVector<unsigned> open;
    auto visit = [&](unsigned node) {
      for (Operation *op : nodes[node].ops)
        for (Operation *user : op->getUsers()) {
          unsigned next = find(places[user]);
          if (node == from && next == to)
            continue;
          if (next == to)
            return true;
          // Nothing behind the last op of `to` leads there, unless its group starts before.
          if (places[nodes[next].ops.front()] <= end && seen.insert(next).second)
            open.push_back(next);
        }
      return false;
    };
    if (visit(from))
      return true;
    while (!open.empty())
      if (visit(open.pop_back_val()))
        return true;
    return false;
  }

  ShapeAnalysis &shapes;
  llvm::DenseMap<Operation *, unsigned> places;
  SmallVector<unsigned> parents;
  std::vector<Node> nodes;
};
} // namespace

/// Equal kernels have equal texts, but for their names.
static std::string namelessText(rt::KernelOp kernel) {
  StringAttr name = kernel.getSymNameAttr();
  kernel.setSymName("kernel");
  std::string text = textOf(kernel);
  kernel.setSymNameAttr(name);
  return text;
}

KernelBuilder::KernelBuilder(ModuleOp module, ShapeAnalysis &shapes) : module(module), shapes(shapes) {
  for (auto kernel : module.getOps<rt::KernelOp>())
    kernels.try_emplace(namelessText(kernel), kernel.getSymNameAttr());
}

void KernelBuilder::formKernels(Block &block, llvm::function_ref<rt::SiteAttr(Operation *)> makeSite) {
  std::vector<Group> groups;
  {
    Grouping grouping(block, shapes);
    for (Grouping::Node *node : grouping.groups()) {
      // What only renames or broadcasts is nothing to compute.
      size_t work = llvm::count_if(node->ops, [](Operation *op) { return !isa<ExpandOp, ExpandAsOp>(op); });
      if (work >= 2)
        groups.push_back({node->ops, node->space, node->reduces});
    }
  }
  if (groups.empty())
    return;
  OpBuilder builder(block.getParentOp()->getContext());
  for (const Group &group : groups) {
    llvm::SmallDenseSet<Operation *> inside(group.ops.begin(), group.ops.end());
    llvm::SetVector<Value> inputs, outputs;
    for (Operation *op : group.ops) {
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType>(operand.getType()) && !inside.contains(operand.getDefiningOp()) &&
            !getSplatScalar(operand))
          inputs.insert(operand);
      if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        outputs.insert(op->getResult(0));
    }
    Operation *last = group.ops.back();
    builder.setInsertionPoint(last);
    StringAttr kernel = makeKernel(group, inputs, outputs.getArrayRef());
    SmallVector<int64_t> staticSizes;
    SmallVector<Value> sizes;
    dispatchIndexOpFoldResults(shapes.materialize(builder, last->getLoc(), group.space), sizes, staticSizes);
    auto launch = rt::LaunchOp::create(builder, last->getLoc(), ValueRange(outputs.getArrayRef()).getTypes(),
                                       FlatSymbolRefAttr::get(kernel), inputs.getArrayRef(), sizes,
                                       builder.getDenseI64ArrayAttr(staticSizes), makeSite(last));
    for (auto [made, result] : llvm::zip(outputs, launch.getResults())) {
      Value output = made;
      FailureOr<TensorShape> shape = shapes.shapeOf(output);
      output.replaceAllUsesWith(result);
      if (succeeded(shape))
        shapes.setShape(result, *shape);
    }
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }
  sortTopologically(&block);
}

StringAttr KernelBuilder::makeKernel(const Group &group, llvm::SetVector<Value> &inputs, ValueRange outputs) {
  Location loc = group.ops.back()->getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  llvm::SmallDenseSet<Value> perRow;
  for (Operation *op : group.ops)
    for (OpOperand &operand : op->getOpOperands())
      if (isPerRow(operand))
        perRow.insert(operand.get());
  auto kind = [&](Value value, bool drops) -> int32_t {
    if (drops)
      return 2;
    TensorShape shape = *shapes.shapeOf(value);
    bool isOne = shape.rank() == 0 || ShapeAnalysis::isOne(shape.dims.back());
    return shape.rank() == 0 || (isOne && !ShapeAnalysis::isOne(group.space.back())) ? 1 : 0;
  };
  auto rank = static_cast<int64_t>(group.space.size());
  SmallVector<int32_t> inputKinds, outputKinds;
  for (Value output : outputs) // of lower rank: a row reduction that drops the dim
    outputKinds.push_back(kind(output, shapes.shapeOf(output)->rank() < rank));
  auto kernel = rt::KernelOp::create(builder, loc, "kernel", rank, ArrayRef<int32_t>(), outputKinds);
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping elements;
  for (Value input : inputs)
    elements.map(input,
                 body.addArgument(cast<RankedTensorType>(input.getType()).getElementType(), builder.getUnknownLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : group.ops) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      if (!elements.contains(operand))
        elements.map(operand, arith::ConstantOp::create(builder, loc, getSplatScalar(operand)).getResult());
      operands.push_back(elements.lookup(operand));
    }
    elements.map(op->getResult(0), emitScalar(builder, op, operands));
  }
  SmallVector<Value> results;
  for (Value output : outputs)
    results.push_back(elements.lookup(output));
  rt::YieldOp::create(builder, loc, results);
  llvm::BitVector unused(inputs.size());
  llvm::SetVector<Value> used;
  for (auto [input, argument] : llvm::zip(inputs, body.getArguments())) {
    if (argument.use_empty()) {
      unused.set(argument.getArgNumber());
      continue;
    }
    used.insert(input);
    inputKinds.push_back(kind(input, perRow.contains(input)));
  }
  body.eraseArguments(unused);
  inputs = std::move(used);
  kernel.setInputs(inputKinds);

  StringAttr &name = kernels[namelessText(kernel)];
  if (name) {
    kernel.erase();
    return name;
  }
  unsigned number = kernels.size();
  while (module.lookupSymbol(("kernel_" + Twine(number)).str()))
    ++number;
  kernel.setSymName(("kernel_" + Twine(number)).str());
  return name = kernel.getSymNameAttr();
}

} // namespace braid
