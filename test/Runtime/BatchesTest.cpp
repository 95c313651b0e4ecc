//===- BatchesTest.cpp - Dividing and refusing batches --------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Batches.h"
#include "TestFiles.h"
#include "runtime/core/Text.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace braid;
using namespace braid::runtime;
using namespace braid::test;

static plan::Expr expr(const char *text) { return *plan::Expr::parse(text); }
static const plan::CollateRule stack, shared = *plan::CollateRule::parse("shared");

namespace {
/// Inputs ids [batch, seq] and mask [batch, seq + 1], a shared table [seq, 4], and a guard on seq.
class BatchesTest : public testing::Test {
protected:
  BatchesTest() {
    program.symbols = {"batch", "seq"};
    program.inputs = {{"ids", BRAID_F64, {expr("batch"), expr("seq")}, stack},
                      {"mask", BRAID_F64, {expr("batch"), expr("seq + 1")}, stack},
                      {"table", BRAID_F64, {expr("seq"), expr("4")}, shared}};
    program.microbatches = 2;
  }

  std::string divideError(std::vector<std::vector<int64_t>> shapes) {
    plan::Result<std::vector<MicroBatch>> result = divide(program, shapes);
    return result ? "" : result.error();
  }
  void expectPart(const std::string &error, const std::string &part) {
    EXPECT_NE(error.find(part), error.npos) << "not '" << part << "' but: " << error;
  }
  std::string openError(const std::vector<NamedTensor> &tensors, int64_t steps = 0) {
    writeTensors(folder / "batch.safetensors", tensors);
    plan::Result<Batches> batches = Batches::open(program, folder / "batch.safetensors", steps);
    return batches ? "" : batches.error();
  }
  static NamedTensor tensor(const std::string &name, std::vector<int64_t> shape) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= static_cast<size_t>(size);
    return {name, shape, numbers(name.size(), count)};
  }

  Program program;
  TemporaryFolder folder;
};
} // namespace

