//===- ViewsTest.cpp - Views without the dispatcher -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against ATen's own operators, over random tensors and arguments: the same sizes, strides, offset and memory; and what
// ATen refuses or copies is left to it.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Views.h"
#include "runtime/aten/Convert.h"
#include "runtime/aten/Operator.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <random>

using namespace braid::runtime;

namespace {
class ViewsTest : public testing::Test {
protected:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random); }

  /// Of rank 0 to 4, sometimes with gaps, a permutation, repeated rows or no elements.
  at::Tensor tensor() {
    std::vector<int64_t> sizes(pick(0, 4));
    for (int64_t &size : sizes)
      size = chance(0.05) ? 0 : pick(1, 4);
    at::Tensor result = at::randn(sizes);
    if (result.dim() > 1 && chance(0.4))
      result = result.transpose(pick(0, result.dim() - 1), pick(0, result.dim() - 1));
    if (result.dim() > 0 && chance(0.3))
      result = result.slice(pick(0, result.dim() - 1), pick(0, 1), std::nullopt, pick(1, 2));
    if (chance(0.2)) {
      std::vector<int64_t> more = result.sizes().vec();
      more.insert(more.begin(), pick(1, 3));
      result = result.expand(more);
    }
    return result;
  }

  static std::string list(const std::vector<c10::IValue> &values) {
    std::string text;
    for (const c10::IValue &value : values)
      text += c10::str(value) + " ";
    return text;
  }

  void compare(const char *name, const char *passed, const at::Tensor &self, std::vector<c10::IValue> more) {
    SCOPED_TRACE(testing::Message() << name << " of " << describe(self) << " with " << list(more));
    braid_op op = nullptr;
    ASSERT_EQ(braid_rt_op(name, passed, &op), 0) << braid_rt_message();
    Tensor handle = fromAten(self);
    std::vector<braid_value> values = {{BRAID_TENSOR, 0, {}}};
    values[0].as.tensor = handle.get();
    std::vector<std::vector<int64_t>> lists;
    lists.reserve(more.size());
    torch::jit::Stack stack = {self};
    for (const c10::IValue &value : more) {
      stack.push_back(value);
      braid_value &given = values.emplace_back(braid_value{BRAID_NONE, 0, {}});
      if (value.isInt()) {
        given.tag = BRAID_INT;
        given.as.i = value.toInt();
      } else if (value.isIntList()) {
        lists.push_back(value.toIntVector());
        given.tag = BRAID_INT_LIST;
        given.count = static_cast<int32_t>(lists.back().size());
        given.as.ints = lists.back().data();
      }
    }
    for (size_t place = stack.size(); place < op->handle.schema().arguments().size(); ++place)
      stack.push_back(*op->handle.schema().arguments()[place].default_value());
    BelowAutograd guard;
    std::optional<at::Tensor> view = callView(*op, values.data(), static_cast<int32_t>(values.size()));
    bool refused = false;
    try {
      op->handle.callBoxed(stack);
    } catch (const std::exception &) {
      refused = true;
    }
    if (refused) {
      EXPECT_FALSE(view) << "ATen refuses it";
      return;
    }
    const at::Tensor &expected = stack[0].toTensor();
    if (!view) {
      bool isOurs = name != std::string("aten::reshape") && self.dim() >= 2 && expected.numel();
      EXPECT_FALSE(isOurs) << "left to ATen";
      return;
    }
    ++views;
    EXPECT_EQ(view->sizes(), expected.sizes());
    EXPECT_EQ(view->storage_offset(), expected.storage_offset());
    EXPECT_TRUE(view->is_alias_of(self));
    EXPECT_EQ(view->scalar_type(), expected.scalar_type());
    if (expected.is_alias_of(self))
      EXPECT_EQ(view->strides(), expected.strides());
    else
      ADD_FAILURE() << "ATen copies";
  }

  std::mt19937_64 random{7};
  int views = 0;
};

TEST_F(ViewsTest, AreThoseOfAten) {
  using Ints = std::vector<int64_t>;
  for (int i = 0; i < 2000; ++i) {
    at::Tensor self = tensor();
    int64_t rank = self.dim();
    compare("aten::t", "self", self, {});
    compare("aten::transpose.int", "self,dim0,dim1", self, {pick(-rank - 1, rank), pick(-rank - 1, rank)});
    compare("aten::unsqueeze", "self,dim", self, {pick(-rank - 2, rank + 1)});
    compare("aten::slice.Tensor", "self,dim,start,end,step", self,
            {pick(-rank - 1, rank), chance(0.2) ? c10::IValue() : c10::IValue(pick(-5, 5)),
             chance(0.2) ? c10::IValue() : c10::IValue(pick(-5, 6)), pick(0, 3)});
    Ints shape = self.sizes().vec();
    for (int change = 0; change < 2; ++change) {
      if (shape.size() > 1 && chance(0.5)) { // merge two dims
        size_t at = pick(0, static_cast<int64_t>(shape.size()) - 2);
        shape[at] *= shape[at + 1];
        shape.erase(shape.begin() + at + 1);
      } else if (!shape.empty() && chance(0.5)) { // split one
        size_t at = pick(0, static_cast<int64_t>(shape.size()) - 1);
        if (shape[at] % 2 == 0) {
          shape[at] /= 2;
          shape.insert(shape.begin() + at, 2);
        }
      }
    }
    if (!shape.empty() && chance(0.4))
      shape[pick(0, static_cast<int64_t>(shape.size()) - 1)] = pick(-2, 4);
    compare("aten::reshape", "self,shape", self, {shape});
    Ints wider = self.sizes().vec();
    for (int64_t &size : wider)
      size = chance(0.3) ? -1 : size == 1 ? pick(0, 3) : chance(0.1) ? pick(-2, 4) : size;
    for (int64_t added = pick(0, 2); added > 0; --added)
      wider.insert(wider.begin(), pick(-1, 3));
    compare("aten::expand", "self,size", self, {wider});
    if (HasFailure())
      return;
  }
  EXPECT_GT(views, 5000);
}
} // namespace
