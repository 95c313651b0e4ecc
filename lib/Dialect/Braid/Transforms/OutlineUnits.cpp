//===- OutlineUnits.cpp - @main as a graph of unit calls ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three steps: ModuleTree decides which modules are units, UnitGraph assigns every op to a unit call or to a glue
// group, Outliner makes the functions and shares equal ones.
//
// Glue ops with the same set of units before them, the same set after them and the same answer to "computed from inputs
// alone?" form a group. Groups are convex and the graph of calls is acyclic: an edge never loses a unit before it nor
// gains one after it, so a cycle would hold one key only, and a path through a unit u makes u both before and after.
//
//===----------------------------------------------------------------------===//

#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Braid/IR/Describe.h"
#include "braid/Dialect/Braid/IR/Random.h"
#include "braid/Dialect/Braid/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

#include <queue>

using namespace mlir;

namespace braid {
#define GEN_PASS_DEF_OUTLINEUNITS
#include "braid/Dialect/Braid/Transforms/Passes.h.inc"

namespace {
/// A module path without the call numbers that functions of repeated calls have ("net.layer#1.up" -> "net.layer.up").
std::string stripCalls(StringRef path) {
  std::string out;
  for (size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '#') {
      while (at + 1 < path.size() && llvm::isDigit(path[at + 1]))
        ++at;
      continue;
    }
    out += path[at];
  }
  return out;
}

/// "fc" of "net.layers.0.fc".
StringRef lastPart(StringRef path) { return path.contains('.') ? path.rsplit('.').second : path; }

bool isListElement(StringRef path) {
  StringRef last = lastPart(path);
  return !last.empty() && llvm::all_of(last, llvm::isDigit);
}

/// Decides which modules are units from the parameters' names and sizes.
class ModuleTree {
public:
  explicit ModuleTree(ModuleOp module) {
    for (auto param : module.getOps<ParamOp>()) {
      if (param.getKind() == "constant")
        continue;
      int64_t elements = param.getTensorType().getNumElements();
      total += elements;
      StringRef path = param.getSymName().rsplit('.').first;
      if (path == param.getSymName())
        path = "";
      bool inList = false;
      for (StringRef at = path;; at = at.rsplit('.').first) {
        sizes[at] += elements;
        inList |= isListElement(at);
        if (!at.contains('.'))
          break;
      }
      // Modules above a list are opened; those inside of its elements are not.
      SmallVector<StringRef> parts;
      path.split(parts, '.');
      size_t length = 0;
      for (StringRef part : parts) {
        if (isListElement(part) && length) {
          lists[path.take_front(length)].insert(part);
          break;
        }
        length += part.size() + (length ? 1 : 0);
      }
    }
    for (auto &list : lists)
      if (list.second.size() > 1)
        for (StringRef at = list.first();; at = at.rsplit('.').first) {
          opened.insert(at);
          if (!at.contains('.'))
            break;
        }
    for (auto &entry : sizes)
      if (entry.second * 10 >= total * 9 && !isListElement(entry.first()))
        opened.insert(entry.first()); // holds nearly all of the model: cutting around it would cut nothing
    opened.insert("");
  }

  /// The unit that a module path lies in, or nothing if it is an outer module's own code.
  std::optional<StringRef> unitOf(StringRef path) const {
    size_t length = 0;
    while (length < path.size()) {
      size_t next = path.find('.', length ? length + 1 : 0);
      length = next == StringRef::npos ? path.size() : next;
      StringRef prefix = path.take_front(length);
      if (opened.contains(prefix))
        continue;
      // A module without parameters (an activation, a rotary table) is its parent's glue.
      return sizes.contains(prefix) ? std::optional<StringRef>(prefix) : std::nullopt;
    }
    return std::nullopt;
  }

private:
  int64_t total = 0;
  llvm::StringMap<int64_t> sizes;               // elements of all parameters below a module
  llvm::StringMap<llvm::StringSet<>> lists;     // outermost lists and their elements
  llvm::StringSet<> opened;
};

/// A value that every user makes for itself: constants, sizes, parameter reads.
bool isCloned(Operation *op) {
  return isa<ConstantOp, GetParamOp, SymbolOp, ScalarTensorOp>(op) || isa<arith::ArithDialect>(op->getDialect());
}

struct Unit {
  std::string path;               // of the module; the common part of the ops' paths for glue
  bool glue = false, inputOnly = false;
  SmallVector<Operation *> ops;
  SmallVector<Value> inputs, params, results;
  SmallVector<int64_t> streams;   // that its ops draw random numbers from
};

class UnitGraph {
public:
  UnitGraph(Block &body, const ModuleTree &tree) : body(body) {
    assignUnits(tree);
    assignGlue();
    order();
    if (acyclic)
      for (Unit &unit : units)
        findValues(unit);
  }

