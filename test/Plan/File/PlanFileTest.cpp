//===- PlanFileTest.cpp - plan.yaml, good and bad -------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/PlanFile.h"
#include "braid/Plan/Support/Text.h"

#include <gtest/gtest.h>

using namespace braid::plan;

static const char *const everything = R"(inputs:
  input_ids:  {dims: [batch, seq], collate: pad(0)}
  pixel_values: {dims: [patches, 32], collate: concat(0)}
  cu_seqlens: {dims: [segments], collate: offsets(pixel_values)}
components:
  vision:   {modules: [net.model.vision_tower, net.model.multi_modal_projector], mesh: {ranks: [0-3], axes: {dp: 4}}, frozen: false}
  language: {modules: ["*"], mesh: {ranks: [4, 5, 6-7], axes: {pp: 2, tp: 2}}, layout: {sequence_parallel: true}}
schedule:  {kind: 1f1b, microbatches: 8, directions: 1, async: false}
balance:   {kind: entrain}
precision: {compute: bf16, master: fp32}
recompute: {language: selective}
optimizer: {kind: adamw, lr: 1.0e-3, betas: [0.9, 0.999], eps: 1.0e-8, weight_decay: 0.01, clip: 1.0, schedule: {kind: cosine, warmup: 100}, zero: 1}
)";

// What a plan does not say is the runtime's default of the kind, which is PyTorch's: a decay of 0.01 for AdamW.
TEST(PlanFile, LeavesTheOptimizersDefaultsToTheRuntime) {
  Result<PlanFile> plan = parsePlan("optimizer: {kind: adamw}\n", "plan.yaml");
  ASSERT_TRUE(plan && plan->optimizer);
  EXPECT_FALSE(plan->optimizer->lr);
  EXPECT_FALSE(plan->optimizer->weightDecay);
}

