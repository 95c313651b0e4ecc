//===- Oracles.h - Reading the tables of expected values --------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_TEST_PLAN_ORACLES_H
#define BRAID_TEST_PLAN_ORACLES_H

#include "braid/Plan/Schedule/Schedule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace braid::plan {

inline std::string readOracle(const std::string &name) {
  std::ifstream file(std::string(BRAID_PLAN_ORACLES) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The rows of a CSV file with a header, each a map from column to text. Quotes are kept out.
inline std::vector<std::map<std::string, std::string>> readTable(const std::string &name) {
  std::istringstream text(readOracle(name));
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
  std::string line;
  while (std::getline(text, line)) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        cells.emplace_back();
      else if (c != '\r')
        cells.back() += c;
    }
    if (header.empty()) {
      header = cells;
      continue;
    }
    auto &row = rows.emplace_back();
    for (size_t i = 0; i < header.size() && i < cells.size(); ++i)
      row[header[i]] = cells[i];
  }
  return rows;
}

} // namespace braid::plan

#endif // BRAID_TEST_PLAN_ORACLES_H