  std::vector<Unit> units; // in an order in which they can run
  bool acyclic = true;

private:
  void assignUnits(const ModuleTree &tree) {
    std::optional<std::string> current;
    for (Operation &op : body.without_terminator()) {
      if (isCloned(&op))
        continue;
      index[&op] = ops.size();
      ops.push_back(&op);
      auto path = op.getAttrOfType<StringAttr>(pathAttrName);
      std::string plain = path ? stripCalls(path.getValue()) : "";
      std::optional<StringRef> unit = tree.unitOf(plain);
      if (!unit) {
        current.reset();
        unitOf.push_back(-1);
        continue;
      }
      if (!current || *current != *unit) { // a call's ops stand together: another one starts
        current = unit->str();
        units.emplace_back();
        units.back().path = *current;
      }
      unitOf.push_back(units.size() - 1);
      units.back().ops.push_back(&op);
    }
  }

  void forEachSource(Operation *op, llvm::function_ref<void(Operation *)> visit) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && index.count(source))
        visit(source);
  }

  /// Whether it gives the loss or a buffer's new value: one stage has to have it.
  bool isReturned(Operation *op) {
    return llvm::any_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  }

  bool readsParams(Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<GetParamOp>(); });
  }

  void assignGlue() {
    size_t numUnits = units.size();
    std::vector<llvm::BitVector> before(ops.size(), llvm::BitVector(numUnits)), after = before;
    std::vector<llvm::BitVector> beforeUnit(numUnits, llvm::BitVector(numUnits)), afterUnit = beforeUnit;
    std::vector<bool> inputOnly(ops.size());
    for (size_t at = 0; at < ops.size(); ++at) {
      inputOnly[at] = unitOf[at] < 0 && !readsParams(ops[at]) && !isReturned(ops[at]);
      forEachSource(ops[at], [&](Operation *source) {
        size_t from = index[source];
        inputOnly[at] = inputOnly[at] && inputOnly[from];
        if (unitOf[from] == unitOf[at] && unitOf[at] >= 0)
          return;
        before[at] |= unitOf[from] >= 0 ? beforeUnit[unitOf[from]] : before[from];
        if (unitOf[from] >= 0)
          before[at].set(unitOf[from]);
      });
      if (unitOf[at] >= 0)
        beforeUnit[unitOf[at]] |= before[at];
    }
    for (size_t at = ops.size(); at-- > 0;) {
      if (unitOf[at] >= 0)
        after[at] = afterUnit[unitOf[at]];
      forEachSource(ops[at], [&](Operation *source) {
        size_t from = index[source];
        if (unitOf[from] == unitOf[at] && unitOf[at] >= 0)
          return;
        llvm::BitVector &to = unitOf[from] >= 0 ? afterUnit[unitOf[from]] : after[from];
        to |= after[at];
        if (unitOf[at] >= 0)
          to.set(unitOf[at]);
      });
    }
    std::map<std::tuple<std::vector<int>, std::vector<int>, bool>, size_t> groups;
    for (size_t at = 0; at < ops.size(); ++at) {
      if (unitOf[at] >= 0)
        continue;
      auto list = [](const llvm::BitVector &bits) { return std::vector<int>(bits.set_bits_begin(), bits.set_bits_end()); };
      auto [group, isNew] = groups.try_emplace({list(before[at]), list(after[at]), inputOnly[at]}, units.size());
      if (isNew) {
        units.emplace_back();
        units.back().glue = true;
        units.back().inputOnly = inputOnly[at];
      }
      Unit &unit = units[group->second];
      auto path = ops[at]->getAttrOfType<StringAttr>(pathAttrName);
      std::string plain = path ? stripCalls(path.getValue()) : "";
      unit.path = unit.ops.empty() ? plain : commonModule(unit.path, plain);
      unit.ops.push_back(ops[at]);
      unitOf[at] = group->second;
    }
  }

  static std::string commonModule(StringRef a, StringRef b) {
    SmallVector<StringRef> left, right;
    a.split(left, '.');
    b.split(right, '.');
    size_t same = 0;
    while (same < left.size() && same < right.size() && left[same] == right[same])
      ++same;
    return llvm::join(ArrayRef(left).take_front(same), ".");
  }

  /// Topological, and otherwise in program order.
  void order() {
    std::vector<std::set<size_t>> users(units.size());
    std::vector<size_t> waiting(units.size());
    for (size_t at = 0; at < ops.size(); ++at)
      forEachSource(ops[at], [&](Operation *source) {
        size_t from = unitOf[index[source]], to = unitOf[at];
        if (from != to && users[from].insert(to).second)
          ++waiting[to];
      });
    std::priority_queue<std::pair<size_t, size_t>, std::vector<std::pair<size_t, size_t>>, std::greater<>> ready;
    auto first = [&](size_t unit) { return index[units[unit].ops.front()]; };
    for (size_t unit = 0; unit < units.size(); ++unit)
      if (!waiting[unit])
        ready.push({first(unit), unit});
    std::vector<Unit> ordered;
    std::vector<size_t> position(units.size());
    while (!ready.empty()) {
      size_t unit = ready.top().second;
      ready.pop();
      position[unit] = ordered.size();
      ordered.push_back(std::move(units[unit]));
      for (size_t user : users[unit])
        if (--waiting[user] == 0)
          ready.push({first(user), user});
    }
    acyclic = ordered.size() == units.size();
    for (int &unit : unitOf)
      unit = position[unit];
    units = std::move(ordered);
  }

  void findValues(Unit &unit) {
    llvm::SetVector<Value> inputs, params, results;
    int self = unitOf[index[unit.ops.front()]];
    for (Operation *op : unit.ops) {
      for (Value operand : op->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!isa<RankedTensorType>(operand.getType()))
          continue;
        if (source && isa<GetParamOp>(source))
          params.insert(operand);
        else if (!source || (index.count(source) && unitOf[index[source]] != self))
          inputs.insert(operand);
      }
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !index.count(user) || unitOf[index[user]] != self;
            }))
          results.insert(result);
    }
    // One argument for a parameter, however often it is read.
    llvm::MapVector<StringRef, Value> byName;
    for (Value param : params)
      byName.insert({param.getDefiningOp<GetParamOp>().getParam(), param});
    for (auto &[name, value] : byName)
      unit.params.push_back(value);
    unit.inputs = inputs.takeVector();
    unit.results = results.takeVector();
  }

  Block &body;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> index; // of the ops that belong to a unit
  std::vector<int> unitOf;
};

