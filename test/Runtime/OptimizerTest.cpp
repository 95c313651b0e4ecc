//===- OptimizerTest.cpp - Updates against torch.optim --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Optimizer.h"
#include "TestFiles.h"
#include "runtime/data/Safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace braid;
using namespace braid::runtime;
using namespace braid::test;

static Tensor toTensor(const std::vector<double> &values, const std::vector<int64_t> &shape) {
  Tensor tensor = Tensor::empty(BRAID_F64, shape);
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(double));
  return tensor;
}

static std::vector<double> toVector(const Tensor &tensor) {
  std::vector<double> values(tensor.numel());
  std::memcpy(values.data(), tensor.data(), tensor.bytes());
  return values;
}

static OptimizerSettings settingsOf(const std::string &name) { return *OptimizerSettings::named(name); }

TEST(Optimizer, FirstStepsInClosedForm) {
  // SGD with weight decay: p - lr (g + wd p). AdamW's first step: p (1 - lr wd) - lr g / (|g| + eps).
  OptimizerSettings sgd = settingsOf("sgd");
  sgd.weightDecay = 0.5;
  Tensor p = toTensor({2}, {1});
  Optimizer(sgd).step({{0, p, toTensor({3}, {1})}});
  EXPECT_DOUBLE_EQ(p.item(), 2 - 0.1 * (3 + 0.5 * 2));
  OptimizerSettings adamw = settingsOf("adamw");
  p = toTensor({2}, {1});
  Optimizer(adamw).step({{0, p, toTensor({-3}, {1})}});
  EXPECT_NEAR(p.item(), 2 * (1 - 1e-3 * 0.01) + 1e-3 * 3 / (3 + 1e-8), 1e-15);
}

TEST(Optimizer, DefaultsArePyTorchs) {
  OptimizerSettings adamw = settingsOf("adamw");
  EXPECT_EQ(adamw.lr, 1e-3);
  EXPECT_EQ(adamw.beta1, 0.9);
  EXPECT_EQ(adamw.beta2, 0.999);
  EXPECT_EQ(adamw.eps, 1e-8);
  EXPECT_EQ(adamw.weightDecay, 0.01);
  EXPECT_EQ(settingsOf("sgd").weightDecay, 0);
  EXPECT_FALSE(OptimizerSettings::named("adam"));
}

TEST(Optimizer, RangesAreChecked) {
  auto broken = [](auto edit) {
    OptimizerSettings settings;
    edit(settings);
    return settings.check();
  };
  EXPECT_TRUE(OptimizerSettings().check());
  EXPECT_FALSE(broken([](OptimizerSettings &s) { s.lr = -1; }));
  EXPECT_FALSE(broken([](OptimizerSettings &s) { s.lr = std::nan(""); }));
  EXPECT_FALSE(broken([](OptimizerSettings &s) { s.beta1 = 1; }));
  EXPECT_FALSE(broken([](OptimizerSettings &s) { s.nesterov = true; }));
  EXPECT_NE(broken([](OptimizerSettings &s) { s.beta2 = 1.5; }).error().find("1.5"), std::string::npos);
}

TEST(Optimizer, EqualsTorchOptim) {
  // Six steps; the second parameter's gradient is missing in steps 2 and 3, so their counts differ.
  TemporaryFolder folder;
  CommandResult python = runPython(folder, R"(
from safetensors.torch import save_file
torch.manual_seed(0)
out = {}
configs = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, foreach=False),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.05, foreach=False),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, foreach=False),
    "adamw": lambda p: torch.optim.AdamW(p, foreach=False),
    "adamw_other": lambda p: torch.optim.AdamW(
        p, lr=3e-2, betas=(0.7, 0.9), eps=1e-4, weight_decay=0.3, foreach=False),
}
start = [torch.randn(5, 7, dtype=torch.float64), torch.randn(11, dtype=torch.float64)]
grads = [[torch.randn_like(p) * 10.0 ** (s - 4) for p in start] for s in range(6)]
for i, p in enumerate(start):
    out[f"start/{i}"] = p.clone()
    for s in range(6):
        out[f"grad/{s}/{i}"] = grads[s][i].clone()
for name, make in configs.items():
    params = [torch.nn.Parameter(p.clone()) for p in start]
    optimizer = make(params)
    for s in range(6):
        for i, p in enumerate(params):
            p.grad = None if i == 1 and s in (2, 3) else grads[s][i].clone()
        optimizer.step()
    for i, p in enumerate(params):
        out[f"{name}/{i}"] = p.detach().clone()
save_file(out, "reference.safetensors")
)");
  if (python.status == 77)
    GTEST_SKIP() << "no torch or safetensors in " << BRAID_TEST_PYTHON << ": " << python.output;
  ASSERT_EQ(python.status, 0) << python.output;

  OptimizerSettings momentum = settingsOf("sgd"), nesterov = momentum, other = settingsOf("adamw");
  momentum.momentum = nesterov.momentum = 0.9;
  momentum.weightDecay = 0.05;
  nesterov.nesterov = true;
  other.lr = 3e-2;
  other.beta1 = 0.7;
  other.beta2 = 0.9;
  other.eps = 1e-4;
  other.weightDecay = 0.3;
  std::pair<const char *, OptimizerSettings> configs[] = {{"sgd", settingsOf("sgd")},
                                                          {"sgd_momentum", momentum},
                                                          {"sgd_nesterov", nesterov},
                                                          {"adamw", settingsOf("adamw")},
                                                          {"adamw_other", other}};
  std::string file = folder / "reference.safetensors";
  std::vector<int64_t> shapes[] = {{5, 7}, {11}};
  for (const auto &[name, settings] : configs) {
    Optimizer optimizer(settings);
    Tensor parameters[2];
    for (int i = 0; i < 2; ++i)
      parameters[i] = toTensor(readTensor(file, "start/" + std::to_string(i)), shapes[i]);
    for (int step = 0; step < 6; ++step) {
      std::vector<Optimizer::Item> items;
      for (int i = 0; i < 2; ++i)
        if (i == 0 || step < 2 || step > 3)
          items.push_back(
              {i, parameters[i],
               toTensor(readTensor(file, "grad/" + std::to_string(step) + "/" + std::to_string(i)), shapes[i])});
      optimizer.step(items);
    }
    for (int i = 0; i < 2; ++i) {
      std::vector<double> got = toVector(parameters[i]), want = readTensor(file, name + ("/" + std::to_string(i)));
      ASSERT_EQ(got.size(), want.size());
      for (size_t j = 0; j < got.size(); ++j)
        EXPECT_NEAR(got[j], want[j], 1e-12 * std::max(1.0, std::abs(want[j]))) << name << " " << i;
    }
  }
}