TEST(PlanFile, ReadsEveryKey) {
  Result<PlanFile> plan = parsePlan(everything, "plan.yaml");
  ASSERT_TRUE(plan) << plan.error();
  ASSERT_EQ(plan->inputs.size(), 3u);
  EXPECT_EQ(plan->inputs[0].name, "input_ids");
  EXPECT_EQ(plan->inputs[0].dims[1].str(), "seq");
  EXPECT_EQ(plan->inputs[0].collate->kind, CollateRule::Kind::Pad);
  EXPECT_EQ(plan->inputs[1].dims[1].constant(), 32);
  EXPECT_EQ(plan->inputs[2].collate->kind, CollateRule::Kind::Offsets);
  EXPECT_EQ(plan->inputs[2].collate->input, "pixel_values");
  ASSERT_EQ(plan->components.size(), 2u);
  EXPECT_EQ(plan->components[0].mesh->ranks, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(plan->components[1].mesh->ranks, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(plan->components[1].mesh->axes[0], std::make_pair(std::string("pp"), 2));
  EXPECT_EQ(plan->components[1].mesh->axis("tp"), 2);
  EXPECT_EQ(plan->components[1].mesh->axis("cp"), 1);
  EXPECT_TRUE(plan->components[1].sequenceParallel);
  EXPECT_EQ(plan->schedule->kind, "1f1b");
  EXPECT_EQ(plan->schedule->microbatches, 8);
  EXPECT_EQ(plan->balance, "entrain");
  EXPECT_EQ(plan->computePrecision, "bf16");
  EXPECT_EQ(plan->masterPrecision, "fp32");
  EXPECT_EQ(plan->recompute[0].policy, "selective");
  EXPECT_FALSE(plan->schedule->recomputeEarly);
  EXPECT_EQ(plan->optimizer->lr, 1e-3);
  EXPECT_EQ(plan->optimizer->betas->second, 0.999);
  EXPECT_EQ(plan->optimizer->schedule.kind, "cosine");
  EXPECT_EQ(plan->optimizer->schedule.warmup, 100);
  EXPECT_EQ(plan->optimizer->zero, 1);
  EXPECT_EQ(plan->componentOf("net.model.vision_tower.layers.0")->name, "vision");
  EXPECT_EQ(plan->componentOf("net.model.vision_towers")->name, "language");
  EXPECT_EQ(plan->componentOf("")->name, "language");
}

TEST(PlanFile, OptimizerGroups) {
  Result<PlanFile> plan =
      parsePlan("optimizer: {kind: sgd, momentum: 0.9, nesterov: true, accumulate: 4, groups: "
                "[{parameters: ['**.bias', net.embed], weight_decay: 0}, {parameters: net, lr: 2}]}",
                "plan.yaml");
  ASSERT_TRUE(plan) << plan.error();
  const PlanOptimizer &optimizer = *plan->optimizer;
  EXPECT_TRUE(optimizer.nesterov);
  EXPECT_EQ(optimizer.accumulate, 4);
  EXPECT_FALSE(optimizer.lr || optimizer.weightDecay || optimizer.eps) << "what is absent stays so";
  ASSERT_EQ(optimizer.groups.size(), 2u);
  EXPECT_EQ(optimizer.groups[0].parameters[1].text, "net.embed");
  EXPECT_EQ(optimizer.groups[0].weightDecay, 0);
  EXPECT_FALSE(optimizer.groups[0].lr);
  EXPECT_EQ(optimizer.groups[1].parameters[0].text, "net");
  EXPECT_EQ(optimizer.groups[1].lr, 2);
}

TEST(PlanFile, Seed) {
  EXPECT_EQ(parsePlan("{}", "plan.yaml")->seed, 0);
  EXPECT_EQ(parsePlan("seed: 9007199254740993", "plan.yaml")->seed, 9007199254740993) << "no double holds it";
}

// The model's inputs are known later: a rule may speak of one that the plan does not list.
TEST(PlanFile, RulesMayNameInputsThatAreNotListed) {
  Result<PlanFile> plan = parsePlan("inputs: {cu: {collate: offsets(pixels)}}", "plan.yaml");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->inputs[0].collate->input, "pixels");
}

TEST(PlanFile, EveryKeyIsOptional) {
  for (const char *text : {"", "---\n", "{}", "# nothing\n", "schedule:\n", "inputs: {}\ncomponents: {}\n"}) {
    Result<PlanFile> plan = parsePlan(text, "plan.yaml");
    EXPECT_TRUE(plan) << text << ": " << plan.error();
  }
  EXPECT_EQ(parsePlan("components: {a: {modules: m, mesh: {ranks: 3}}}", "p")->components[0].mesh->axes[0].second, 1);
}

TEST(PlanFile, ErrorsSayWhereAndWhat) {
  struct Case {
    std::string text;
    const char *where;
    std::vector<const char *> words;
  };
  const std::vector<Case> cases = {
      {"schedul: {kind: 1f1b}", "plan.yaml:1:1: ", {"unknown key 'schedul'", "did you mean 'schedule'?"}},
      {"schedule:\n  microbatch: 4", "plan.yaml:2:3: ", {"'microbatch'", "did you mean 'microbatches'?"}},
      {"schedule: {kind: 1f1c}", "plan.yaml:1:18: ", {"unknown schedule kind '1f1c'", "'1f1b'"}},
      {"schedule: {microbatches: 0}", "plan.yaml:1:26: ", {"between 1 and"}},
      {"schedule: {microbatches: many}", "plan.yaml:1:26: ", {"whole number", "'many'"}},
      {"schedule: {async: yes please}", "plan.yaml:1:19: ", {"true or false"}},
      {"schedule: {kind: amdp}", "plan.yaml:1:18: ", {"one step old", "async: true"}},
      {"schedule: {kind: 2bw}", "plan.yaml:1:18: ", {"one step old", "async: true"}},
      {"schedule: {kind: search}", "plan.yaml:1:18: ", {"unknown schedule kind 'search'"}},
      {"schedule: [1f1b]", "plan.yaml:1:11: ", {"must be a map", "a list"}},
      {"components: {v: {mesh: {ranks: [0-3]}}}", "plan.yaml:1:14: ", {"names no modules"}},
      {"components: {v: {modules: m, mesh: {ranks: [0, 2, 1-3], axes: {dp: 4}}}}",
       "plan.yaml:1:51: ",
       {"rank 2 comes twice"}},
      {"components: {v: {modules: m, mesh: {ranks: [3-1]}}}", "plan.yaml:1:45: ", {"runs backwards"}},
      {"components: {v: {modules: m, mesh: {ranks: [-1]}}}", "plan.yaml:1:45: ", {"'-1' is no rank"}},
      {"components: {v: {modules: m, mesh: {ranks: [a]}}}", "plan.yaml:1:45: ", {"'a' is no rank"}},
      {"components: {v: {modules: m, mesh: {ranks: [0-99999999]}}}", "plan.yaml:1:45: ", {"too large"}},
      {"components: {v: {modules: m, mesh: {ranks: []}}}", "plan.yaml:1:44: ", {"has no ranks"}},
      {"components: {v: {modules: m, mesh: {axes: {dp: 2}}}}", "plan.yaml:1:36: ", {"has no ranks"}},
      {"components: {v: {modules: m, mesh: {ranks: [0-3], axes: {dp: 2, tp: 3}}}}",
       "plan.yaml:1:57: ",
       {"has 4 ranks", "dp 2 x tp 3 make 6"}},
      {"components: {v: {modules: m, mesh: {ranks: [0-3], axes: {pd: 4}}}}",
       "plan.yaml:1:58: ",
       {"unknown axis 'pd'", "did you mean"}},
      {"components: {v: {modules: m, layout: {sequence: true}}}", "plan.yaml:1:39: ", {"sequence_parallel"}},
      {"components: {v: {modules: [{}]}}", "plan.yaml:1:28: ", {"must be a word"}},
      {"components:\n  v: {modules: m}\n  v: {modules: n}", "plan.yaml:3:3: ", {"'v' comes twice"}},
      {"inputs: {x: {dims: [seq +]}}", "plan.yaml:1:21: ", {"no size expression"}},
      {"inputs: {x: {dims: seq}}", "plan.yaml:1:20: ", {"must be a list"}},
      {"inputs: {x: {collate: stak}}", "plan.yaml:1:23: ", {"'stak'", "did you mean 'stack'?"}},
      {"inputs: {x: {collate: pad(x)}}", "plan.yaml:1:23: ", {"needs the number"}},
      {"inputs: {x: {collate: offsets}}", "plan.yaml:1:23: ", {"needs the input"}},
      {"precision: {compute: bf61}", "plan.yaml:1:22: ", {"'bf61'", "did you mean 'bf16'?"}},
      {"recompute: {x: some}", "plan.yaml:1:16: ", {"unknown recompute policy", "selective"}},
      {"recompute: some", "plan.yaml:1:12: ", {"unknown recompute policy", "selective"}},
      {"schedule: {recompute: late}", "plan.yaml:1:23: ", {"place of recomputation", "with_backward"}},
      {"balance: {kind: entrian}", "plan.yaml:1:17: ", {"did you mean 'entrain'?"}},
      {"optimizer: {lr: fast}", "plan.yaml:1:17: ", {"must be a number"}},
      {"optimizer: {lr: -1}", "plan.yaml:1:17: ", {"at least 0"}},
      {"optimizer: {betas: [0.9]}", "plan.yaml:1:20: ", {"two numbers"}},
      {"optimizer: {betas: [0.9, 1.5]}", "plan.yaml:1:26: ", {"between 0 and 1"}},
      {"optimizer: {betas: [1, 0.9]}", "plan.yaml:1:21: ", {"must be below 1"}},
      {"optimizer: {betas: [0.9, -0.1]}", "plan.yaml:1:26: ", {"between 0 and 1"}},
      {"optimizer: {lr: inf}", "plan.yaml:1:17: ", {"must be a number, and is 'inf'"}},
      {"optimizer: {lr: .inf}", "plan.yaml:1:17: ", {"must be a number, and is '.inf'"}},
      {"optimizer: {lr: 1e400}", "plan.yaml:1:17: ", {"must be a number, and is '1e400'"}},
      {"optimizer: {clip: nan}", "plan.yaml:1:19: ", {"must be a number, and is 'nan'"}},
      {"schedule: {microbatches: 65537}", "plan.yaml:1:26: ", {"between 1 and 65536"}},
      {"schedule: {microbatches: 99999999999999999999}", "plan.yaml:1:26: ", {"must be a whole number"}},
      {std::string("\xFF\xFE\0", 3), "plan.yaml:1:1: ", {"no text in UTF-8"}},
      {std::string("\xFE\xFF\0a", 4), "plan.yaml:1:1: ", {"no text in UTF-8"}},
      {std::string("a: b\nc: \0", 9), "plan.yaml:2:4: ", {"no text in UTF-8"}},
      {"\xC3\xA9: \xC3", "plan.yaml:1:4: ", {"no text in UTF-8"}},
      {"\xC0\x80: 1", "plan.yaml:1:1: ", {"no text in UTF-8"}},
      {"\xED\xA0\x80: 1", "plan.yaml:1:1: ", {"no text in UTF-8"}},
      {"optimizer: {nesterov: true}", "plan.yaml:1:23: ", {"belongs to sgd", "the optimizer is adamw"}},
      {"optimizer: {kind: sgd, nesterov: true}", "plan.yaml:1:34: ", {"needs a momentum above 0"}},
      {"optimizer: {kind: adamw, momentum: 0.9}", "plan.yaml:1:36: ", {"belongs to sgd"}},
      {"optimizer: {betas: [0.9, 0.99], kind: sgd}", "plan.yaml:1:20: ", {"belongs to adamw", "is sgd"}},
      {"optimizer: {kind: sgd, eps: 1e-6}", "plan.yaml:1:29: ", {"belongs to adamw"}},
      {"optimizer: {schedule: {kind: constant, steps: 5}}", "plan.yaml:1:47: ", {"choose kind: linear or cosine"}},
      {"optimizer: {schedule: {kind: linear, warmup: 6, steps: 5}}", "plan.yaml:1:56: ", {"6 of 5 steps"}},
      {"optimizer: {accumulate: 0}", "plan.yaml:1:25: ", {"between 1 and"}},
      {"optimizer: {groups: {lr: 1}}", "plan.yaml:1:21: ", {"must be a list"}},
      {"optimizer: {groups: [{lr: 1}]}", "plan.yaml:1:22: ", {"names no parameters"}},
      {"optimizer: {groups: [{parameters: a}]}", "plan.yaml:1:22: ", {"sets nothing"}},
      {"optimizer: {groups: [{parameters: a, lr: -1}]}", "plan.yaml:1:42: ", {"at least 0"}},
      {"optimizer: {groups: [{parameter: a, lr: 1}]}", "plan.yaml:1:23: ", {"did you mean 'parameters'?"}},
      {"optimizer: {zero: 4}", "plan.yaml:1:19: ", {"between 0 and 3"}},
      {"optimizer: {wieght_decay: 0.1}", "plan.yaml:1:13: ", {"did you mean 'weight_decay'?"}},
      {"seed: -1", "plan.yaml:1:7: ", {"between 0 and"}},
      {"seed: 1.5", "plan.yaml:1:7: ", {"whole number"}},
      {"a: {", "plan.yaml:", {"no YAML"}},
      {"x: *unknown", "plan.yaml:1:", {"no YAML"}},
      {"{}\n---\n{}", "plan.yaml:", {"one YAML document"}},
      {",: {", "plan.yaml:1:1: ", {"one YAML document"}},
      {"just words", "plan.yaml:1:1: ", {"must be a map"}},
  };
  for (const Case &test : cases) {
    Result<PlanFile> plan = parsePlan(test.text, "plan.yaml");
    ASSERT_FALSE(plan) << test.text;
    EXPECT_EQ(plan.error().rfind(test.where, 0), 0u) << test.where << " does not start:\n" << plan.error();
    for (const char *word : test.words)
      EXPECT_NE(plan.error().find(word), std::string::npos) << "'" << word << "' is not in:\n" << plan.error();
  }
}

TEST(PlanFile, MissingFileIsNamed) {
  EXPECT_NE(readPlan("no/such/plan.yaml").error().find("no/such/plan.yaml"), std::string::npos);
}

TEST(Text, PatternsNameModulesAndWhatIsBelow) {
  EXPECT_TRUE(matchesModule("*", ""));
  EXPECT_TRUE(matchesModule("*", "a.b.c"));
  EXPECT_TRUE(matchesModule("net.model", "net.model"));
  EXPECT_TRUE(matchesModule("net.model", "net.model.layers.0"));
  EXPECT_FALSE(matchesModule("net.model", "net.models"));
  EXPECT_FALSE(matchesModule("net.model", "net"));
  EXPECT_TRUE(matchesModule("net.layers.*.mlp", "net.layers.3.mlp.fc1"));
  EXPECT_FALSE(matchesModule("net.layers.*.mlp", "net.layers.3.attention.mlp"));
  EXPECT_TRUE(matchesModule("net.**.mlp", "net.layers.3.attention.mlp"));
  EXPECT_TRUE(matchesModule("**.fc*", "a.b.fc1"));
  EXPECT_TRUE(matchesModule("**.fc*", "a.fc2.bias"));
  EXPECT_FALSE(matchesModule("**.fc*", "a.b.gc1"));
  EXPECT_TRUE(matchesModule("*.fc*", "a.fc1"));
  EXPECT_FALSE(matchesModule("*.fc*", "a.b.fc1"));
  EXPECT_TRUE(matchesModule("**.a*b.c", "x.ab.a1b.c"));
  EXPECT_FALSE(matchesModule("", "a"));
}

/// Every pattern over a small alphabet against a matcher that tries all ways.
static bool slowMatch(std::string_view pattern, std::string_view text) {
  if (pattern.empty())
    return text.empty() || text[0] == '.';
  if (pattern.starts_with("**"))
    return slowMatch(pattern.substr(2), text) || (!text.empty() && slowMatch(pattern, text.substr(1)));
  if (pattern[0] == '*')
    return slowMatch(pattern.substr(1), text) ||
           (!text.empty() && text[0] != '.' && slowMatch(pattern, text.substr(1)));
  return !text.empty() && text[0] == pattern[0] && slowMatch(pattern.substr(1), text.substr(1));
}

TEST(Text, PatternsAgreeWithExhaustiveSearch) {
  auto words = [](const std::string &letters, int most) {
    std::vector<std::string> all = {""}, last = {""};
    for (int length = 1; length <= most; ++length) {
      std::vector<std::string> next;
      for (const std::string &word : last)
        for (char letter : letters)
          next.push_back(word + letter);
      all.insert(all.end(), next.begin(), next.end());
      last = next;
    }
    return all;
  };
  for (const std::string &pattern : words("a.*", 6)) {
    if (pattern.empty() || pattern == "*" || pattern == "**" || pattern.find("***") != std::string::npos)
      continue;
    for (const std::string &text : words("a.", 6))
      ASSERT_EQ(matchesModule(pattern, text), slowMatch(pattern, text)) << pattern << " against " << text;
  }
}

TEST(Text, NearestWord) {
  EXPECT_EQ(nearest("recv", {"send", "receive", "recv_f"}), "recv_f");
  EXPECT_EQ(nearest("tp", {"dp", "pp", "tp"}), "tp");
  EXPECT_EQ(nearest("Optimizer", {"optimizer"}), "optimizer");
  EXPECT_EQ(nearest("zebra", {"apple", "orange"}), "");
  EXPECT_EQ(withModules({"a.b.c", "a.d"}), (std::vector<std::string>{"a", "a.b", "a.b.c", "a.d"}));
  EXPECT_EQ(editDistance("ab", "ba"), 1);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3);
}
