//===- Random.cpp - Random numbers of compiled code -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// docs/Training.md says which number an element gets. A tensor of samples is [before, samples, inside]: sample s holds
// rows of `inside` elements, one for each of `before`, and its offsets count them in that order.
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Convert.h"
#include "runtime/aten/Message.h"
#include "runtime/aten/Philox.h"
#include "runtime/core/Text.h"

#include <ATen/Dispatch.h>
#include <ATen/EmptyTensor.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <stdexcept>

using namespace braid::runtime;

namespace {
/// The counter has 32 bits for the step and for the sample, 24 for the stream and 40 for the block.
constexpr int64_t wordEnd = int64_t(1) << 32, streamEnd = int64_t(1) << 24, blockEnd = int64_t(1) << 40;

/// The words of one stream in one step.
class Stream {
public:
  Stream(const braid_random &random, int64_t stream)
      : key{static_cast<uint32_t>(random.seed), static_cast<uint32_t>(uint64_t(random.seed) >> 32)},
        step(static_cast<uint32_t>(random.step)), stream(static_cast<uint32_t>(stream) << 8) {
    if (random.step < 0 || random.step >= wordEnd)
      throw std::runtime_error(text("step ", random.step, " is out of range; random numbers are drawn for 2^32 steps"));
    if (stream < 0 || stream >= streamEnd)
      throw std::runtime_error(text("stream ", stream, " is out of range; there are 2^24 streams"));
  }

  /// Words 4 `block` and on of a sample.
  PhiloxBlock take(int64_t sample, int64_t block) const {
    return philox({static_cast<uint32_t>(block), static_cast<uint32_t>(uint64_t(block) >> 32) | stream,
                   static_cast<uint32_t>(sample), step},
                  key);
  }

private:
  PhiloxKey key;
  uint32_t step, stream;
};

/// Where the samples of a tensor are.
struct Layout {
  int64_t before = 1, samples = 1, inside = 1;
  int64_t firstSample = 0;

  Layout(const at::Tensor &tensor, const braid_random &random, int64_t before, int64_t samples, int64_t wordsEach) {
    int64_t count = tensor.numel();
    if (samples >= 0) {
      this->before = before;
      this->samples = samples;
      firstSample = random.sample;
    }
    int64_t rows = this->before * this->samples;
    if (rows == 0 ? count != 0 : count % rows != 0)
      throw std::runtime_error(text("the tensor is ", describe(tensor), " and should hold ", samples, " samples in ",
                                    before, " parts; compile with this batch as the example"));
    inside = rows ? count / rows : 0;
    if (firstSample < 0 || firstSample + this->samples > wordEnd)
      throw std::runtime_error(text("sample ", firstSample + this->samples,
                                    " is out of range; random numbers are drawn for 2^32 samples of a step"));
    if (this->before * inside > blockEnd * 4 / wordsEach)
      throw std::runtime_error(
          text("a sample of ", this->before * inside, " elements is too large; random numbers are drawn for 2^42 words"));
  }
};

/// Calls `fill(begin, count, words)` for all elements, where `words` are those of element `begin` and on, `wordsEach`
/// for each.
template <int64_t wordsEach, typename Fill>
void forEachRun(const Layout &layout, const Stream &stream, const Fill &fill) {
  constexpr int64_t grain = 8192;         // elements that pay for another thread
  constexpr int64_t each = 4 / wordsEach; // elements of a block
  int64_t count = layout.before * layout.samples * layout.inside;
  at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      int64_t row = begin / layout.inside, place = begin % layout.inside;
      int64_t sample = row % layout.samples, offset = row / layout.samples * layout.inside + place;
      int64_t rowEnd = std::min(end, begin + layout.inside - place);
      while (begin < rowEnd) {
        int64_t first = offset % each, length = std::min(each - first, rowEnd - begin);
        PhiloxBlock words = stream.take(layout.firstSample + sample, offset / each);
        fill(begin, length, words.data() + first * wordsEach);
        begin += length;
        offset += length;
      }
    }
  });
}

