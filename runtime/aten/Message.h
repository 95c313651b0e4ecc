//===- Message.h - The message of the last failure ---------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_ATEN_MESSAGE_H
#define BRAID_RUNTIME_ATEN_MESSAGE_H

#include "braid_rt.h"

#include <exception>
#include <string>

namespace braid::runtime {

/// Keeps the message for braid_rt_message() in this thread; returns the status to return.
braid_status fail(std::string message);

/// " in net.model.layers.0 at modeling.py:12", as far as known.
std::string siteText(const braid_site *site);

/// What ATen says: its first line, without the C++ backtrace.
std::string firstLine(const std::exception &error);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_ATEN_MESSAGE_H
