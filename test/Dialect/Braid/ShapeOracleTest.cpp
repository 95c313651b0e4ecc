//===- ShapeOracleTest.cpp - Shape rules against ATen -------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every typed op, over many random calls: the shape rule must give the shapes and dtypes that ATen gives, and refuse
// what ATen refuses. Then once more with a name for every size: what the rule infers must be right for the sizes of the
// example, and for any others that fulfil the guards. The calls are the same in every run; BRAID_ORACLE_SEED=N makes
// others.
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

#include "../../lib/Evaluator.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace braid::oracle {

//===----------------------------------------------------------------------===//
// Braid's side
//===----------------------------------------------------------------------===//

MLIRContext &context() {
  static MLIRContext *shared = [] {
    auto *context = new MLIRContext(MLIRContext::Threading::DISABLED);
    context->loadDialect<BraidDialect, func::FuncDialect, arith::ArithDialect>();
    return context;
  }();
  return *shared;
}

static const std::pair<c10::ScalarType, Type> *types() {
  static const std::pair<c10::ScalarType, Type> table[] = {
      {c10::kBool, IntegerType::get(&context(), 1)},
      {c10::kByte, IntegerType::get(&context(), 8, IntegerType::Unsigned)},
      {c10::kChar, IntegerType::get(&context(), 8)},
      {c10::kShort, IntegerType::get(&context(), 16)},
      {c10::kInt, IntegerType::get(&context(), 32)},
      {c10::kLong, IntegerType::get(&context(), 64)},
      {c10::kHalf, Float16Type::get(&context())},
      {c10::kBFloat16, BFloat16Type::get(&context())},
      {c10::kFloat, Float32Type::get(&context())},
      {c10::kDouble, Float64Type::get(&context())}};
  return table;
}
static Type toType(c10::ScalarType dtype) {
  return std::find_if(types(), types() + 10, [&](const auto &entry) { return entry.first == dtype; })->second;
}
static c10::ScalarType toDtype(Type type) {
  auto *at = std::find_if(types(), types() + 10, [&](const auto &entry) { return entry.second == type; });
  return at == types() + 10 ? c10::ScalarType::Undefined : at->first;
}

/// A result of either side.
struct Result {
  Sizes sizes;
  c10::ScalarType dtype;
  bool operator==(const Result &other) const { return sizes == other.sizes && dtype == other.dtype; }
};
static std::ostream &operator<<(std::ostream &stream, const Result &result) {
  return stream << c10::toString(result.dtype) << c10::IntArrayRef(result.sizes);
}

/// What a shape rule says: shapes over the symbols, or its error.
struct Inferred {
  std::vector<TensorShape> shapes;
  std::vector<Guard> guards;
  std::string error;
};

/// Names for sizes: size 5 of the example is s5_0, s5_1, ..., a new one each time.
struct Naming {
  bool on = false;
  std::map<std::string, int64_t> examples;

  Expr name(int64_t size) {
    if (!on || size < 2)
      return Expr(size);
    std::string symbol = "s" + std::to_string(size) + "_" + std::to_string(examples.size());
    examples[symbol] = size;
    return Expr::symbol(symbol);
  }
};

static TensorShape shapeFor(const Tensor &tensor, Naming &naming) {
  TensorShape shape{{}, toType(tensor.dtype)};
  for (int64_t size : tensor.sizes)
    shape.dims.push_back(naming.name(size));
  return shape;
}

