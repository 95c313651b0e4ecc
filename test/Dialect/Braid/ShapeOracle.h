//===- ShapeOracle.h - Random calls of ATen operators -*- C++ -*- -------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A generator makes one random call of an operator: mostly valid, now and then not, with dims of size 0 and 1, tensors
// without dims and mixed dtypes. The tables, one file for some families, name a generator for every typed op.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_DIALECT_BRAID_SHAPEORACLE_H
#define BRAID_TEST_DIALECT_BRAID_SHAPEORACLE_H

#include <ATen/ATen.h>

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/ArrayRef.h"

#include <random>
#include <variant>

namespace braid::oracle {

using Sizes = std::vector<int64_t>;

/// A tensor operand: full of `fill`.
struct Tensor {
  Sizes sizes;
  c10::ScalarType dtype = c10::kFloat;
  double fill = 1;
  int64_t rank() const { return sizes.size(); }
};

/// A number for a Scalar argument, as Python passes it.
using Number = std::variant<bool, int64_t, double>;

/// monostate: absent. Sizes serves int[] and SymInt[] arguments.
using Arg = std::variant<std::monostate, Tensor, std::vector<std::optional<Tensor>>, Number, int64_t, double, bool,
                         std::string, c10::ScalarType, Sizes, std::vector<bool>>;
using Args = std::vector<Arg>;
inline constexpr std::monostate absent;

/// Choices of the generators. The same seed gives the same calls.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  int64_t below(int64_t bound) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(bound)); }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool chance(double probability) { return static_cast<double>(engine() >> 11) * 0x1p-53 < probability; }
  template <typename T> T pick(std::initializer_list<T> choices) { return choices.begin()[below(choices.size())]; }

  int64_t size() { return pick<int64_t>({0, 1, 1, 2, 3, 4, 5, 6}); }
  Sizes sizes(int64_t leastRank, int64_t mostRank);
  /// A dim as Python counts it; rarely one that does not exist.
  int64_t dim(int64_t rank);
  /// Up to `rank` different dims.
  Sizes dims(int64_t rank);
  /// Sizes that broadcast with these; rarely not.
  Sizes broadcastable(Sizes sizes);
  /// Now and then another size, so that the call is wrong.
  Sizes spoiled(Sizes sizes, double probability = 0.04);

  c10::ScalarType floats() { return pick({c10::kFloat, c10::kFloat, c10::kDouble, c10::kHalf, c10::kBFloat16}); }
  c10::ScalarType integers() { return pick({c10::kLong, c10::kLong, c10::kInt, c10::kShort, c10::kChar, c10::kByte}); }
  c10::ScalarType numbers() { return chance(0.6) ? floats() : integers(); }
  c10::ScalarType any() { return chance(0.2) ? c10::kBool : numbers(); }
  /// float32 or float64, rarely something else.
  c10::ScalarType real() { return chance(0.04) ? any() : pick({c10::kFloat, c10::kDouble}); }
  c10::ScalarType indexType() { return chance(0.05) ? any() : pick({c10::kLong, c10::kLong, c10::kInt}); }
  std::optional<c10::ScalarType> maybeDtype() { return chance(0.3) ? std::optional(any()) : std::nullopt; }
  Number number();

private:
  std::mt19937_64 engine;
};

inline Arg orAbsent(std::optional<c10::ScalarType> dtype) { return dtype ? Arg(*dtype) : Arg(absent); }
/// The argument, or none.
inline Arg maybe(Random &r, Arg arg, double probability = 0.5) { return r.chance(probability) ? arg : Arg(absent); }

struct Generator {
  const char *op; // without "braid."
  std::function<Args(Random &)> generate;
};

/// One for all tests, with the dialects loaded.
mlir::MLIRContext &context();

std::vector<Generator> elementwiseGenerators();
std::vector<Generator> reductionGenerators();
std::vector<Generator> viewGenerators();
std::vector<Generator> contractionGenerators();
std::vector<Generator> normAttentionGenerators();
std::vector<Generator> recurrentGenerators();
std::vector<Generator> poolingGenerators();
std::vector<Generator> gatherScatterGenerators();
std::vector<Generator> creationGenerators();
std::vector<Generator> lossGenerators();

} // namespace braid::oracle

#endif // BRAID_TEST_DIALECT_BRAID_SHAPEORACLE_H
