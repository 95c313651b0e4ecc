//===- Message.cpp - The message of the last failure ----------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aten/Message.h"

#include <c10/util/Exception.h>

namespace braid::runtime {

static thread_local std::string lastMessage;

braid_status fail(std::string message) {
  lastMessage = std::move(message);
  return 1;
}

std::string siteText(const braid_site *site) {
  std::string result;
  if (!site)
    return result;
  if (site->module && *site->module)
    result.append(" in ").append(site->module);
  if (site->file && *site->file)
    result.append(" at ").append(site->file).append(":").append(std::to_string(site->line));
  return result;
}

std::string firstLine(const std::exception &error) {
  const auto *aten = dynamic_cast<const c10::Error *>(&error);
  std::string message = aten ? aten->what_without_backtrace() : error.what();
  return message.substr(0, message.find('\n'));
}

} // namespace braid::runtime

extern "C" const char *braid_rt_message(void) { return braid::runtime::lastMessage.c_str(); }

extern "C" void braid_rt_within(const char *module) {
  using braid::runtime::lastMessage;
  if (module && *module)
    lastMessage.insert(0, std::string("in ") + module + ": ");
}
