//===- KillAtSync.cpp - Ends a process where it makes files durable -------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library for LD_PRELOAD: with BRAID_TEST_KILL_AT=N the N-th call of fsync() or of a rename in a process kills it
// before anything is done.
//
//===----------------------------------------------------------------------===//

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>

static void count() {
  static int calls;
  const char *at = std::getenv("BRAID_TEST_KILL_AT");
  if (at && ++calls == std::atoi(at))
    raise(SIGKILL);
}

template <typename Function> static Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

extern "C" int fsync(int file) {
  count();
  return next<int(int)>("fsync")(file);
}

extern "C" int rename(const char *from, const char *to) noexcept {
  count();
  return next<int(const char *, const char *)>("rename")(from, to);
}

extern "C" int renameat2(int fromFolder, const char *from, int toFolder, const char *to, unsigned flags) noexcept {
  count();
  return next<int(int, const char *, int, const char *, unsigned)>("renameat2")(fromFolder, from, toFolder, to, flags);
}
