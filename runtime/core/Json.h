//===- Json.h - Reading JSON with located errors -----------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node with its path. What is missing or of another kind throws JsonError, whose message names the path, so a reader
// is a list of fields; whoever starts reading catches.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_CORE_JSON_H
#define BRAID_RUNTIME_CORE_JSON_H

#include "runtime/core/Text.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <stdexcept>

namespace braid::runtime {

struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class JsonNode {
public:
  JsonNode(const nlohmann::json &node, std::string path) : node(node), path(std::move(path)) {}

  [[noreturn]] void fail(const std::string &why) const { throw JsonError(path + " " + why); }

  JsonNode operator[](const char *key) const {
    if (!node.is_object() || !node.contains(key))
      fail(text("has no '", key, "'"));
    return {node[key], path.empty() ? key : path + "." + key};
  }
  bool has(const char *key) const { return node.is_object() && node.contains(key) && !node[key].is_null(); }

  std::string string() const {
    if (!node.is_string())
      fail(text("is ", node.type_name(), ", not a string"));
    return node.get<std::string>();
  }
  bool boolean() const {
    if (!node.is_boolean())
      fail(text("is ", node.type_name(), ", not true or false"));
    return node.get<bool>();
  }
  double real() const {
    if (!node.is_number())
      fail(text("is ", node.type_name(), ", not a number"));
    return node.get<double>();
  }
  int64_t integer(int64_t least = 0, int64_t most = std::numeric_limits<int64_t>::max()) const {
    if (!node.is_number_integer())
      fail(text("is ", node.type_name(), ", not an integer"));
    bool huge = node.is_number_unsigned() && node.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max());
    if (huge || node.get<int64_t>() < least || node.get<int64_t>() > most)
      fail(text("is ", node.dump(), ", outside ", least, " to ", most));
    return node.get<int64_t>();
  }
  /// The number of an element of a list of `count`.
  int index(size_t count, const char *what) const {
    int64_t value = integer(std::numeric_limits<int64_t>::min());
    if (value < 0 || static_cast<uint64_t>(value) >= count)
      fail(text("is ", value, " and there are ", count, " ", what));
    return static_cast<int>(value);
  }

  std::vector<JsonNode> list() const {
    if (!node.is_array())
      fail(text("is ", node.type_name(), ", not a list"));
    std::vector<JsonNode> result;
    for (size_t i = 0; i < node.size(); ++i)
      result.emplace_back(node[i], text(path, "[", i, "]"));
    return result;
  }
  /// `each` of every element, in order.
  template <typename Each> auto map(Each each) const {
    std::vector<decltype(each(std::declval<JsonNode>()))> result;
    for (const JsonNode &element : list())
      result.push_back(each(element));
    return result;
  }

private:
  const nlohmann::json &node;
  std::string path;
};

} // namespace braid::runtime

#endif // BRAID_RUNTIME_CORE_JSON_H
