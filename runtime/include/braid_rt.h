/*===- braid_rt.h - The C ABI between compiled programs and the runtime --*- C -*-===*\
|*
|* Part of braid, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===------------------------------------------------------------------------------===*|
|*
|* Compiled code calls these functions and defines one `braid_program`. docs/RuntimeABI.md states the rules; in short:
|* arguments are borrowed, results are owned by the caller, every fallible function returns a status that compiled code
|* tests, and the message of a failure stays in the calling thread until its next failure. No C++ exception crosses.
|*
\*===------------------------------------------------------------------------------===*/

#ifndef BRAID_RT_H
#define BRAID_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BRAID_RT_ABI_VERSION 1

/** 0 is success. */
typedef int32_t braid_status;

/** An owned reference to a tensor. NULL stands for an absent optional tensor. */
typedef struct braid_tensor_s *braid_tensor;

/** An ATen operator, resolved once when the program is loaded. */
typedef struct braid_op_s *braid_op;

typedef enum {
  BRAID_NONE = 0,
  BRAID_TENSOR = 1,
  BRAID_INT = 2,
  BRAID_DOUBLE = 3,
  BRAID_BOOL = 4,
  BRAID_STRING = 5,
  BRAID_DTYPE = 6,       /* i: a braid_dtype */
  BRAID_INT_LIST = 7,    /* count, ints */
  BRAID_DOUBLE_LIST = 8, /* count, doubles */
  BRAID_BOOL_LIST = 9,   /* count, bools (one byte each) */
  BRAID_TENSOR_LIST = 10 /* count, tensors; an entry may be NULL where the schema says Tensor?[] */
} braid_tag;

typedef enum {
  BRAID_F32 = 0,
  BRAID_F64 = 1,
  BRAID_BF16 = 2,
  BRAID_F16 = 3,
  BRAID_I64 = 4,
  BRAID_I32 = 5,
  BRAID_I16 = 6,
  BRAID_I8 = 7,
  BRAID_U8 = 8,
  BRAID_BOOLEAN = 9
} braid_dtype;

/** One argument of an ATen call. 16 bytes. Lists are borrowed for the call. */
typedef struct {
  int32_t tag;
  int32_t count;
  union {
    int64_t i;
    double d;
    braid_tensor tensor;
    const char *string;
    const int64_t *ints;
    const double *doubles;
    const uint8_t *bools;
    const braid_tensor *tensors;
  } as;
} braid_value;

/** Where a call comes from: for messages only. */
typedef struct {
  const char *module; /* module path, such as "net.model.layers.0" */
  const char *file;   /* Python source file, or "" */
  int32_t line;
} braid_site;

/** An input or output of a kernel. */
typedef struct {
  int32_t dtype;
  int32_t kind; /* 0: has the space's last dim; 1: has size 1 there; 2: lacks it */
} braid_kernel_operand;

/**
 * Runs over `rows` rows of `columns` elements. For each operand, inputs first, `pointers` has the first row's address
 * and `strides` the bytes from one row to the next. Elements of a row are dense.
 */
typedef void (*braid_kernel_code)(char *const *pointers, const int64_t *strides, int64_t rows, int64_t columns);

/** A loop over elements that the compiler wrote: code for what would be several operators. */
typedef struct {
  const char *name;
  int32_t num_inputs, num_outputs;
  int32_t rank;    /* of the space that it runs over */
  int32_t whole_rows; /* whether a row must not be cut, nor joined with the next */
  const braid_kernel_operand *operands;
  braid_kernel_code code;
  braid_kernel_code special; /* for x86-64-v3 (AVX2, FMA); may be NULL */
} braid_kernel;

/** What random numbers are drawn for: docs/Training.md. */
typedef struct {
  int64_t seed;
  int64_t step;     /* of the optimizer, from 0 */
  int64_t sample;   /* the first one of the micro-batch, counted over the step's batches */
  int64_t training; /* 0 in an evaluation, where dropout drops nothing */
} braid_random;

/* The runtime is built with hidden visibility; this is what it shows. */
#pragma GCC visibility push(default)

/**
 * Finds an operator. `name` is "aten::add.Tensor". `arguments` names the schema's arguments that calls will pass, in
 * the order of their values, comma-separated ("self,other,alpha"); every other argument takes its schema's default.
 */
braid_status braid_rt_op(const char *name, const char *arguments, braid_op *op);

