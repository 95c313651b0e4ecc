//===- OperatorTest.cpp - Operator calls through the C ABI ----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace braid::runtime;

namespace {
braid_value value(const at::Tensor &tensor, std::vector<Tensor> &keep) {
  keep.push_back(fromAten(tensor));
  braid_value result{BRAID_TENSOR, 0, {}};
  result.as.tensor = keep.back().get();
  return result;
}
braid_value none() { return {BRAID_NONE, 0, {}}; }
braid_value integer(int64_t i, int tag = BRAID_INT) {
  braid_value result{tag, 0, {}};
  result.as.i = i;
  return result;
}
braid_value real(double d) {
  braid_value result{BRAID_DOUBLE, 0, {}};
  result.as.d = d;
  return result;
}
braid_value string(const char *text) {
  braid_value result{BRAID_STRING, 0, {}};
  result.as.string = text;
  return result;
}
braid_value ints(const std::vector<int64_t> &list) {
  braid_value result{BRAID_INT_LIST, static_cast<int32_t>(list.size()), {}};
  result.as.ints = list.data();
  return result;
}

const braid_site site = {"net.layers.3", "modeling.py", 42};

class OperatorTest : public testing::Test {
protected:
  void SetUp() override { at::manual_seed(1); }

  std::vector<at::Tensor> call(const char *name, const char *arguments, std::vector<braid_value> values,
                               int results = 1) {
    braid_op op = nullptr;
    if (braid_rt_op(name, arguments, &op)) {
      message = braid_rt_message();
      return {};
    }
    std::vector<braid_tensor> handles(results);
    if (braid_rt_call(op, values.data(), static_cast<int32_t>(values.size()), handles.data(), results, &site)) {
      message = braid_rt_message();
      for (braid_tensor handle : handles)
        EXPECT_EQ(handle, nullptr) << "a call that fails has stored no result";
      return {};
    }
    message.clear();
    std::vector<at::Tensor> tensors;
    for (braid_tensor handle : handles)
      tensors.push_back(toAten(Tensor::adopt(handle)));
    return tensors;
  }

  void expectMessage(std::initializer_list<const char *> parts) {
    for (const char *part : parts)
      EXPECT_NE(message.find(part), message.npos) << part << " is not in: " << message;
  }

  braid_value tensor(const at::Tensor &t) { return value(t, keep); }

  std::vector<Tensor> keep;
  std::string message;
};

void expectSame(const std::vector<at::Tensor> &got, const at::Tensor &want) {
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].scalar_type(), want.scalar_type());
  EXPECT_TRUE(at::equal(got[0], want));
}
} // namespace

TEST_F(OperatorTest, ArgumentsByNameAndDefaults) {
  at::Tensor a = at::randn({2, 3}), b = at::randn({2, 3});
  expectSame(call("aten::add.Tensor", "self,other", {tensor(a), tensor(b)}), a + b);
  expectSame(call("aten::add.Tensor", "other,alpha,self", {tensor(b), integer(3), tensor(a)}), a.add(b, 3));
  expectSame(call("aten::softmax.int", "self,dim", {tensor(a), integer(-1)}), a.softmax(-1));
  expectSame(call("aten::gelu", "self,approximate", {tensor(a), string("tanh")}), at::gelu(a, "tanh"));
}

TEST_F(OperatorTest, NumbersConvert) {
  at::Tensor a = at::randn({4}), i = at::arange(4);
  expectSame(call("aten::mul.Scalar", "self,other", {tensor(a), integer(2)}), a * 2);
  expectSame(call("aten::add.Scalar", "self,other", {tensor(i), integer(2)}), i + 2); // stays int64
  expectSame(call("aten::add.Scalar", "self,other", {tensor(i), real(2.5)}), i + 2.5);
  at::Tensor m = at::randn({2, 4});
  expectSame(call("aten::layer_norm", "input,normalized_shape,eps", {tensor(m), ints({4}), integer(1)}),
             at::layer_norm(m, {4}, {}, {}, 1.0));
  expectSame(call("aten::sum.dim_IntList", "self,dim,keepdim", {tensor(m), integer(1), integer(1)}), m.sum(1, true));
  expectSame(call("aten::to.dtype", "self,dtype", {tensor(m), integer(BRAID_F64, BRAID_DTYPE)}), m.to(at::kDouble));
  expectSame(call("aten::arange", "end,dtype,device", {integer(3), integer(BRAID_I32, BRAID_DTYPE), string("cpu")}),
             at::arange(3, at::kInt));
}

