//===- ProgramTest.cpp - Compiled programs give ATen's values --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Conversion/Passes.h"
#include "braid/Dialect/Braid/IR/BraidDialect.h"
#include "braid/Dialect/Rt/IR/RtDialect.h"
#include "braid/Dialect/Rt/Transforms/Passes.h"
#include "braid/Target/Executable.h"
#include "braid/Target/OutputFile.h"
#include "runtime/aten/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/csrc/autograd/autograd.h>

#include <atomic>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using braid::runtime::toAten;
using braid::runtime::toHandle;

namespace {

/// Counts the blocks of memory that tensors hold.
struct CountingAllocator : c10::Allocator {
  std::atomic<int> live = 0;
  static CountingAllocator &get() {
    static CountingAllocator allocator;
    return allocator;
  }
  static void release(void *data) {
    --get().live;
    c10::free_cpu(data);
  }
  c10::DataPtr allocate(size_t size) override {
    void *data = c10::alloc_cpu(size);
    live += data != nullptr;
    return {data, data, release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void *to, const void *from, size_t size) const override { default_copy_data(to, from, size); }
};

std::string readPlan() {
  auto file = llvm::MemoryBuffer::getFile(BRAID_TEST_DATA "/plan.json");
  return file ? (*file)->getBuffer().str() : "";
}

/// The input program as a file: linked with `arguments`, with or without main.
std::string compile(StringRef name, bool emitMain, std::vector<std::string> arguments) {
  DialectRegistry registry;
  registry.insert<braid::BraidDialect, braid::rt::RtDialect, arith::ArithDialect, func::FuncDialect,
                  LLVM::LLVMDialect>();
  braid::registerCodegenTranslations(registry);
  MLIRContext context(registry);
  context.allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(BRAID_TEST_DATA "/program.mlir", &context);
  if (!module)
    return "";
  (*module)->setAttr(braid::rt::planAttrName, StringAttr::get(&context, readPlan()));
  PassManager passes(&context);
  passes.addPass(braid::createBraidToRt());
  passes.addPass(braid::rt::createVerifyLifetimes());
  passes.addPass(braid::createRtToLLVM({emitMain}));
  if (failed(passes.run(*module)))
    return "";
  SmallString<128> folder, object;
  llvm::sys::fs::createUniqueDirectory("braid-test", folder);
  object = folder;
  llvm::sys::path::append(object, "program.o");
  FailureOr<SmallVector<char, 0>> code = braid::emitObject(*module, {});
  if (failed(code) || !braid::writeOutput(object, [&](llvm::raw_ostream &os) { os.write(code->data(), code->size()); }))
    return "";
  SmallString<128> output = folder;
  llvm::sys::path::append(output, name);
  braid::LinkOptions options;
  options.arguments = std::move(arguments);
  if (failed(braid::linkExecutable(&context, object, output, options)))
    return "";
  return output.str().str();
}

class Program : public testing::Test {
protected:
  static void SetUpTestSuite() {
    c10::SetCPUAllocator(&CountingAllocator::get(), 100);
    std::string path = compile("program.so", /*emitMain=*/false, {"-shared"});
    ASSERT_FALSE(path.empty());
    library = dlopen(path.c_str(), RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    program = static_cast<const braid_program *>(dlsym(library, "braid_program"));
    ASSERT_TRUE(program);
    ASSERT_EQ(program->initialize(), 0) << braid_rt_message();
    llvm::sys::fs::remove_directories(llvm::sys::path::parent_path(path));
  }

  void SetUp() override {
    at::manual_seed(0);
    for (auto &sizes : std::vector<std::vector<int64_t>>{{3, 3}, {3}, {3, 3}, {3}, {4, 3}})
      inputs.push_back(at::randn(sizes, at::kDouble));
    before = CountingAllocator::get().live;
  }
  /// Nothing that a program made is left once the test has dropped its results, and nothing holds on to its inputs.
  void TearDown() override {
    EXPECT_EQ(CountingAllocator::get().live, before);
    for (const at::Tensor &input : inputs) {
      EXPECT_EQ(input.use_count(), 1u);
      EXPECT_EQ(input.storage().use_count(), 1u);
    }
  }

  static braid_status call(StringRef name, std::vector<int64_t> symbols, const std::vector<at::Tensor> &operands,
                           std::vector<at::Tensor> &results) {
    for (int32_t i = 0; i < program->num_functions; ++i) {
      if (program->functions[i].name != name)
        continue;
      std::vector<braid_tensor> handles, made(results.size(), nullptr);
      for (const at::Tensor &operand : operands)
        handles.push_back(reinterpret_cast<braid_tensor>(operand.unsafeGetTensorImpl()));
      braid_status status = program->functions[i].function(symbols.data(), handles.data(), made.data());
      for (auto [result, handle] : llvm::zip(results, made)) {
        result = toAten(handle);
        braid_rt_release(handle);
      }
      return status;
    }
    ADD_FAILURE() << "no function " << name.str();
    return -1;
  }

  static void *library;
  static const braid_program *program;
  std::vector<at::Tensor> inputs;
  int before = 0;
};
void *Program::library = nullptr;
const braid_program *Program::program = nullptr;

TEST_F(Program, HasPlanAndEntries) {
  EXPECT_EQ(program->abi_version, BRAID_RT_ABI_VERSION);
  EXPECT_EQ(program->plan, readPlan());
  std::vector<std::string> names;
  for (int32_t i = 0; i < program->num_functions; ++i)
    names.push_back(program->functions[i].name);
  EXPECT_EQ(names, (std::vector<std::string>{"stage0_forward", "stage0_backward", "arguments", "merge"}));
}

TEST_F(Program, ForwardAndBackwardEqualAutograd) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor &input : inputs)
    leaves.push_back(input.clone().requires_grad_(true));
  at::Tensor h = at::tanh(at::linear(leaves[4], leaves[0], leaves[1]));
  at::Tensor y = at::tanh(at::linear(h, leaves[2], leaves[3]));
  at::Tensor expected = (at::mish(y) * at::tensor({1.0, 2.0, 0.5}, at::kDouble)).sum() + 4;
  expected.backward();