TEST_F(BatchesTest, DividesSamplesAndBindsSymbols) {
  plan::Result<std::vector<MicroBatch>> result = divide(program, {{5, 3}, {5, 4}, {3, 4}});
  ASSERT_TRUE(result) << result.error();
  ASSERT_EQ(result->size(), 2u);
  EXPECT_EQ((*result)[0].begin, 0);
  EXPECT_EQ((*result)[0].samples, 3);
  EXPECT_EQ((*result)[0].symbols, (std::vector<int64_t>{3, 3}));
  EXPECT_EQ((*result)[1].begin, 3);
  EXPECT_EQ((*result)[1].samples, 2);
  EXPECT_EQ((*result)[1].symbols, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(*evaluate(program, {expr("batch*seq"), expr("seq + 1")}, (*result)[1]), (std::vector<int64_t>{6, 4}));
}

TEST_F(BatchesTest, RefusesShapesThatDoNotFit) {
  expectPart(divideError({{4, 3, 1}, {4, 4}, {3, 4}}),
             "input 'ids' has 3 dims, [4, 3, 1], and the program takes 2, [batch, seq]");
  expectPart(divideError({{4, 3}, {6, 4}, {3, 4}}), "input 'ids' has 4 samples and input 'mask' has 6");
  expectPart(divideError({{4, 3}, {4, 5}, {3, 4}}),
             "dim 1 of input 'mask' is 5 and must be seq + 1, which is 4 with seq = 3");
  expectPart(divideError({{4, 3}, {4, 4}, {2, 4}}), "seq is 3 in dim 1 of input 'ids' and 2 in dim 0 of input 'table'");
  expectPart(divideError({{4, 3}, {4, 4}, {3, 5}}), "dim 1 of input 'table' is 5 and must be 4");
  expectPart(divideError({{1, 3}, {1, 4}, {3, 4}}), "the batch has 1 samples and the program divides it into 2");
  program.guards = {{expr("seq"), plan::Relation::Equal, expr("8"), "broadcast with net.position at modeling.py:12"}};
  std::string error = divideError({{4, 3}, {4, 4}, {3, 4}});
  expectPart(error, "seq == 8 for broadcast with net.position at modeling.py:12");
  expectPart(error, "which is 3");
  expectPart(error, "in micro-batch 0 of 2");
  // Branches that the example took.
  for (plan::Relation relation : {plan::Relation::NotEqual, plan::Relation::Less}) {
    program.guards = {{expr("batch"), relation, expr("2"), "the branch at modeling.py:7"}};
    expectPart(divideError({{4, 3}, {4, 4}, {3, 4}}),
               text("batch ", plan::spelling(relation),
                    " 2 for the branch at modeling.py:7, and in this batch the left "
                    "is batch, which is 2 with batch = 2, the right 2"));
  }
  program.guards = {{expr("batch"), plan::Relation::LessEqual, expr("2"), "the branch at modeling.py:7"}};
  EXPECT_EQ(divideError({{4, 3}, {4, 4}, {3, 4}}), "");
  // A batch size that the trace fixed is that of a micro-batch.
  program.guards.clear();
  program.inputs[1].dims[0] = expr("4");
  program.inputs[0].dims[0] = expr("4");
  program.symbols = {"seq"};
  expectPart(divideError({{4, 3}, {4, 4}, {3, 4}}), "dim 0 of input 'ids' is 2 and must be 4");
  EXPECT_EQ(divideError({{8, 3}, {8, 4}, {3, 4}}), "");
}

TEST_F(BatchesTest, NothingToDivide) {
  program.inputs = {{"table", BRAID_F64, {expr("seq"), expr("4")}, shared}};
  program.symbols = {"seq"};
  expectPart(divideError({{3, 4}}), "no input holds samples");
  program.microbatches = 1;
  EXPECT_EQ(divideError({{3, 4}}), "");
}

TEST_F(BatchesTest, SlicesAndWrapsAround) {
  std::vector<NamedTensor> tensors;
  for (const char *step : {"step0/", "step1/"}) {
    tensors.push_back(tensor(step + std::string("ids"), {4, 3}));
    tensors.push_back(tensor(step + std::string("mask"), {4, 4}));
    tensors.push_back(tensor(step + std::string("table"), {3, 4}));
  }
  tensors.push_back(tensor("other", {1})); // nobody's concern
  tensors[3].values.assign(12, 5.0);
  ASSERT_EQ(openError(tensors), "");
  plan::Result<Batches> batches = Batches::open(program, folder / "batch.safetensors", 7);
  ASSERT_TRUE(batches) << batches.error();
  EXPECT_EQ(batches->count(), 2);
  EXPECT_EQ(&batches->step(4), &batches->step(0));
  const Batches::Step &step = batches->step(0);
  EXPECT_EQ(step.samples, 4);
  Tensor part = *batches->slice(program, step, 0, 1);
  EXPECT_EQ(part.sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(part.data(), tensors[0].values.data() + 6, 6 * sizeof(double)), 0);
  EXPECT_EQ(batches->slice(program, step, 2, 1)->sizes(), (std::vector<int64_t>{3, 4})) << "shared inputs stay whole";
  EXPECT_EQ(static_cast<double *>(batches->slice(program, batches->step(1), 0, 0)->data())[0], 5.0);
}

TEST_F(BatchesTest, PadsToTheLongestAndToTheProgram) {
  program.inputs = {{"ids", BRAID_F64, {expr("batch"), expr("seq")}, *plan::CollateRule::parse("pad(0)")},
                    {"labels", BRAID_F64, {expr("batch"), expr("seq")}, *plan::CollateRule::parse("pad(-100)")},
                    {"mask", BRAID_F64, {expr("batch"), expr("2"), expr("5")}, *plan::CollateRule::parse("pad(1)")}};
  std::vector<NamedTensor> tensors = {tensor("step0/ids", {3, 4}), tensor("step0/labels", {3, 2}),
                                      tensor("step0/mask", {3, 2, 3})};
  ASSERT_EQ(openError(tensors), "");
  plan::Result<Batches> batches = Batches::open(program, folder / "batch.safetensors", 1);
  ASSERT_TRUE(batches) << batches.error();
  const Batches::Step &step = batches->step(0);
  EXPECT_EQ(step.microbatches[1].symbols, (std::vector<int64_t>{1, 4}));
  auto valuesOf = [&](int input, int microbatch) {
    Tensor part = *batches->slice(program, step, input, microbatch);
    const double *data = static_cast<const double *>(part.data());
    return std::vector<double>(data, data + part.numel());
  };
  const std::vector<double> &ids = tensors[0].values, &labels = tensors[1].values, &mask = tensors[2].values;
  EXPECT_EQ(valuesOf(0, 1), std::vector<double>(ids.begin() + 8, ids.end()));
  EXPECT_EQ(valuesOf(1, 0), (std::vector<double>{labels[0], labels[1], -100, -100, labels[2], labels[3], -100, -100}));
  EXPECT_EQ(valuesOf(2, 1),
            (std::vector<double>{mask[12], mask[13], mask[14], 1, 1, mask[15], mask[16], mask[17], 1, 1}));
  tensors[2] = tensor("step0/mask", {3, 2, 6});
  expectPart(openError(tensors), "dim 2 of input 'mask' is 6 and must be 5");
}

TEST_F(BatchesTest, SlicesAnInnerDim) {
  program.inputs = {
      {"ids", BRAID_F64, {expr("batch"), expr("seq")}, stack},
      {"position", BRAID_F64, {expr("2"), expr("2*batch"), expr("seq")}, *plan::CollateRule::parse("concat(1)")}};
  std::vector<NamedTensor> tensors = {tensor("step0/ids", {3, 2}), tensor("step0/position", {2, 6, 2})};
  ASSERT_EQ(openError(tensors), "");
  plan::Result<Batches> batches = Batches::open(program, folder / "batch.safetensors", 1);
  ASSERT_TRUE(batches) << batches.error();
  Tensor part = *batches->slice(program, batches->step(0), 1, 1); // the third of three samples
  EXPECT_EQ(part.sizes(), (std::vector<int64_t>{2, 2, 2}));
  const double *data = static_cast<const double *>(part.data()), *all = tensors[1].values.data();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(data[i], all[8 + i]);
    EXPECT_EQ(data[4 + i], all[12 + 8 + i]);
  }
}

