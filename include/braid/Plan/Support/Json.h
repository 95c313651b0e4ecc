//===- Json.h - JSON as text -------------------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_JSON_H
#define BRAID_PLAN_SUPPORT_JSON_H

#include <nlohmann/json.hpp>

#include <string>

namespace braid::plan {

/// JSON whose keys stay in the order in which they were written.
using Json = nlohmann::ordered_json;

/// All on one line, or indented. Names come from files and may hold any bytes: what is no UTF-8 is replaced.
inline std::string jsonText(const Json &json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_JSON_H
