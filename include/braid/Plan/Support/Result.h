//===- Result.h - A value or a worded error ----------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan ring and the runtime report failures with Result<T>. The message is a whole sentence for the user: it
// names the thing, both values that disagree, and the next step.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_PLAN_SUPPORT_RESULT_H
#define BRAID_PLAN_SUPPORT_RESULT_H

#include <string>
#include <utility>
#include <variant>

namespace braid::plan {

struct Error {
  std::string message;
};

/// A T, or an Error. Test it like a pointer, then take `*result` or `result.error()`.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : storage(std::move(value)) {}
  Result(Error error) : storage(std::move(error)) {}

  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() { return std::get<0>(storage); }
  const T &operator*() const { return std::get<0>(storage); }
  T *operator->() { return &std::get<0>(storage); }
  const T *operator->() const { return &std::get<0>(storage); }
  const std::string &error() const { return std::get<1>(storage).message; }

private:
  std::variant<T, Error> storage;
};

/// Success, or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : message(std::move(error.message)), failed(true) {}

  explicit operator bool() const { return !failed; }
  const std::string &error() const { return message; }

private:
  std::string message;
  bool failed = false;
};

} // namespace braid::plan

#endif // BRAID_PLAN_SUPPORT_RESULT_H