/// Makes the functions. Equal bodies, told by their text without locations, are one function.
class Outliner {
public:
  Outliner(ModuleOp module, ShapeAnalysis &shapes)
      : module(module), symbols(module), shapes(shapes), builder(module.getContext()) {
    classes = module->getAttrOfType<DictionaryAttr>("braid.classes");
  }

  LogicalResult run(func::FuncOp main, UnitGraph &graph) {
    Block &body = main.getBody().front();
    Operation *terminator = body.getTerminator();
    IRMapping values; // from values of the flat graph to results of calls
    builder.setInsertionPoint(terminator);
    for (Unit &unit : graph.units) {
      FailureOr<func::FuncOp> function = makeFunction(unit);
      if (failed(function))
        return failure();
      SmallVector<Value> inputs, params;
      for (Value input : unit.inputs)
        inputs.push_back(values.lookupOrDefault(input));
      for (Value param : unit.params)
        params.push_back(builder.clone(*param.getDefiningOp())->getResult(0));
      auto call = CallOp::create(builder, unit.ops.front()->getLoc(), function->getResultTypes(),
                                 function->getSymName(), inputs, params, builder.getStringAttr(unit.path),
                                 unit.streams.empty() ? DenseI64ArrayAttr()
                                                      : builder.getDenseI64ArrayAttr(unit.streams));
      if (unit.glue)
        call->setAttr("glue", builder.getUnitAttr());
      if (unit.inputOnly)
        call->setAttr("input_only", builder.getUnitAttr());
      for (auto [result, value] : llvm::zip(unit.results, call.getResults()))
        values.map(result, value);
    }
    for (OpOperand &operand : terminator->getOpOperands())
      if (!values.contains(operand.get()))
        return terminator->emitOpError() << "returns a value that no unit computes";
      else
        operand.set(values.lookup(operand.get()));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (!isa<CallOp>(op) && &op != terminator && op.use_empty())
        shapes.erase(&op);
    return success();
  }