/**
 * Calls an operator below autograd. Fills `results` with as many owned tensors as the operator returns (a Tensor[]
 * result counts as its elements, and one that the operator leaves undefined is NULL); fails where that is not
 * `num_results`.
 */
braid_status braid_rt_call(braid_op op, const braid_value *arguments, int32_t num_arguments, braid_tensor *results,
                           int32_t num_results, const braid_site *site);

/**
 * The gradient of an operator for which the compiler has no rule: calls it again under ATen's autograd on the same
 * arguments and pulls `cotangents` (one per result; NULL is zero) back. results[j] is the gradient of the
 * `wanted[j]`-th tensor among the arguments (lists count their elements, and a NULL counts too; BRAID_NONE does not),
 * zeros where autograd gives none.
 */
braid_status braid_rt_call_gradient(braid_op op, const braid_value *arguments, int32_t num_arguments,
                                    const braid_tensor *cotangents, int32_t num_cotangents, const int32_t *wanted,
                                    int32_t num_wanted, braid_tensor *results, const braid_site *site);

/**
 * Runs a kernel over the space of `sizes`. Inputs broadcast to it, but for the last dim of those of kind 0, and need not
 * be dense. Results are new, dense tensors.
 */
braid_status braid_rt_launch(const braid_kernel *kernel, const int64_t *sizes, const braid_tensor *inputs,
                             braid_tensor *results, const braid_site *site);

/**
 * Zeroes each element with probability `p` and multiplies the others by 1 / (1 - p); a copy in an evaluation. Numbers
 * depend on `random`, the stream, the element's sample and its place inside of the sample. Where the tensor holds
 * samples, `before` elements of the dims before them come first, and `samples` is how many of them it has; where it
 * holds none, `samples` is below 0.
 */
braid_status braid_rt_dropout(braid_tensor input, double p, const braid_random *random, int64_t stream, int64_t before,
                              int64_t samples, braid_tensor *result, const braid_site *site);

/** Numbers that are uniform in [0, 1), by the same rule; in an evaluation, too. `dtype` is a floating-point one. */
braid_status braid_rt_rand(const int64_t *sizes, int32_t rank, int32_t dtype, const braid_random *random,
                           int64_t stream, int64_t before, int64_t samples, braid_tensor *result,
                           const braid_site *site);

/** A tensor with a copy of the data, which is dense and in row-major order. */
braid_status braid_rt_constant(int32_t dtype, int32_t rank, const int64_t *sizes, const void *data,
                               braid_tensor *result);

/** A 0-dim int64 tensor. */
braid_status braid_rt_scalar(int64_t value, braid_tensor *result);

/** Fails, naming `what` and both numbers, unless the mask has as many true entries as `rows`; for braid.merge_rows. */
braid_status braid_rt_check_rows(braid_tensor mask, int64_t rows, const char *what, const braid_site *site);

void braid_rt_retain(braid_tensor tensor);
void braid_rt_release(braid_tensor tensor);

/** Releases `count` references, absent ones too, and leaves NULL in their places. */
void braid_rt_release_all(braid_tensor *tensors, int32_t count);

/**
 * Puts the module that a call of shared code stands for before the message of the last failure in this thread, which
 * knows paths inside that code only. Does nothing for NULL.
 */
void braid_rt_within(const char *module);

/** The message of the last failure in this thread; never NULL. */
const char *braid_rt_message(void);

/**
 * Compiled code of one stage or of the prologue. `symbols` are the sizes of the named dims in the plan's order, with a
 * braid_random behind them; `operands` are borrowed, `results` are filled with owned tensors. What each operand and result is, the plan says.
 */
typedef braid_status (*braid_function)(const int64_t *symbols, const braid_tensor *operands, braid_tensor *results);

typedef struct {
  const char *name;
  braid_function function;
} braid_function_entry;

/** Resolves the operators and makes the constants that the functions use; called once in a process. */
typedef braid_status (*braid_initializer)(void);

typedef struct {
  int32_t abi_version;
  const char *plan; /* JSON, docs/RuntimeABI.md */
  int32_t num_functions;
  const braid_function_entry *functions;
  braid_initializer initialize;
} braid_program;

/** The main function of a compiled program. Ends the process, or returns its exit status. */
int braid_rt_main(int argc, char **argv, const braid_program *program);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* BRAID_RT_H */