template <typename T> void dropout(const T *input, T *output, double p, const Layout &layout, const Stream &stream) {
  using Number = at::opmath_type<T>;
  // Kept where the word, as a fraction of 2^32, is at least p; where that is none of them, the factor is 0.
  double least = std::ceil(std::ldexp(p, 32));
  bool keepsAny = least < wordEnd;
  uint32_t threshold = keepsAny ? static_cast<uint32_t>(least) : 0;
  auto scale = static_cast<Number>(keepsAny ? 1 / (1 - p) : 0);
  forEachRun<1>(layout, stream, [&](int64_t begin, int64_t count, const uint32_t *words) {
    for (int64_t i = 0; i < count; ++i) {
      Number factor = words[i] >= threshold ? scale : Number(0);
      output[begin + i] = static_cast<T>(static_cast<Number>(input[begin + i]) * factor);
    }
  });
}

/// As many high bits of a word as the type holds exactly below 1; of two words for float64.
template <typename T> void uniform(T *output, const Layout &layout, const Stream &stream) {
  constexpr int bits = std::numeric_limits<T>::digits;
  if constexpr (bits > 32) {
    constexpr double unit = 1.0 / static_cast<double>(uint64_t(1) << bits);
    forEachRun<2>(layout, stream, [&](int64_t begin, int64_t count, const uint32_t *words) {
      for (int64_t i = 0; i < count; ++i) {
        uint64_t both = uint64_t(words[2 * i + 1]) << 32 | words[2 * i];
        output[begin + i] = static_cast<T>(static_cast<double>(both >> (64 - bits)) * unit);
      }
    });
  } else {
    constexpr float unit = 1.0f / static_cast<float>(1 << bits);
    forEachRun<1>(layout, stream, [&](int64_t begin, int64_t count, const uint32_t *words) {
      for (int64_t i = 0; i < count; ++i)
        output[begin + i] = static_cast<T>(static_cast<float>(words[i] >> (32 - bits)) * unit);
    });
  }
}

template <typename Body> braid_status run(const char *what, const braid_site *site, const Body &body) {
  try {
    BelowAutograd guard;
    body();
    return 0;
  } catch (const std::exception &error) {
    return fail(text(what, siteText(site), " failed: ", firstLine(error)));
  } catch (...) {
    return fail(text(what, siteText(site), " failed: an unknown C++ exception"));
  }
}
} // namespace

extern "C" braid_status braid_rt_dropout(braid_tensor input, double p, const braid_random *random, int64_t stream,
                                         int64_t before, int64_t samples, braid_tensor *result,
                                         const braid_site *site) {
  return run("aten::dropout", site, [&] {
    at::Tensor from = toAten(input);
    if (!random->training) {
      *result = toHandle(std::move(from));
      return;
    }
    from = from.contiguous();
    at::Tensor to = at::detail::empty_cpu(from.sizes(), from.scalar_type());
    Layout layout(from, *random, before, samples, 1);
    Stream numbers(*random, stream);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, from.scalar_type(), "dropout", [&] {
      dropout(from.const_data_ptr<scalar_t>(), to.mutable_data_ptr<scalar_t>(), p, layout, numbers);
    });
    *result = toHandle(std::move(to));
  });
}

extern "C" braid_status braid_rt_rand(const int64_t *sizes, int32_t rank, int32_t dtype, const braid_random *random,
                                      int64_t stream, int64_t before, int64_t samples, braid_tensor *result,
                                      const braid_site *site) {
  return run("aten::rand", site, [&] {
    at::Tensor to = at::detail::empty_cpu(at::IntArrayRef(sizes, rank), toScalarType(static_cast<DType>(dtype)));
    Layout layout(to, *random, before, samples, to.scalar_type() == at::kDouble ? 2 : 1);
    Stream numbers(*random, stream);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, to.scalar_type(), "rand", [&] {
      uniform(to.mutable_data_ptr<scalar_t>(), layout, numbers);
    });
    *result = toHandle(std::move(to));
  });
}