static Inferred infer(StringRef opName, const Args &args, Naming &naming) {
  Inferred inferred;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    inferred.error += diagnostic.str() + "\n";
    return success();
  });
  OpBuilder builder(&context());
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);

  std::vector<TensorShape> operands;
  for (const Arg &arg : args) {
    if (const auto *tensor = std::get_if<Tensor>(&arg))
      operands.push_back(shapeFor(*tensor, naming));
    else if (const auto *list = std::get_if<std::vector<std::optional<Tensor>>>(&arg))
      for (const auto &entry : *list)
        if (entry)
          operands.push_back(shapeFor(*entry, naming));
  }
  SmallVector<Type> operandTypes;
  for (const TensorShape &shape : operands)
    operandTypes.push_back(shape.toType());
  builder.setInsertionPointToStart(module->getBody());
  auto function = func::FuncOp::create(builder, loc, "f", builder.getFunctionType(operandTypes, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);

  OperationName name(("braid." + opName).str(), &context());
  ArrayRef<ArgSpec> specs = name.getInterface<AtenOpInterface>()->getArgSpecs();
  // Sizes among the arguments are named too, before the analysis reads the examples.
  SmallVector<SmallVector<Expr>> named;
  for (auto [at, arg] : llvm::enumerate(args)) {
    named.emplace_back();
    if (const auto *list = std::get_if<Sizes>(&arg); list && specs[at].kind == ArgKind::SymIntList)
      for (int64_t size : *list)
        named.back().push_back(naming.name(size));
  }
  SmallVector<NamedAttribute> examples;
  for (const auto &[symbol, size] : naming.examples)
    examples.push_back(builder.getNamedAttr(symbol, builder.getI64IntegerAttr(size)));
  (*module)->setAttr(symbolsAttrName, builder.getDictionaryAttr(examples));
  ShapeAnalysis shapes(*module);
  for (auto [value, shape] : llvm::zip(block->getArguments(), operands))
    shapes.setShape(value, shape);

  unsigned next = 0;
  SmallVector<ArgValue> values;
  for (auto [at, arg] : llvm::enumerate(args)) {
    bool isList = specs[at].kind == ArgKind::SymIntList;
    values.push_back(std::visit(
        llvm::makeVisitor(
            [&](std::monostate) { return ArgValue(); },
            [&](const Tensor &) { return ArgValue(Value(block->getArgument(next++))); },
            [&](const std::vector<std::optional<Tensor>> &list) {
              ArgValue::Tensors tensors;
              for (const auto &entry : list)
                tensors.push_back(entry ? Value(block->getArgument(next++)) : Value());
              return ArgValue(tensors);
            },
            [&](const Number &number) {
              return std::visit(
                  llvm::makeVisitor(
                      [&](bool value) { return ArgValue(Attribute(builder.getBoolAttr(value))); },
                      [&](int64_t value) { return ArgValue(Attribute(builder.getI64IntegerAttr(value))); },
                      [&](double value) { return ArgValue(Attribute(builder.getF64FloatAttr(value))); }),
                  number);
            },
            [&](int64_t value) { return ArgValue(Attribute(builder.getI64IntegerAttr(value))); },
            [&](double value) { return ArgValue(Attribute(builder.getF64FloatAttr(value))); },
            [&](bool value) { return ArgValue(Attribute(builder.getBoolAttr(value))); },
            [&](const std::string &value) { return ArgValue(Attribute(builder.getStringAttr(value))); },
            [&](c10::ScalarType value) { return ArgValue(Attribute(TypeAttr::get(toType(value)))); },
            [&](const Sizes &list) {
              return isList ? ArgValue(shapes.materialize(builder, loc, named[at]))
                            : ArgValue(Attribute(builder.getDenseI64ArrayAttr(list)));
            },
            [&](const std::vector<bool> &list) {
              return ArgValue(Attribute(builder.getDenseBoolArrayAttr(SmallVector<bool>(list.begin(), list.end()))));
            }),
        arg));
  }
  FailureOr<Operation *> op = buildAtenOp(builder, loc, name, values, shapes);
  if (failed(op)) {
    if (inferred.error.empty())
      inferred.error = "failed without an error";
    return inferred;
  }
  for (Value result : (*op)->getResults())
    inferred.shapes.push_back(*shapes.shapeOf(result));
  inferred.guards = shapes.getGuards();
  return inferred;
}

