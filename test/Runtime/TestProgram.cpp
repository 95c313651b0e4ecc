//===- TestProgram.cpp - The hand-written model as an executable ----------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan comes from the file in BRAID_TEST_PLAN, so that one executable serves every placement and schedule.
//
//===----------------------------------------------------------------------===//

#include "TestModel.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

int main(int argc, char **argv) {
  const char *file = std::getenv("BRAID_TEST_PLAN");
  std::ostringstream plan;
  plan << std::ifstream(file ? file : "").rdbuf();
  std::string text = plan.str();
  braid_program program = braid::test::makeProgram(text);
  return braid_rt_main(argc, argv, &program);
}