TEST_F(BatchesTest, RefusesFilesBeforeTheFirstStep) {
  NamedTensor ids = tensor("step0/ids", {4, 3}), mask = tensor("step0/mask", {4, 4}),
              table = tensor("step0/table", {3, 4});
  NamedTensor wrong = tensor("step0/msk", {4, 4});
  std::string error = openError({ids, wrong, table});
  expectPart(error, "no 'step0/mask'");
  expectPart(error, "rename 'msk'?");
  expectPart(openError({tensor("ids", {4, 3})}), "no batch");
  expectPart(openError({}), "no batch");
  expectPart(openError({ids, mask, table, tensor("step2/ids", {4, 3})}), "has step 2 and no step 1");
  expectPart(openError({ids, mask, table, tensor("step1/ids", {4, 3})}), "no 'step1/mask'");
  EXPECT_EQ(openError({ids, mask, table, tensor("step1/ids", {4, 3})}, 1), "") << "step 1 is not used";
  expectPart(openError({ids, mask, table, tensor("step0/tabel", {1})}),
             "has 'step0/tabel', and the program has no input 'tabel', only ids, mask, table; do you mean 'table'?");
  expectPart(openError({ids, mask, table, tensor("step00/ids", {4, 3})}), "'step00/ids'; rename it to 'step0/ids'");
  expectPart(openError({ids, mask, table, tensor("step99999999999999999999/ids", {4, 3})}), "too large a number");
  expectPart(openError({ids, mask, table, tensor("step1/ids", {4, 3}), tensor("step1/mask", {4, 4}),
                        tensor("step1/table", {3, 4}), tensor("step3/ids", {4, 3})}),
             "has step 3 and no step 2");
  program.inputs[0].dtype = BRAID_I64;
  expectPart(openError({ids, mask, table}), "input 'ids' of step 0 in");
  expectPart(openError({ids, mask, table}), "is f64 and the program takes i64");
}

TEST_F(BatchesTest, AMappedFileThatIsCutIsNamed) {
  std::string path = folder / "cut.safetensors";
  writeTensors(path, {{"x", {100000}, numbers(1, 100000)}});
  explainBusErrors();
  auto touch = [&] {
    plan::Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
    std::filesystem::resize_file(path, 10);
    std::exit(std::to_integer<int>((*file)->data()[700000]));
  };
  EXPECT_EXIT(touch(), testing::ExitedWithCode(1), "the file .*cut.safetensors became shorter");
}

TEST_F(BatchesTest, UnalignedDataIsCopied) {
  // A byte before it puts the tensor at an odd address.
  std::string path = folder / "odd.safetensors";
  plan::Result<SafetensorsWriter> writer =
      SafetensorsWriter::create(path, {{"a", BRAID_U8, {1}}, {"step0/x", BRAID_F64, {2}}});
  ASSERT_TRUE(writer) << writer.error();
  double x[] = {1.5, 2.5};
  ASSERT_TRUE(writer->write("a", 1) && writer->write(x, sizeof x) && writer->finish());
  program.symbols = {"n"};
  program.inputs = {{"x", BRAID_F64, {expr("n")}, stack}};
  plan::Result<Batches> batches = Batches::open(program, path, 1);
  ASSERT_TRUE(batches) << batches.error();
  for (int m = 0; m < 2; ++m) {
    Tensor part = *batches->slice(program, batches->step(0), 0, m);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(part.data()) % sizeof(double), 0u);
    EXPECT_EQ(part.item(), x[m]);
  }
}
