//===- Text.h - Nearest words and module patterns ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_TEXT_H
#define BRAID_PLAN_SUPPORT_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::plan {

/// Without blanks and tabs at both ends.
std::string_view trim(std::string_view text);

/// Up to six digits that count: 60000, 0.125, 1.5e+09.
std::string decimal(double value);

/// 16 hex digits.
std::string hex(uint64_t value);

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
int editDistance(std::string_view a, std::string_view b);

/// The candidate closest to the word, or "" if none is close enough to be meant: at most a third of the word away, or
/// the same but for case.
std::string nearest(std::string_view word, const std::vector<std::string> &candidates);

/// "; did you mean 'x'?", or "; known are: a, b, c" where nothing is near; "" without candidates.
std::string suggest(std::string_view word, const std::vector<std::string> &candidates);

/// Names with dots, and the module paths that they lie below, each once: what a module pattern may mean.
std::vector<std::string> withModules(const std::vector<std::string> &names);

/// Whether a module's path matches a pattern or lies below a module that does. Paths are names joined by dots. In a
/// pattern `*` stands for any characters within one name and `**` for any characters, dots included; a pattern of one
/// `*` matches every module, the root "" as well. So `net.layers.*.mlp` matches net.layers.3.mlp and
/// net.layers.3.mlp.fc1, but not net.layers.3.attention.
bool matchesModule(std::string_view pattern, std::string_view path);

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_TEXT_H