/// The shapes for given sizes of the symbols.
static std::vector<Result> evaluate(const Inferred &inferred, const std::map<std::string, int64_t> &symbols) {
  std::vector<Result> results;
  for (const TensorShape &shape : inferred.shapes) {
    Result result{{}, toDtype(shape.elementType)};
    for (const Expr &dim : shape.dims)
      result.sizes.push_back(dim.evaluate(symbols).value_or(-999));
    results.push_back(result);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// ATen's side
//===----------------------------------------------------------------------===//

static at::Tensor makeTensor(const Tensor &tensor) { return at::full(tensor.sizes, tensor.fill, tensor.dtype); }

static c10::IValue toIValue(const Arg &arg) {
  return std::visit(llvm::makeVisitor([](std::monostate) { return c10::IValue(); },
                                      [](const Tensor &tensor) { return c10::IValue(makeTensor(tensor)); },
                                      [](const std::vector<std::optional<Tensor>> &list) {
                                        c10::List<std::optional<at::Tensor>> tensors;
                                        for (const auto &entry : list)
                                          tensors.push_back(entry ? std::optional(makeTensor(*entry)) : std::nullopt);
                                        return c10::IValue(tensors);
                                      },
                                      [](const Number &number) {
                                        return std::visit([](auto value) { return c10::IValue(value); }, number);
                                      },
                                      [](const Sizes &list) { return c10::IValue(c10::IntArrayRef(list)); },
                                      [](const std::vector<bool> &list) {
                                        c10::List<bool> flags;
                                        for (bool flag : list)
                                          flags.push_back(flag);
                                        return c10::IValue(flags);
                                      },
                                      [](const auto &value) { return c10::IValue(value); }),
                    arg);
}

/// Deprecations and degenerate variances are no news here.
struct Silence : c10::WarningHandler {
  void process(const c10::Warning &) override {}
};

struct Reference {
  std::vector<std::optional<Result>> results; // nothing for a result that nobody may use
  std::string error;
};

static Reference callReference(StringRef opName, const Args &args) {
  OperationName name(("braid." + opName).str(), &context());
  auto *interface = name.getInterface<AtenOpInterface>();
  ArrayRef<ArgSpec> specs = interface->getArgSpecs();
  Reference reference;
  Silence silence;
  c10::WarningUtils::WarningHandlerGuard quiet(&silence);
  try {
    at::AutoDispatchBelowADInplaceOrView belowAutograd;
    auto value = [&](StringRef argument) -> std::optional<c10::IValue> {
      for (size_t at = 0; at < args.size(); ++at) {
        if (specs[at].name != argument || std::holds_alternative<std::monostate>(args[at]))
          continue;
        if (specs[at].kind == ArgKind::TensorList) {
          c10::List<at::Tensor> tensors;
          for (const auto &entry : std::get<std::vector<std::optional<Tensor>>>(args[at]))
            tensors.push_back(makeTensor(*entry));
          return tensors;
        }
        return toIValue(args[at]);
      }
      return std::nullopt;
    };
    for (const at::Tensor &tensor : test::callAten(interface->getAtenName(), value))
      reference.results.push_back(tensor.defined() ? std::optional(Result{tensor.sizes().vec(), tensor.scalar_type()})
                                                   : std::nullopt);
    // What a mask leaves out is undefined or, from some kernels, anything.
    if (!args.empty())
      if (const auto *mask = std::get_if<std::vector<bool>>(&args.back()))
        for (size_t at = 0; at < mask->size(); ++at)
          if (!(*mask)[at])
            reference.results[at].reset();
  } catch (const c10::Error &error) {
    reference.error = error.what_without_backtrace();
  } catch (const std::exception &error) {
    reference.error = error.what();
  }
  return reference;
}

/// Kernels that are missing for a dtype, and values that ATen finds out of range, are nothing that shapes tell.
static bool isAboutShapes(const std::string &error) {
  for (const char *other : {"not implemented for", "not supported for", "out of range", "out of bounds",
                            "cannot be converted to type", "INTERNAL ASSERT"})
    if (error.find(other) != std::string::npos)
      return false;
  return true;
}

/// Where braid refuses more than ATen: results whose size depends on data, dtypes that some kernels do not compare, and
/// what no kernel looks at since there is nothing to compute.
static bool isStricter(const std::string &error, bool empty) {
  auto has = [&](const char *text) { return error.find(text) != std::string::npos; };
  if (empty && has("'braid.scaled_dot_product_attention'"))
    return true; // no path of it is taken
  return has("depends on data") || has("one element type") || (empty && (has("takes floats") || has("takes 'index'")));
}

static bool hasEmpty(const Args &args) {
  return llvm::any_of(args, [](const Arg &arg) {
    const auto *tensor = std::get_if<Tensor>(&arg);
    return tensor && llvm::is_contained(tensor->sizes, 0);
  });
}

static bool hasMask(const Args &args) {
  return llvm::any_of(args, [](const Arg &arg) {
    const auto *list = std::get_if<std::vector<std::optional<Tensor>>>(&arg);
    return list && llvm::any_of(*list, [](const std::optional<Tensor> &entry) {
             return entry && (entry->dtype == c10::kBool || entry->dtype == c10::kByte);
           });
  });
}

static bool agree(const std::vector<Result> &results, const Reference &reference) {
  if (results.size() != reference.results.size())
    return false;
  for (auto [result, expected] : llvm::zip(results, reference.results))
    if (expected && !(result == *expected))
      return false;
  return true;
}

static std::string describe(StringRef op, const Args &args) {
  std::ostringstream stream;
  stream << op.str() << "(";
  auto print = [&](const Tensor &tensor) { stream << Result{tensor.sizes, tensor.dtype}; };
  for (auto [at, arg] : llvm::enumerate(args)) {
    stream << (at ? ", " : "");
    std::visit(llvm::makeVisitor([&](std::monostate) { stream << "none"; }, print,
                                 [&](const std::vector<std::optional<Tensor>> &list) {
                                   stream << "{";
                                   for (const auto &entry : list) {
                                     stream << " ";
                                     entry ? print(*entry) : void(stream << "none");
                                   }
                                   stream << " }";
                                 },
                                 [&](const Number &number) {
                                   std::visit([&](auto value) { stream << std::boolalpha << value; }, number);
                                 },
                                 [&](const Sizes &list) { stream << c10::IntArrayRef(list); },
                                 [&](const std::vector<bool> &list) {
                                   for (bool flag : list)
                                     stream << flag;
                                 },
                                 [&](c10::ScalarType dtype) { stream << c10::toString(dtype); },
                                 [&](const auto &value) { stream << std::boolalpha << value; }),
               arg);
  }
  stream << ")";
  return stream.str();
}

template <typename T> static std::string list(const T &results) {
  std::ostringstream stream;
  for (const auto &result : results)
    if constexpr (std::is_same_v<std::decay_t<decltype(result)>, Result>)
      stream << result << " ";
    else if (result)
      stream << *result << " ";
    else
      stream << "undefined ";
  return stream.str();
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

static std::vector<Generator> allGenerators() {
  std::vector<Generator> all;
  for (auto family :
       {elementwiseGenerators, reductionGenerators, viewGenerators, contractionGenerators, normAttentionGenerators,
        recurrentGenerators, poolingGenerators, gatherScatterGenerators, creationGenerators, lossGenerators})
    llvm::append_range(all, family());
  return all;
}

class ShapeOracle : public testing::TestWithParam<Generator> {};

/// The same call with other sizes: equal ones stay equal.
static Args withSizes(Args args, const std::map<int64_t, int64_t> &other, ArrayRef<ArgSpec> specs) {
  auto map = [&](Sizes &sizes) {
    for (int64_t &size : sizes)
      if (size >= 2)
        size = other.at(size);
  };
  for (auto [at, arg] : llvm::enumerate(args)) {
    if (auto *tensor = std::get_if<Tensor>(&arg))
      map(tensor->sizes);
    else if (auto *list = std::get_if<std::vector<std::optional<Tensor>>>(&arg))
      for (auto &entry : *list)
        if (entry)
          map(entry->sizes);
    if (auto *sizes = std::get_if<Sizes>(&arg); sizes && specs[at].kind == ArgKind::SymIntList)
      map(*sizes);
  }
  return args;
}

TEST_P(ShapeOracle, AgreesWithATen) {
  const Generator &generator = GetParam();
  OperationName name(("braid." + std::string(generator.op)), &context());
  ArrayRef<ArgSpec> specs = name.getInterface<AtenOpInterface>()->getArgSpecs();
  const char *seed = std::getenv("BRAID_ORACLE_SEED");
  Random random(std::hash<std::string_view>()(generator.op) + (seed ? std::strtoull(seed, nullptr, 10) : 0));
  int accepted = 0, other = 0;
  const int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    Args args = generator.generate(random);
    std::string call = describe(generator.op, args);
    Reference reference = callReference(generator.op, args);
    Naming constant;
    Inferred inferred = infer(generator.op, args, constant);
    if (!reference.error.empty()) {
      // Whether values fit a mask depends on what is in it.
      bool fitsMask = hasMask(args) && reference.error.find("shape mismatch: value tensor") != std::string::npos;
      if (isAboutShapes(reference.error) && !fitsMask) {
        ASSERT_FALSE(inferred.error.empty())
            << call << "\nbraid gives " << list(evaluate(inferred, {})) << "\nATen: " << reference.error;
      }
      continue;
    }
    if (isStricter(inferred.error, hasEmpty(args)))
      continue;
    ASSERT_TRUE(inferred.error.empty()) << call << "\nbraid: " << inferred.error << "ATen gives "
                                        << list(reference.results);
    ASSERT_TRUE(agree(evaluate(inferred, {}), reference))
        << call << "\nbraid gives " << list(evaluate(inferred, {})) << "\nATen gives " << list(reference.results);
    ++accepted;

    // With names, at the example.
    Naming naming;
    naming.on = true;
    Inferred symbolic = infer(generator.op, args, naming);
    ASSERT_TRUE(symbolic.error.empty()) << call << " with named sizes\nbraid: " << symbolic.error;
    std::string shapes;
    for (const TensorShape &shape : symbolic.shapes)
      shapes += str(shape) + " ";
    for (const Guard &guard : symbolic.guards)
      ASSERT_TRUE(guard.holds(naming.examples)) << call << " assumes " << guard.str();
    ASSERT_TRUE(agree(evaluate(symbolic, naming.examples), reference))
        << call << " with named sizes\nbraid gives " << shapes << "\nATen gives " << list(reference.results);

    // And elsewhere, where the guards hold.
    std::map<int64_t, int64_t> sizes;
    std::map<std::string, int64_t> symbols;
    for (int64_t size = 2; size < 2000; ++size)
      sizes[size] = random.between(2, 9);
    for (const auto &[symbol, size] : naming.examples)
      symbols[symbol] = sizes[size];
    bool holds = llvm::all_of(symbolic.guards, [&](const Guard &guard) { return guard.holds(symbols); });
    if (!holds)
      continue;
    Args moved = withSizes(args, sizes, specs);
    Reference elsewhere = callReference(generator.op, moved);
    if (!elsewhere.error.empty())
      continue; // an operator may refuse a batch: nothing wrong comes of it
    std::string guards;
    for (const Guard &guard : symbolic.guards)
      guards += guard.str() + "; ";
    ASSERT_TRUE(agree(evaluate(symbolic, symbols), elsewhere))
        << call << " inferred " << shapes << "if " << guards << "\nbut " << describe(generator.op, moved) << " is "
        << list(elsewhere.results);
    ++other;
  }
  // A generator that makes nothing but errors tests nothing.
  EXPECT_GT(accepted, trials / 8) << generator.op;
  RecordProperty("accepted", accepted);
  RecordProperty("other_sizes", other);
}

INSTANTIATE_TEST_SUITE_P(Ops, ShapeOracle, testing::ValuesIn(allGenerators()),
                         [](const auto &test) { return std::string(test.param.op); });

TEST(ShapeOracleTable, NamesEveryTypedOp) {
  std::set<std::string> tested;
  for (const Generator &generator : allGenerators())
    tested.insert(generator.op);
  for (RegisteredOperationName name : context().getRegisteredOperations()) {
    auto *interface = name.getInterface<AtenOpInterface>();
    if (!interface || !interface->getAtenName().starts_with("aten::"))
      continue;
    EXPECT_TRUE(tested.count(name.stripDialect().str())) << name.getStringRef().str() << " has no generator";
  }
}

} // namespace braid::oracle