  std::vector<at::Tensor> forward(4);
  ASSERT_EQ(call("stage0_forward", {4, 3}, inputs, forward), 0) << braid_rt_message();
  EXPECT_TRUE(at::allclose(forward[0], expected.detach(), 1e-14, 0));
  EXPECT_TRUE(forward[3].is_same(inputs[4]));
  EXPECT_GT(CountingAllocator::get().live, before); // the count sees what programs make
  std::vector<at::Tensor> operands(inputs.begin(), inputs.end() - 1), gradients(4);
  operands.insert(operands.end(), forward.begin() + 1, forward.end());
  ASSERT_EQ(call("stage0_backward", {4, 3}, operands, gradients), 0) << braid_rt_message();
  for (size_t i = 0; i < gradients.size(); ++i)
    EXPECT_TRUE(at::allclose(gradients[i], leaves[i].grad(), 1e-12, 1e-14)) << i;
}

TEST_F(Program, PassesEveryKindOfArgument) {
  at::Tensor x = inputs[4], index = at::tensor({2, 0}, at::kLong);
  std::vector<at::Tensor> results(6);
  ASSERT_EQ(call("arguments", {6, 0}, {x, index}, results), 0) << braid_rt_message();
  at::Tensor slice = at::gelu(at::cat({x, x, x}), "tanh").slice(0, 1, 3);
  EXPECT_TRUE(at::equal(results[0], slice));
  EXPECT_TRUE(at::equal(results[1], std::get<0>(slice.max(1)).to(at::kFloat)));
  EXPECT_TRUE(results[2].is_same(x));
  EXPECT_TRUE(at::equal(results[3], at::tensor({1, 0}).to(at::kBool)));
  EXPECT_TRUE(results[4].is_same(results[0]));
  EXPECT_TRUE(at::equal(results[5], x.index_select(1, index)));
}

TEST_F(Program, FailureNamesPathAndLineAndLeavesNothing) {
  std::vector<at::Tensor> results(4);
  EXPECT_NE(call("stage0_forward", {5, 3}, inputs, results), 0);
  std::string message = braid_rt_message();
  // The first layer fails after two operators; the path inside the layer follows the layer's own.
  EXPECT_EQ(message.find("in net.layers.0: aten::reshape in act at modeling.py:12 failed"), 0u) << message;
  EXPECT_NE(message.find("f64[4, 3]"), std::string::npos) << message;
  for (const at::Tensor &result : results)
    EXPECT_FALSE(result.defined());

  // A gradient that fails with other handles alive.
  ASSERT_EQ(call("stage0_forward", {4, 3}, inputs, results), 0) << braid_rt_message();
  std::vector<at::Tensor> operands(inputs.begin(), inputs.end() - 1), gradients(4);
  operands.insert(operands.end(), results.begin() + 1, results.end());
  EXPECT_NE(call("stage0_backward", {5, 3}, operands, gradients), 0);
  message = braid_rt_message();
  EXPECT_EQ(message.find("the gradient of aten::mish at program.mlir:"), 0u) << message;
  for (const at::Tensor &gradient : gradients)
    EXPECT_FALSE(gradient.defined());
}

TEST_F(Program, MergesRowsAndCountsThem) {
  at::Tensor x = inputs[4], mask = at::tensor({0, 1, 0, 1}).to(at::kBool).view({4, 1});
  at::Tensor rows = at::ones({2, 3}, at::kDouble);
  std::vector<at::Tensor> results(1);
  ASSERT_EQ(call("merge", {4, 2}, {x, mask, rows}, results), 0) << braid_rt_message();
  EXPECT_TRUE(at::equal(results[0], at::masked_scatter(x + x, mask, rows)));

  results = std::vector<at::Tensor>(1);
  EXPECT_NE(call("merge", {4, 3}, {x, mask, at::ones({3, 3}, at::kDouble)}, results), 0);
  std::string message = braid_rt_message();
  EXPECT_NE(message.find("in net.merge at modeling.py:31"), std::string::npos) << message;
  EXPECT_NE(message.find("marks 2 places"), std::string::npos) << message;
  EXPECT_NE(message.find("3 rows"), std::string::npos) << message;
}

TEST(Executable, ShowsItsPlan) {
  std::string path = compile("train", /*emitMain=*/true, {});
  ASSERT_FALSE(path.empty());
  std::string log = path + ".log";
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log), std::nullopt};
  EXPECT_EQ(llvm::sys::ExecuteAndWait(path, {path, "--show-plan"}, std::nullopt, redirects), 0);
  auto output = llvm::MemoryBuffer::getFile(log);
  ASSERT_TRUE(static_cast<bool>(output));
  EXPECT_TRUE((*output)->getBuffer().contains("two \\\"layers\\\"")) << (*output)->getBuffer().str();
  llvm::sys::fs::remove_directories(llvm::sys::path::parent_path(path));
}

