//===- ImportTorchScript.cpp - TorchScript to braid -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Archive.h"
#include "ImportError.h"
#include "InputDims.h"
#include "Interpreter.h"
#include "OutlineModules.h"
#include "Types.h"
#include "Weights.h"

#include "braid/Import/Import.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <torch/csrc/jit/serialization/import.h>

using namespace mlir;

namespace braid {

using namespace torchscript;

namespace {
/// One model file, imported as often as its input dims need it.
class Importer {
public:
  Importer(MLIRContext &context, const ImportOptions &options)
      : context(context), options(options), loc(FileLineColLoc::get(&context, options.file, 0, 0)), current(loc) {}

  OwningOpRef<ModuleOp> run(ImportReport &report);

private:
  void load();
  void matchInputs();
  OwningOpRef<ModuleOp> importOnce(const InputDims &dims, ImportReport &report, std::vector<Guard> &guards);
  Value checkLoss(Emitter &emitter, const Item &result);

  MLIRContext &context;
  const ImportOptions &options;
  Location loc;
  std::shared_ptr<Archive> archive;
  std::optional<torch::jit::Module> model;
  std::vector<const InputSpec *> inputs;  // in the order of forward's arguments; null: the argument's default
  std::vector<const InputSpec *> tensors; // without the nulls, and with what forward() does not take
  Emitter *running = nullptr;             // the one whose module path a diagnostic is about
  Location current;                       // the line that it was at when it stopped
};
} // namespace

void Importer::load() {
  archive = Archive::open(options.file);
  try {
    model = torch::jit::load(archive, c10::kCPU, /*load_debug_files=*/true);
    model->get_method("forward").graph(); // compiles what the file holds as text
  } catch (const std::exception &error) {
    throw ImportError(options.file + ": LibTorch cannot read this file: " + firstLine(error));
  }
}

/// "'ids', 'mask'".
template <typename Range> static std::string listNames(const Range &names) {
  std::string text;
  for (const auto &name : names)
    text += (text.empty() ? "'" : ", '") + std::string(name) + "'";
  return text.empty() ? "none" : text;
}

void Importer::matchInputs() {
  const c10::FunctionSchema &schema = model->get_method("forward").function().getSchema();
  std::vector<std::string> wanted, given;
  for (const c10::Argument &argument : llvm::drop_begin(schema.arguments()))
    wanted.push_back(argument.name());
  for (const InputSpec &input : options.inputs)
    given.push_back(input.name);
  for (const auto &[name, input] : llvm::zip(given, options.inputs))
    if (!llvm::is_contained(wanted, name) && !input.divides) {
      auto nearest = llvm::min_element(wanted, [&](const std::string &a, const std::string &b) {
        return StringRef(name).edit_distance(a) < StringRef(name).edit_distance(b);
      });
      throw ImportError(options.file + ": the model has no input '" + name + "'; its inputs are " + listNames(wanted) +
                        (nearest == wanted.end() ? "" : "; did you mean '" + *nearest + "'?"));
    }
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    auto found = llvm::find_if(options.inputs, [&](const InputSpec &input) { return input.name == argument.name(); });
    if (found == options.inputs.end()) {
      if (!argument.default_value())
        throw ImportError(options.file + ": the model's input '" + argument.name() + "' is missing" +
                          (given.empty()
                               ? "; give a batch with --example FILE, safetensors with step0/" + argument.name()
                               : "; the example gives " + listNames(given)));
      inputs.push_back(nullptr);
      continue;
    }
    if (argument.type()->kind() != c10::TypeKind::TensorType && !c10::TensorType::get()->isSubtypeOf(*argument.type()))
      throw ImportError(options.file + ": the model's input '" + argument.name() + "' is a " + argument.type()->str() +
                        "; braid feeds tensors only, so trace the model with tensors as inputs");
    if (found->example.empty() && !found->dims.empty())
      throw ImportError(
          options.file + ": input '" + found->name +
          "' has no example, and sizes are found by running one; give a batch with --example FILE that has it");
    inputs.push_back(&*found);
    tensors.push_back(&*found);
  }
  for (const InputSpec &input : options.inputs)
    if (!llvm::is_contained(wanted, input.name))
      tensors.push_back(&input);
}

/// Erases what nothing uses, last first.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

