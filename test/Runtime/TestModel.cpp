//===- TestModel.cpp - A compiled program written by hand -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <csignal>
#include <cstdlib>
#include <cstring>

using namespace braid::test;

const char *const braid::test::paramNames[numParams] = {"first.weight", "first.bias", "middle.weight",
                                                        "last.bias",    "scale",      "unused.weight"};

std::vector<int64_t> braid::test::paramShape(int number) {
  if (number == paramA || number == paramB)
    return {width, width};
  return {width};
}

static braid_op leScalar, addmm, mm, t, tanhOp, tanhBackward, add, sub, mul, mulScalar, divOp, sumAll, sumDim;

braid_status braid::test::initialize() {
  struct {
    const char *name, *arguments;
    braid_op *op;
  } table[] = {
      {"aten::addmm", "self,mat1,mat2", &addmm},
      {"aten::mm", "self,mat2", &mm},
      {"aten::t", "self", &t},
      {"aten::tanh", "self", &tanhOp},
      {"aten::tanh_backward", "grad_output,output", &tanhBackward},
      {"aten::add.Tensor", "self,other", &add},
      {"aten::sub.Tensor", "self,other", &sub},
      {"aten::mul.Tensor", "self,other", &mul},
      {"aten::mul.Scalar", "self,other", &mulScalar},
      {"aten::div.Tensor", "self,other", &divOp},
      {"aten::sum", "self", &sumAll},
      {"aten::le.Scalar", "self,other", &leScalar},
      {"aten::sum.dim_IntList", "self,dim", &sumDim},
  };
  for (auto &entry : table)
    if (braid_rt_op(entry.name, entry.arguments, entry.op))
      return 1;
  return 0;
}

namespace {
/// The values of one function call: everything that is not a result is released at the end, as compiled code does.
class Frame {
public:
  ~Frame() {
    for (braid_tensor tensor : owned)
      braid_rt_release(tensor);
  }

  braid_tensor call(braid_op op, std::vector<braid_value> arguments, int line) {
    braid_tensor result = nullptr;
    braid_site site = {"model", "model.py", line};
    if (!failed)
      failed = braid_rt_call(op, arguments.data(), static_cast<int32_t>(arguments.size()), &result, 1, &site);
    if (result)
      owned.push_back(result);
    return result;
  }
  braid_tensor call(braid_op op, braid_tensor a, int line) { return call(op, {value(a)}, line); }
  braid_tensor call(braid_op op, braid_tensor a, braid_tensor b, int line) {
    return call(op, {value(a), value(b)}, line);
  }

  static braid_value value(braid_tensor tensor) {
    braid_value result{BRAID_TENSOR, 0, {}};
    result.as.tensor = tensor;
    return result;
  }

  /// Stores the results, each with a reference of its own, unless something failed.
  braid_status finish(braid_tensor *results, std::vector<braid_tensor> values) {
    if (failed)
      return failed;
    for (size_t i = 0; i < values.size(); ++i) {
      braid_rt_retain(values[i]);
      results[i] = values[i];
    }
    return 0;
  }

  braid_status failed = 0;

private:
  std::vector<braid_tensor> owned;
};
} // namespace

static braid_tensor sumRows(Frame &f, braid_tensor x, int line) {
  static const int64_t dim0 = 0;
  braid_value dim{BRAID_INT_LIST, 1, {}};
  dim.as.ints = &dim0;
  return f.call(sumDim, {Frame::value(x), dim}, line);
}

/// For tests of dying ranks: BRAID_TEST_DIE=FUNCTION kills the process that runs it.
static void dieIfAsked(const char *function) {
  const char *victim = std::getenv("BRAID_TEST_DIE");
  if (victim && !std::strcmp(victim, function))
    raise(SIGKILL);
}

//===----------------------------------------------------------------------===//
// Stage 0: parameters A, a; input x; gives h; residuals x, h; carries g
//===----------------------------------------------------------------------===//

static braid_status forward0(const int64_t *, const braid_tensor *in, braid_tensor *out) {
  Frame f;
  braid_tensor pre = f.call(addmm, {Frame::value(in[1]), Frame::value(in[2]), Frame::value(f.call(t, in[0], 1))}, 2);
  braid_tensor h = f.call(tanhOp, pre, 3);
  return f.finish(out, {h, in[2], h});
}

static braid_status input0(const int64_t *, const braid_tensor *in, braid_tensor *out) { // A a | x h | dh
  Frame f;
  return f.finish(out, {f.call(tanhBackward, in[4], in[3], 3)});
}

static braid_status weight0(const int64_t *, const braid_tensor *in, braid_tensor *out) { // A a | x h | g
  Frame f;
  return f.finish(out, {f.call(mm, f.call(t, in[4], 2), in[2], 2), sumRows(f, in[4], 2)});
}

static braid_status backward0(const int64_t *s, const braid_tensor *in, braid_tensor *out) {
  braid_tensor carry = nullptr;
  if (input0(s, in, &carry))
    return 1;
  braid_tensor operands[] = {in[0], in[1], in[2], in[3], carry};
  braid_status status = weight0(s, operands, out);
  braid_rt_release(carry);
  return status;
}

