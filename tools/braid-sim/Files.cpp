//===- Files.cpp - Reading and writing of files ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "braid/Plan/Support/Files.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace braid;

plan::Result<std::string> sim::readFile(const std::string &what, const std::string &path) {
  if (plan::Status status = plan::checkRegularFile(path); !status)
    return plan::Error{status.error()};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() == std::ifstream::traits_type::eof() && file.eof() && !file.bad())
    return plan::Error{"the " + what + " " + path + " is empty"};
  if (!file || !(text << file.rdbuf()))
    return plan::Error{"the " + what + " " + path + " cannot be read; check the path"};
  return text.str();
}

plan::Status sim::writeFile(const std::string &path, const std::string &text) {
  if (path.empty() || path == "-") {
    std::cout << text;
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    return plan::Error{"cannot write " + path + "; check that its folder exists and has room"};
  return {};
}