Value Importer::checkLoss(Emitter &emitter, const Item &result) {
  Item loss = result;
  while (loss.tuple() && loss.tuple()->items.size() == 1)
    loss = loss.tuple()->items[0];
  auto describe = [&](const Item &item) -> std::string {
    if (!item.isTensor())
      return kindName(item);
    TensorShape shape = emitter.shapeOf(*item.tensor());
    return typeName(shape.elementType) + str(shape);
  };
  std::string text = describe(loss);
  const TupleItem *tuple = loss.tuple();
  if (const ListItem *list = loss.list(); list || tuple) {
    text = list ? "a list of" : "a tuple of";
    for (const Item &item : list ? list->items : tuple->items)
      text += " " + describe(item);
  }
  if (loss.isTensor()) {
    TensorShape shape = emitter.shapeOf(*loss.tensor());
    if (shape.rank() == 0 && isa<FloatType>(shape.elementType))
      return emitter.read(*loss.tensor());
  }
  emitter.fail("forward() returns " + text +
               "; it must return the loss, one scalar floating-point tensor: wrap "
               "the model so that it computes the loss and returns that alone");
}

/// The value of a buffer after forward(), as an op of its own: not a parameter, constant or input as it came.
static Value checkState(Emitter &emitter, ParamOp param, Tensor &last) {
  TensorShape shape = emitter.shapeOf(last);
  RankedTensorType type = param.getTensorType();
  if (shape.toType() != type)
    emitter.fail("buffer '" + param.getSymName().str() + "' is " + typeName(type.getElementType()) +
                 str(TensorShape{llvm::map_to_vector<4>(type.getShape(), [](int64_t size) { return Expr(size); }),
                                 type.getElementType()}) +
                 " and forward() leaves " + typeName(shape.elementType) + str(shape) +
                 " in it; keep its type and shape");
  Value value = emitter.read(last);
  if (Operation *op = value.getDefiningOp(); op && !isa<GetParamOp, ConstantOp, ScalarTensorOp>(op))
    return value;
  return emitter.create("aten::reshape",
                        {value, emitter.shapes.materialize(emitter.builder, emitter.getLoc(), shape.dims)});
}

OwningOpRef<ModuleOp> Importer::importOnce(const InputDims &dims, ImportReport &report, std::vector<Guard> &guards) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  Builder attrs(&context);
  SmallVector<NamedAttribute> symbols;
  for (const auto &[name, size] : dims.getSymbols())
    symbols.push_back(attrs.getNamedAttr(name, attrs.getI64IntegerAttr(size)));
  (*module)->setAttr(symbolsAttrName, attrs.getDictionaryAttr(symbols));

  SmallVector<Type> types;
  SmallVector<Attribute> argAttrs;
  for (auto [number, input] : llvm::enumerate(tensors)) {
    TensorShape shape{dims.dimsOf(number), input->elementType};
    types.push_back(shape.toType());
    argAttrs.push_back(attrs.getDictionaryAttr({attrs.getNamedAttr(inputAttrName, attrs.getStringAttr(input->name)),
                                                attrs.getNamedAttr(dimsAttrName, getDimsAttr(&context, shape))}));
  }
  Weights weights(*module, archive, *model, options.file);
  OpBuilder builder(&context);
  builder.setInsertionPointToEnd(module->getBody());
  auto main = func::FuncOp::create(builder, loc, "main", builder.getFunctionType(types, {}));
  main.setAllArgAttrs(argAttrs);
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToStart(body);

  Emitter emitter(*module, builder, weights);
  running = &emitter;
  llvm::scope_exit stopRunning([&] {
    current = emitter.getLoc();
    running = nullptr;
  });
  Aten aten(emitter, report);
  Interpreter interpreter(emitter, aten);
  std::vector<Item> items;
  const c10::FunctionSchema &schema = model->get_method("forward").function().getSchema();
  unsigned number = 0;
  for (auto [position, input] : llvm::enumerate(inputs))
    items.push_back(input ? Item(emitter.makeTensor(body->getArgument(number++)))
                          : Item(*schema.arguments()[position + 1].default_value()));
  SmallVector<Value> results = {checkLoss(emitter, interpreter.run(*model, std::move(items)))};
  SmallVector<DictionaryAttr> resultAttrs = {attrs.getDictionaryAttr({})};
  for (auto &[param, last] : interpreter.updatedBuffers()) {
    if (std::string other = weights.sharerOf(param); !other.empty())
      emitter.fail("updates the buffer '" + param.getSymName().str() + "', which shares memory with '" + other +
                   "'; give each its own with clone(), or use one of them in both places");
    results.push_back(checkState(emitter, param, *last));
    resultAttrs.push_back(attrs.getDictionaryAttr(
        attrs.getNamedAttr(stateAttrName, FlatSymbolRefAttr::get(&context, param.getSymName()))));
  }
  func::ReturnOp::create(emitter.builder, results.front().getLoc(), results);
  main.setFunctionType(builder.getFunctionType(types, TypeRange(results)));
  main.setAllResultAttrs(resultAttrs);
  eraseDeadOps(*body);
  report.operations = llvm::range_size(*body) - 1;
  if (failed(outlineModules(main, emitter.calls, emitter.shapes)))
    throw ImportError::reported();
  emitter.shapes.storeGuards();
  guards = emitter.shapes.getGuards();
  llvm::append_range(report.remarks, weights.remarks);
  llvm::append_range(report.remarks, emitter.remarks);
  report.moduleCalls = llvm::range_size(module->getOps<func::FuncOp>()) - 1;
  report.parameters = weights.size();
  if (failed(verify(*module)))
    throw ImportError::reported();
  return module;
}