TEST(Executable, SaysWhyLinkingFailed) {
  MLIRContext context;
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { said = diagnostic.str(); });
  SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("braid-test", folder));
  std::string output = (folder + "/earlier").str();
  ASSERT_TRUE(braid::writeOutput(output, [](llvm::raw_ostream &os) { os << "an earlier program"; }));
  EXPECT_TRUE(failed(braid::linkExecutable(&context, "missing.o", output, {})));
  EXPECT_NE(said.find("missing.o"), std::string::npos) << said;
  EXPECT_NE(said.find("linking '" + output + "' failed"), std::string::npos) << said;
  // The earlier program is still there, and nothing beside it.
  auto kept = llvm::MemoryBuffer::getFile(output);
  ASSERT_TRUE(kept);
  EXPECT_EQ((*kept)->getBuffer(), "an earlier program");
  std::error_code code;
  int files = 0;
  for (llvm::sys::fs::directory_iterator entry(folder, code), end; entry != end && !code; entry.increment(code))
    ++files;
  EXPECT_EQ(files, 1);
  llvm::sys::fs::remove_directories(folder);

  braid::LinkOptions options;
  options.runtimeLibraryDir = "nowhere";
  EXPECT_TRUE(failed(braid::linkExecutable(&context, "missing.o", "missing", options)));
  EXPECT_NE(said.find("BRAID_RUNTIME_DIR"), std::string::npos) << said;
}

} // namespace
