//===- GradientStructureTest.cpp - How gradients are put together ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What schedules rely on: the gradients of parameters can be computed later than those of inputs, and the latter keep
// no large tensor for its shape alone. And what gradient rules refuse, they refuse with a word on what to do.
//
//===----------------------------------------------------------------------===//

#include <ATen/ATen.h>

#include "GradientHarness.h"

#include "braid/Dialect/Braid/IR/Random.h"

#include "mlir/IR/Diagnostics.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace braid;
using namespace braid::test;

namespace {

Differentiated differentiateAll(const Case &test) {
  Program program = buildProgram(test, /*symbolic=*/false);
  std::vector<at::Tensor> cotangents;
  for (const at::Tensor &result : runReference(test).results)
    cotangents.push_back(cotangents.size() < test.results ? at::ones_like(result.detach()) : at::Tensor());
  return differentiate(program, program.wanted, cotangents);
}

/// The gradient ops that a value is made of, without sizes.
llvm::DenseSet<Operation *> backwardSlice(Value value, const llvm::DenseSet<Operation *> &forward) {
  llvm::DenseSet<Operation *> ops;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || forward.contains(op) || isa<IndexType>(op->getResult(0).getType()) || !ops.insert(op).second)
      continue;
    work.append(op->operand_begin(), op->operand_end());
  }
  return ops;
}

std::vector<Value> gradientsOf(Differentiated &differentiated) {
  OperandRange returned = differentiated.program.function.getBody().front().getTerminator()->getOperands();
  OperandRange gradients = returned.take_back(llvm::count(differentiated.present, true));
  return std::vector<Value>(gradients.begin(), gradients.end());
}

TEST(GradientStructureTest, ParametersWaitForNothingOfInputs) {
  for (std::vector<Case> family : {contractionCases(), normAttentionCases()})
    for (const Case &test : family) {
      if (!StringRef("linear addmm mm matmul convolution layer_norm native_layer_norm").contains(test.op))
        continue;
      SCOPED_TRACE(testing::PrintToString(test));
      Differentiated all = differentiateAll(test);
      std::vector<Value> gradients = gradientsOf(all);
      ASSERT_FALSE(gradients.empty());
      llvm::DenseSet<Operation *> ofInput = backwardSlice(gradients.front(), all.forward);
      for (Value other : ArrayRef(gradients).drop_front())
        for (Operation *op : backwardSlice(other, all.forward))
          // A vector's cotangent as a matrix is a view.
          EXPECT_TRUE(!ofInput.contains(op) || isa<UnsqueezeOp>(op)) << op->getName().getStringRef().str();
    }
}

/// Whether the gradient of the first operand reads `argument` or a value of the forward computation made of it.
bool reads(const Case &test, unsigned argument) {
  Program program = buildProgram(test, /*symbolic=*/false);
  std::vector<at::Tensor> cotangents;
  for (const at::Tensor &result : program.run())
    cotangents.push_back(cotangents.size() < test.results ? at::ones_like(result) : at::Tensor());
  Differentiated one = differentiate(program, {0}, cotangents);
  Value read = one.program.function.getArgument(argument);
  for (Operation *op : backwardSlice(gradientsOf(one).front(), one.forward))
    if (llvm::is_contained(op->getOperands(), read))
      return true;
  return false;
}

TEST(GradientStructureTest, NothingIsKeptForItsShape) {
  auto list = [](std::vector<Operand> operands) { return operands; };
  std::vector<Case> tests = {
      {"linear", {x({2, 3}), x({4, 3})}},
      {"convolution",
       {x({2, 3, 5, 4}), x({4, 3, 2, 2}), none, sizes({1, 1}), sizes({0, 0}), sizes({1, 1}), b(false), sizes({0, 0}),
        i(1)}},
      {"matmul", {x({2, 3}), x({3, 4})}},
      {"embedding", {x({5, 3}), indices({1, 4}, {2})}},
      {"sum_dim", {x({2, 3}), ints({1})}},
      {"mean", {x({2, 3})}},
      {"expand", {x({1, 3}), sizes({2, 3})}},
      {"slice", {x({5, 3}), i(0), i(1), i(3), i(1)}},
      {"select", {x({5, 3}), i(0), i(1)}},
      {"index", {x({5, 3}), list({indices({1, 4}, {2})})}},
      {"cat", {list({x({2, 3}), x({2, 3})})}},
      {"add", {x({2, 3}), x({3})}},
      {"softmax", {x({2, 3}), i(-1)}},
      {"log_softmax", {x({2, 3}), i(-1)}},
      {"tanh", {x({2, 3})}},
      {"sigmoid", {x({2, 3})}},
      {"relu", {x({2, 3})}},
      {"exp", {x({2, 3})}},
      {"sqrt", {positive({2, 3})}},
      {"rsqrt", {positive({2, 3})}},
      {"masked_fill_scalar", {x({2, 3}), mask({1, 0, 1}, {3}), i(0)}},
  };
  for (const Case &test : tests)
    EXPECT_FALSE(reads(test, 0)) << "the gradient of the first operand of " << test.op << " reads the operand itself";
  EXPECT_TRUE(reads({"silu", {x({2, 3})}}, 0)) << "or else the test above cannot fail";
}

TEST(GradientStructureTest, DropoutDropsInItsGradientWhatItDropped) {
  Program program = buildProgram({"dropout", {x({2, 3}), f(0.5), b(true)}}, false);
  auto dropout = *program.function.getOps<DropoutOp>().begin();
  Builder builder(&context());
  dropout->setAttr(streamAttrName, builder.getI64IntegerAttr(3));
  dropout->setAttr(samplesAttrName, builder.getStrArrayAttr({"1", "2"}));
  Differentiated one = differentiate(program, {0}, {at::ones({2, 3}, at::kDouble)});
  std::vector<Value> gradients = gradientsOf(one);
  ASSERT_EQ(gradients.size(), 1u);
  auto again = gradients.front().getDefiningOp<DropoutOp>();
  ASSERT_TRUE(again);
  EXPECT_FALSE(one.forward.contains(again));
  EXPECT_FALSE(one.forward.contains(again.getInput().getDefiningOp())) << "no mask is kept";
  EXPECT_EQ(again->getAttrDictionary(), dropout->getAttrDictionary());
}

TEST(GradientStructureTest, RefusesStatisticsAsValues) {
  Program program = buildProgram({"native_layer_norm", {x({2, 3}), sizes({3}), none, none, f(1e-5)}}, false);
  std::string text;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    text += diagnostic.str();
    return success();
  });
  EXPECT_THROW(differentiate(program, {0}, {at::Tensor(), at::ones({2, 1}, at::kDouble)}), std::runtime_error);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "used as values", text);
}

} // namespace
