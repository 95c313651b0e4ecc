//===- Text.h - Putting messages together ------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_TEXT_H
#define BRAID_RUNTIME_CORE_TEXT_H

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace braid::runtime {

/// text("step ", 3, ": ", name) is one string.
template <typename... Parts> std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// "[2, 3]"
inline std::string shapeText(const std::vector<int64_t> &sizes) {
  std::string result = "[";
  for (size_t i = 0; i < sizes.size(); ++i)
    result += (i ? ", " : "") + std::to_string(sizes[i]);
  return result + "]";
}

inline std::string joined(const std::vector<std::string> &names, std::string_view separator = ", ") {
  std::string result;
  for (size_t i = 0; i < names.size(); ++i)
    result.append(i ? separator : "").append(names[i]);
  return result;
}

/// The candidate with the fewest edits from `name`; empty where none is near.
inline std::string nearest(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  size_t fewest = name.size() / 2 + 1;
  for (const std::string &candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j)
      row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        size_t above = row[j];
        row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (name[i - 1] != candidate[j - 1])});
        diagonal = above;
      }
    }
    if (row.back() < fewest) {
      fewest = row.back();
      best = candidate;
    }
  }
  return best;
}

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_TEXT_H