TEST_F(OperatorTest, AbsentTensorsAndLists) {
  at::Tensor x = at::randn({1, 2, 5, 5}), w = at::randn({3, 2, 3, 3});
  expectSame(call("aten::conv2d", "input,weight,bias,stride,padding",
                  {tensor(x), tensor(w), none(), integer(1), ints({1, 1})}),
             at::conv2d(x, w, {}, 1, 1));
  braid_value absent{BRAID_TENSOR, 0, {}};
  expectSame(call("aten::linear", "input,weight,bias", {tensor(at::ones({2, 2})), tensor(at::ones({2, 2})), absent}),
             at::full({2, 2}, 2.0));

  at::Tensor a = at::randn({2, 3}), b = at::randn({1, 3});
  Tensor ra = fromAten(a), rb = fromAten(b);
  braid_tensor list[] = {ra.get(), rb.get()};
  braid_value both{BRAID_TENSOR_LIST, 2, {}};
  both.as.tensors = list;
  expectSame(call("aten::cat", "tensors,dim", {both, integer(0)}), at::cat({a, b}, 0));

  at::Tensor index = at::tensor({1, 0, 1}, at::kLong);
  Tensor rindex = fromAten(index);
  braid_tensor places[] = {nullptr, rindex.get()};
  braid_value indices{BRAID_TENSOR_LIST, 2, {}};
  indices.as.tensors = places;
  expectSame(call("aten::index.Tensor", "self,indices", {tensor(a), indices}), a.index_select(1, index));
}

TEST_F(OperatorTest, AttentionWithoutRows) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{0, 0}, {0, 3}, {2, 0}}) {
    at::Tensor query = at::randn({1, 2, queries, 4}, at::kDouble), key = at::randn({1, 2, keys, 4}, at::kDouble);
    std::vector<at::Tensor> results = call("aten::_scaled_dot_product_flash_attention_for_cpu", "query,key,value",
                                           {tensor(query), tensor(key), tensor(key)}, 2);
    // PyTorch's own choice for such sizes is the formula.
    expectSame({results[0]}, std::get<0>(at::_scaled_dot_product_attention_math(query, key, key)));
    EXPECT_EQ(results[1].sizes(), (std::vector<int64_t>{1, 2, queries}));
    std::vector<at::Tensor> gradients = call("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                                             "grad_out,query,key,value,out,logsumexp,dropout_p,is_causal",
                                             {tensor(results[0]), tensor(query), tensor(key), tensor(key),
                                              tensor(results[0]), tensor(results[1]), real(0), integer(0)},
                                             3);
    expectSame({gradients[0]}, at::zeros_like(query));
    expectSame({gradients[1]}, at::zeros_like(key));
    expectSame({gradients[2]}, at::zeros_like(key));
  }
}

TEST_F(OperatorTest, ListResultsCountTheirElements) {
  at::Tensor a = at::randn({6, 2});
  std::vector<at::Tensor> parts = call("aten::split.Tensor", "self,split_size", {tensor(a), integer(2)}, 3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(at::equal(parts[2], a.slice(0, 4, 6)));
  std::vector<at::Tensor> norm = call("aten::native_layer_norm", "input,normalized_shape,weight,bias,eps",
                                      {tensor(a), ints({2}), none(), none(), real(1e-5)}, 3);
  EXPECT_EQ(norm.size(), 3u);
  EXPECT_TRUE(call("aten::split.Tensor", "self,split_size", {tensor(a), integer(3)}, 3).empty());
  expectMessage({"aten::split.Tensor", "it returned 2 tensors where the program expects 3"});
}

TEST_F(OperatorTest, UndefinedResultsAreNull) {
  at::Tensor g = at::randn({2, 3}), x = at::randn({2, 3});
  uint8_t flags[] = {1, 0, 0};
  braid_value mask{BRAID_BOOL_LIST, 3, {}};
  mask.as.bools = flags;
  at::Tensor mean = x.mean(1, true), rstd = (x.var(1, false, true) + 1e-5).rsqrt();
  std::vector<at::Tensor> results =
      call("aten::native_layer_norm_backward", "grad_out,input,normalized_shape,mean,rstd,weight,bias,output_mask",
           {tensor(g), tensor(x), ints({3}), tensor(mean), tensor(rstd), none(), none(), mask}, 3);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].defined());
  EXPECT_FALSE(results[1].defined());
}