/// One remark for all sizes that are fixed: the first ones with their reasons.
static std::string describe(ArrayRef<std::string> fixings) {
  constexpr size_t most = 4;
  std::string text = "fixes the size" + std::string(fixings.size() == 1 ? " " : "s ");
  text += llvm::join(fixings.take_front(most), "; ");
  return fixings.size() > most ? text + "; and " + std::to_string(fixings.size() - most) + " more" : text;
}

OwningOpRef<ModuleOp> Importer::run(ImportReport &report) {
  load();
  matchInputs();
  InputDims dims(tensors, options.symbolicDims);
  std::vector<std::string> decisions, fixings;
  std::vector<Diagnostic> firstFailure;
  static constexpr int maxRounds = 32;
  for (int round = 0, failures = 0;; ++round) {
    std::vector<Diagnostic> diagnostics;
    current = loc;
    std::vector<Guard> guards;
    ImportReport attempt;
    OwningOpRef<ModuleOp> module;
    {
      ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
        if (running && !running->getPath().empty() && diagnostic.str().find(running->getPath()) == std::string::npos)
          diagnostic.attachNote() << "in module " << running->getPath();
        diagnostics.push_back(std::move(diagnostic));
        return success();
      });
      try {
        module = importOnce(dims, attempt, guards);
      } catch (const ImportError &error) {
        if (error.what()[0])
          emitError(current) << error.what();
      } catch (const std::exception &error) {
        emitError(current) << "LibTorch fails on this model: " << firstLine(error);
      }
    }
    if (module) {
      if (round < maxRounds && dims.refine(guards, fixings))
        continue;
    } else {
      std::string why = diagnostics.empty() ? "" : diagnostics.front().str();
      if (failures < 3 && dims.fixAfterFailure(failures++)) {
        decisions.push_back("more sizes are fixed to the example's, because otherwise import fails: " + why);
        if (firstFailure.empty())
          firstFailure = std::move(diagnostics);
        continue;
      }
      // The same failure is better told with symbols than with the example's sizes.
      if (!firstFailure.empty() && !diagnostics.empty() &&
          firstFailure.front().getLocation() == diagnostics.front().getLocation())
        diagnostics = std::move(firstFailure);
    }
    for (Diagnostic &diagnostic : diagnostics)
      context.getDiagEngine().emit(std::move(diagnostic));
    if (module) {
      report = std::move(attempt);
      if (!fixings.empty())
        decisions.insert(decisions.begin(), describe(fixings));
      report.remarks.insert(report.remarks.begin(), decisions.begin(), decisions.end());
    }
    return module;
  }
}

OwningOpRef<ModuleOp> importTorchScript(MLIRContext &context, const ImportOptions &options, ImportReport *report) {
  context.loadDialect<BraidDialect, func::FuncDialect, arith::ArithDialect>();
  ImportReport ignored;
  Location loc = FileLineColLoc::get(&context, llvm::sys::path::filename(options.file), 0, 0);
  try {
    return Importer(context, options).run(report ? *report : ignored);
  } catch (const ImportError &error) {
    emitError(loc) << error.what();
  } catch (const std::exception &error) {
    emitError(loc) << options.file << ": " << firstLine(error);
  }
  return nullptr;
}

std::string describeOpaqueOperators(const ImportReport &report) {
  if (report.opaque.empty())
    return "every operator has a typed op\n";
  std::string text;
  for (const ImportReport::OpaqueOperator &op : report.opaque) {
    text += op.name + ", " + std::to_string(op.uses.size()) + (op.uses.size() == 1 ? " time\n" : " times\n");
    for (const ImportReport::Use &use : op.uses)
      text += "  " + (use.path.empty() ? "the model" : use.path) + (use.site.empty() ? "" : " at " + use.site) + "\n";
  }
  return text;
}

std::string summarizeOpaqueOperators(const ImportReport &report) {
  size_t count = report.opaque.size();
  return count ? std::to_string(count) + (count == 1 ? " operator has" : " operators have") +
                     " no typed op; --report-opaque lists them\n"
               : "";
}

} // namespace braid