//===----------------------------------------------------------------------===//
// Stage 1: parameter B; edge h; gives z; residuals h, z; carries g
//===----------------------------------------------------------------------===//

static braid_status forward1(const int64_t *, const braid_tensor *in, braid_tensor *out) {
  dieIfAsked("stage1_forward");
  Frame f;
  braid_tensor z = f.call(tanhOp, f.call(mm, in[1], f.call(t, in[0], 5), 5), 5);
  return f.finish(out, {z, in[1], z});
}

static braid_status input1(const int64_t *, const braid_tensor *in, braid_tensor *out) { // B | h z | dz
  Frame f;
  braid_tensor g = f.call(tanhBackward, in[3], in[2], 5);
  return f.finish(out, {f.call(mm, g, in[0], 5), g});
}

static braid_status weight1(const int64_t *, const braid_tensor *in, braid_tensor *out) { // B | h z | g
  Frame f;
  return f.finish(out, {f.call(mm, f.call(t, in[3], 5), in[1], 5)});
}

static braid_status backward1(const int64_t *s, const braid_tensor *in, braid_tensor *out) {
  braid_tensor both[2] = {};
  if (input1(s, in, both))
    return 1;
  braid_tensor operands[] = {in[0], in[1], in[2], both[1]};
  braid_status status = weight1(s, operands, out + 1);
  braid_rt_release(both[1]);
  out[0] = both[0];
  return status;
}

//===----------------------------------------------------------------------===//
// Stage 2: parameters A, c, s; input t; edges h, z; count; gives the loss; residuals h + z, g; carries g
//===----------------------------------------------------------------------===//

static braid_status forward2(const int64_t *, const braid_tensor *in, braid_tensor *out) { // A c s | t | h z | n
  Frame f;
  braid_tensor q = f.call(add, in[4], in[5], 7);
  braid_tensor y = f.call(addmm, {Frame::value(in[1]), Frame::value(q), Frame::value(f.call(t, in[0], 7))}, 7);
  braid_tensor e = f.call(sub, f.call(mul, y, in[2], 8), in[3], 8);
  braid_tensor loss = f.call(divOp, f.call(sumAll, f.call(mul, e, e, 9), 9), in[6], 9);
  braid_value two{BRAID_INT, 0, {}};
  two.as.i = 2; // an int where the schema says Scalar
  braid_tensor de = f.call(divOp, f.call(mulScalar, {Frame::value(e), two}, 9), in[6], 9);
  return f.finish(out, {loss, q, f.call(mul, de, in[2], 8)});
}

static braid_status input2(const int64_t *, const braid_tensor *in, braid_tensor *out) { // A c s | q g
  Frame f;
  braid_tensor dq = f.call(mm, in[4], in[0], 7);
  return f.finish(out, {dq, dq, in[4]});
}

static braid_status weight2(const int64_t *, const braid_tensor *in, braid_tensor *out) { // A c s | q g | g
  Frame f;
  return f.finish(out, {f.call(mm, f.call(t, in[5], 7), in[3], 7), sumRows(f, in[5], 7)});
}

static braid_status backward2(const int64_t *s, const braid_tensor *in, braid_tensor *out) {
  braid_tensor all[3] = {};
  if (input2(s, in, all))
    return 1;
  braid_tensor operands[] = {in[0], in[1], in[2], in[3], in[4], all[2]};
  braid_status status = weight2(s, operands, out + 2);
  braid_rt_release(all[2]);
  out[0] = all[0];
  out[1] = all[1];
  return status;
}

static braid_status prologue(const int64_t *symbols, const braid_tensor *, braid_tensor *out) {
  return braid_rt_scalar(symbols[0] * width, out);
}

/// Counts the elements of t up to 2, as a loss does that ignores a label.
static braid_status prologueIgnoring(const int64_t *, const braid_tensor *in, braid_tensor *out) {
  Frame f;
  braid_value two{BRAID_INT, 0, {}};
  two.as.i = 2;
  return f.finish(out, {f.call(sumAll, f.call(leScalar, {Frame::value(in[0]), two}, 9), 9)});
}

const braid_function_entry braid::test::functions[] = {{"stage0_forward", forward0},
                                                       {"stage0_backward_input", input0},
                                                       {"stage0_backward_weight", weight0},
                                                       {"stage0_backward", backward0},
                                                       {"stage1_forward", forward1},
                                                       {"stage1_backward_input", input1},
                                                       {"stage1_backward_weight", weight1},
                                                       {"stage1_backward", backward1},
                                                       {"stage2_forward", forward2},
                                                       {"stage2_backward_input", input2},
                                                       {"stage2_backward_weight", weight2},
                                                       {"stage2_backward", backward2},
                                                       {"prologue_ignoring", prologueIgnoring},
                                                       {"prologue", prologue}};
const int32_t braid::test::numFunctions = sizeof functions / sizeof *functions;