TEST_F(OperatorTest, ResultsAreBelowAutograd) {
  at::Tensor a = at::randn({3}).requires_grad_(true);
  std::vector<at::Tensor> result = call("aten::exp", "self", {tensor(a)});
  ASSERT_EQ(result.size(), 1u);
  EXPECT_FALSE(result[0].requires_grad());
}

TEST_F(OperatorTest, FailureNamesOperatorArgumentsModuleAndLine) {
  call("aten::mm", "self,mat2", {tensor(at::zeros({2, 3}, at::kDouble)), tensor(at::zeros({4, 5}, at::kDouble))});
  expectMessage({"aten::mm in net.layers.3 at modeling.py:42 failed", "mat1 and mat2 shapes cannot be multiplied",
                 "self f64[2, 3], mat2 f64[4, 5]"});
  EXPECT_EQ(message.find('\n'), message.npos) << "only ATen's first line: " << message;
  call("aten::mm", "self,mat2", {tensor(at::zeros({2, 3})), integer(7)});
  expectMessage({"aten::mm", "argument 'mat2' cannot be 7"});
  call("aten::mm", "self,mat2", {tensor(at::zeros({2, 3}))});
  expectMessage({"resolved for 2 arguments and called with 1"});
  call("aten::mm", "self,mat2", {tensor(at::zeros({2, 3})), none()});
  EXPECT_NE(message, "");
}

TEST_F(OperatorTest, UnknownOperatorsAndArguments) {
  call("aten::no_such_operator", "self", {});
  expectMessage({"aten::no_such_operator", "this LibTorch has no operator"});
  call("aten::mm", "self,mat3", {});
  expectMessage({"aten::mm has no argument 'mat3'", "aten::mm(Tensor self, Tensor mat2) -> Tensor"});
  call("aten::mm", "self", {});
  expectMessage({"aten::mm needs argument 'mat2'"});
  call("aten::mm", "self,self", {});
  expectMessage({"twice"});
}

TEST_F(OperatorTest, ReferencesAreCounted) {
  at::Tensor a = at::randn({3});
  {
    Tensor handle = fromAten(a);
    EXPECT_EQ(a.use_count(), 2);
    braid_rt_retain(handle.get());
    EXPECT_EQ(a.use_count(), 3);
    braid_rt_release(handle.get());
    Tensor copy = handle;
    EXPECT_EQ(a.use_count(), 3);
  }
  EXPECT_EQ(a.use_count(), 1);
  {
    std::vector<at::Tensor> result = call("aten::contiguous", "self", {tensor(a)});
    keep.clear();
    EXPECT_EQ(a.use_count(), 2) << "the result is the argument itself";
  }
  EXPECT_EQ(a.use_count(), 1);
}

TEST_F(OperatorTest, ConstantsAndScalars) {
  float data[] = {1, 2, 3, 4, 5, 6};
  int64_t sizes[] = {2, 3};
  braid_tensor handle = nullptr;
  ASSERT_EQ(braid_rt_constant(BRAID_F32, 2, sizes, data, &handle), 0);
  EXPECT_TRUE(at::equal(toAten(Tensor::adopt(handle)), at::arange(1, 7, at::kFloat).view({2, 3})));
  ASSERT_EQ(braid_rt_scalar(-5, &handle), 0);
  at::Tensor scalar = toAten(Tensor::adopt(handle));
  EXPECT_EQ(scalar.dim(), 0);
  EXPECT_EQ(scalar.item().toLong(), -5);
  EXPECT_NE(braid_rt_constant(99, 0, nullptr, data, &handle), 0);
}