  unsigned numFunctions = 0;

private:
  FailureOr<func::FuncOp> makeFunction(Unit &unit) {
    SmallVector<Type> argTypes, resultTypes;
    for (Value value : llvm::concat<Value>(unit.inputs, unit.params))
      argTypes.push_back(value.getType());
    for (Value value : unit.results)
      resultTypes.push_back(value.getType());
    OpBuilder inside(module.getContext());
    auto function = func::FuncOp::create(unit.ops.front()->getLoc(), "unit",
                                         FunctionType::get(module.getContext(), argTypes, resultTypes));
    function.setPrivate();
    Block *entry = function.addEntryBlock();
    inside.setInsertionPointToEnd(entry);
    IRMapping mapping;
    for (auto [number, value] : llvm::enumerate(llvm::concat<Value>(unit.inputs, unit.params))) {
      FailureOr<TensorShape> shape = shapes.shapeOf(value);
      if (failed(shape))
        return failure();
      function.setArgAttr(number, dimsAttrName, getDimsAttr(module.getContext(), *shape));
      if (auto read = value.getDefiningOp<GetParamOp>()) {
        auto param = symbols.lookup<ParamOp>(read.getParam());
        function.setArgAttr(number, "braid.param", inside.getUnitAttr());
        if (param && param.getRequiresGrad())
          function.setArgAttr(number, "braid.requires_grad", inside.getUnitAttr());
        paramArgs[read.getParam()] = entry->getArgument(number);
      } else {
        mapping.map(value, entry->getArgument(number));
      }
    }
    for (Operation *op : unit.ops) {
      for (Value operand : op->getOperands())
        cloneSource(operand, inside, mapping);
      Operation *copy = inside.clone(*op, mapping);
      // Equal layers differ in their paths only: what is kept is relative to the unit.
      if (auto path = op->getAttrOfType<StringAttr>(pathAttrName)) {
        std::string plain = stripCalls(path.getValue());
        StringRef relative(plain);
        if (relative.consume_front(unit.path))
          relative.consume_front(".");
        copy->setAttr(pathAttrName, inside.getStringAttr(relative));
      }
      // So do streams, which the call lists.
      if (auto stream = op->getAttrOfType<IntegerAttr>(streamAttrName)) {
        copy->setAttr(streamAttrName, inside.getI64IntegerAttr(unit.streams.size()));
        unit.streams.push_back(stream.getInt());
      }
    }
    if (!unit.streams.empty())
      function->setAttr(streamsAttrName, inside.getI64IntegerAttr(unit.streams.size()));
    SmallVector<Value> results;
    for (auto [number, value] : llvm::enumerate(unit.results)) {
      results.push_back(mapping.lookup(value));
      FailureOr<TensorShape> shape = shapes.shapeOf(value);
      if (failed(shape))
        return failure();
      function.setResultAttr(number, dimsAttrName, getDimsAttr(module.getContext(), *shape));
    }
    func::ReturnOp::create(inside, function.getLoc(), results);

    auto [known, isNew] = byText.try_emplace(textOf(function), function);
    if (!isNew) {
      shapes.erase(function);
      return known->second;
    }
    ++numFunctions;
    function.setName(nameFor(unit));
    symbols.insert(function);
    return function;
  }

  /// Makes a value that every user makes for itself, and what it needs.
  void cloneSource(Value value, OpBuilder &inside, IRMapping &mapping) {
    SmallVector<Value> work = {value};
    while (!work.empty()) {
      Value next = work.back();
      Operation *source = next.getDefiningOp();
      size_t before = work.size();
      if (source && !mapping.contains(next) && isCloned(source)) {
        if (auto read = dyn_cast<GetParamOp>(source)) {
          mapping.map(next, paramArgs[read.getParam()]);
        } else {
          llvm::copy_if(source->getOperands(), std::back_inserter(work), [&](Value operand) {
            return operand.getDefiningOp() && isCloned(operand.getDefiningOp()) && !mapping.contains(operand);
          });
          if (work.size() == before)
            inside.clone(*source, mapping)->removeAttr(pathAttrName);
        }
      }
      if (work.size() == before)
        work.pop_back();
    }
  }

  std::string nameFor(const Unit &unit) {
    if (unit.glue)
      return unit.inputOnly ? "inputs" : unit.path.empty() ? "glue" : lastPart(unit.path).str() + ".glue";
    if (classes)
      if (auto name = classes.getAs<StringAttr>(unit.path))
        return name.str();
    return unit.path;
  }

  ModuleOp module;
  SymbolTable symbols;
  ShapeAnalysis &shapes;
  OpBuilder builder;
  DictionaryAttr classes;
  llvm::StringMap<func::FuncOp> byText;
  llvm::StringMap<Value> paramArgs; // of the unit at hand
};

struct OutlineUnits : impl::OutlineUnitsBase<OutlineUnits> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = module.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !llvm::hasSingleElement(main.getBody())) {
      module.emitError("has no flat @main: run braid-resolve-shapes first");
      return signalPassFailure();
    }
    ShapeAnalysis shapes(module);
    ModuleTree tree(module);
    UnitGraph graph(main.getBody().front(), tree);
    if (!graph.acyclic) {
      main.emitOpError("has units that depend on each other in a cycle: two calls of one module with another between");
      return signalPassFailure();
    }
    Outliner outliner(module, shapes);
    if (failed(outliner.run(main, graph)))
      return signalPassFailure();
    numUnits = graph.units.size();
    numFunctions = outliner.numFunctions;
  }
};
} // namespace
} // namespace braid
