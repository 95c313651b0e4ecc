//===- StandardStreams.cpp - Input and output of the process --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StandardStreams.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

using namespace braid;

void runtime::openStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF)
      continue;
    // The lowest free number is this one: those below it are open by now.
    if (open("/dev/null", O_RDWR) != stream)
      _exit(1);
  }
}

int runtime::flushStandardOutput(int status) {
  errno = 0;
  std::cout.flush();
  bool sound = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
  if (sound)
    return status;
  std::fprintf(stderr, "braid: cannot write to standard output%s%s\n", errno ? ": " : "",
               errno ? std::strerror(errno) : "");
  return status ? status : 1;
}