TEST_F(OperatorTest, CheckRows) {
  Tensor mask = fromAten(at::tensor({1, 0, 1, 1}).to(at::kBool));
  EXPECT_EQ(braid_rt_check_rows(mask.get(), 3, "image rows", &site), 0);
  EXPECT_NE(braid_rt_check_rows(mask.get(), 2, "image rows", &site), 0);
  message = braid_rt_message();
  expectMessage({"image rows", "marks 3", "2 rows", "net.layers.3 at modeling.py:42", "bool[4]"});
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
class GradientTest : public OperatorTest {
protected:
  std::vector<at::Tensor> gradient(const char *name, const char *arguments, std::vector<braid_value> values,
                                   const std::vector<at::Tensor> &cotangents, std::vector<int32_t> wanted) {
    braid_op op = nullptr;
    EXPECT_EQ(braid_rt_op(name, arguments, &op), 0) << braid_rt_message();
    std::vector<Tensor> seeds;
    std::vector<braid_tensor> handles, results(wanted.size());
    for (const at::Tensor &cotangent : cotangents) {
      seeds.push_back(fromAten(cotangent));
      handles.push_back(seeds.back().get());
    }
    if (braid_rt_call_gradient(op, values.data(), static_cast<int32_t>(values.size()), handles.data(),
                               static_cast<int32_t>(handles.size()), wanted.data(), static_cast<int32_t>(wanted.size()),
                               results.data(), &site)) {
      message = braid_rt_message();
      return {};
    }
    std::vector<at::Tensor> tensors;
    for (braid_tensor result : results)
      tensors.push_back(toAten(Tensor::adopt(result)));
    return tensors;
  }
};

bool near(const at::Tensor &a, const at::Tensor &b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && (a - b).abs().max().item().toDouble() < 1e-14;
}
} // namespace

TEST_F(GradientTest, ClosedForms) {
  at::Tensor x = at::randn({3}, at::kDouble), y = at::randn({3}, at::kDouble), g = at::randn({3}, at::kDouble);
  std::vector<at::Tensor> got = gradient("aten::mul.Tensor", "self,other", {tensor(x), tensor(y)}, {g}, {0, 1});
  ASSERT_EQ(got.size(), 2u) << message;
  EXPECT_TRUE(near(got[0], g * y));
  EXPECT_TRUE(near(got[1], g * x));
  got = gradient("aten::sinh", "self", {tensor(x)}, {g}, {0});
  EXPECT_TRUE(near(got[0], g * x.cosh()));
  EXPECT_FALSE(got[0].requires_grad());
  EXPECT_FALSE(x.requires_grad()) << "the argument itself is left alone";
}

TEST_F(GradientTest, WantedCountsTheElementsOfLists) {
  at::Tensor a = at::randn({2}, at::kDouble), b = at::randn({3}, at::kDouble), g = at::randn({5}, at::kDouble);
  Tensor ra = fromAten(a), rb = fromAten(b);
  braid_tensor list[] = {ra.get(), rb.get()};
  braid_value both{BRAID_TENSOR_LIST, 2, {}};
  both.as.tensors = list;
  std::vector<at::Tensor> got = gradient("aten::cat", "tensors,dim", {both, integer(0)}, {g}, {1});
  ASSERT_EQ(got.size(), 1u) << message;
  EXPECT_TRUE(near(got[0], g.slice(0, 2, 5)));
}

TEST_F(GradientTest, ZerosWhereAutogradGivesNone) {
  at::Tensor x = at::randn({3}, at::kDouble), g = at::randn({3}, at::kDouble);
  // Two results, the cotangent of the one that depends on x is absent.
  std::vector<at::Tensor> got = gradient("aten::sort", "self", {tensor(x)}, {at::Tensor(), at::Tensor()}, {0});
  ASSERT_EQ(got.size(), 1u) << message;
  EXPECT_TRUE(near(got[0], at::zeros({3}, at::kDouble)));
  got =
      gradient("aten::floor_divide", "self,other", {tensor(at::arange(3)), tensor(at::ones({3}, at::kLong))}, {g}, {0});
  ASSERT_EQ(got.size(), 1u) << message;
  EXPECT_TRUE(at::equal(got[0], at::zeros({3}, at::kLong))) << "integers have no gradient";
  got = gradient("aten::sort", "self", {tensor(x)}, {g, at::Tensor()}, {0});
  at::Tensor want = at::zeros({3}, at::kDouble);
  want.scatter_(0, std::get<1>(x.sort()), g);
  EXPECT_TRUE(near(got[0], want));
}

TEST_F(GradientTest, FailureSaysThatItIsTheGradient) {
  gradient("aten::mm", "self,mat2", {tensor(at::zeros({2, 3})), tensor(at::zeros({4, 5}))}, {at::zeros({2, 5})}, {0});
  expectMessage({"the gradient of aten::mm in net.layers.3 at modeling.py:42 failed", "self f32[2, 3]"});
  gradient("aten::exp", "self", {tensor(at::zeros({2}))}, {at::zeros({2})}, {3});
  expectMessage({"wanted for tensor 3 of 1"});
}
