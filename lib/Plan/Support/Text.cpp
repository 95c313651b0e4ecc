//===- Text.cpp - Nearest words and module patterns -----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/Text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

namespace braid::plan {

std::string_view trim(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string hex(uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

int editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<int>(i + j);
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

static std::string lowered(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string nearest(std::string_view word, const std::vector<std::string> &candidates) {
  constexpr size_t longest = 256;
  if (word.size() > longest)
    return "";
  std::string best, small = lowered(word);
  int bestCost = -1;
  for (const std::string &candidate : candidates) {
    if (candidate.size() > longest)
      continue;
    int cost = editDistance(small, lowered(candidate));
    int limit = std::max<int>(1, static_cast<int>(std::max(word.size(), candidate.size())) / 3);
    if (cost > limit || (bestCost >= 0 && cost >= bestCost))
      continue;
    best = candidate;
    bestCost = cost;
  }
  return best;
}

std::string suggest(std::string_view word, const std::vector<std::string> &candidates) {
  std::string near = nearest(word, candidates);
  if (!near.empty())
    return "; did you mean '" + near + "'?";
  constexpr size_t most = 24;
  std::string text;
  for (size_t i = 0; i < candidates.size() && i < most; ++i)
    text += (i ? ", " : "") + candidates[i];
  if (candidates.size() > most)
    text += ", ...";
  return text.empty() ? "" : "; known are: " + text;
}

std::vector<std::string> withModules(const std::vector<std::string> &names) {
  std::set<std::string> all;
  for (const std::string &name : names) {
    all.insert(name);
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      all.insert(name.substr(0, dot));
  }
  return {all.begin(), all.end()};
}

/// Matches all of `text`, or a part of it that ends before a dot.
static bool matchesFrom(std::string_view pattern, std::string_view text) {
  // Iterative, with a way back to the last star only. A '**' star may take dots; a '*' star may not, and when it cannot
  // grow any more the last '**' takes over.
  size_t p = 0, t = 0;
  constexpr size_t none = std::string_view::npos;
  size_t star = none, starText = 0, wide = none, wideText = 0;
  while (true) {
    if (p == pattern.size() && (t == text.size() || text[t] == '.'))
      return true;
    if (p < pattern.size() && pattern[p] == '*') {
      bool isWide = p + 1 < pattern.size() && pattern[p + 1] == '*';
      while (p < pattern.size() && pattern[p] == '*')
        ++p;
      if (isWide) {
        wide = p;
        wideText = t;
        star = none;
      } else {
        star = p;
        starText = t;
      }
      continue;
    }
    if (p < pattern.size() && t < text.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
      continue;
    }
    if (star != none && starText < text.size() && text[starText] != '.') {
      p = star;
      t = ++starText;
      continue;
    }
    if (wide != none && wideText < text.size()) {
      star = none;
      p = wide;
      t = ++wideText;
      continue;
    }
    return false;
  }
}

bool matchesModule(std::string_view pattern, std::string_view path) {
  if (pattern == "*" || pattern == "**")
    return true;
  return !pattern.empty() && matchesFrom(pattern, path);
}

} // namespace braid::plan
