//===- MappedFile.cpp - Files in memory -----------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/data/MappedFile.h"
#include "runtime/core/Text.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace braid;
using namespace braid::runtime;

namespace {
/// What the signal handler knows. It may run at any time, so an entry counts once its start is set.
struct Watched {
  std::atomic<bool> taken;
  std::atomic<std::byte *> start;
  std::atomic<size_t> bytes;
  char name[1024];
};
Watched watchedFiles[32];

void print(const char *text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

void handleBusError(int signal, siginfo_t *info, void *) {
  for (const Watched &entry : watchedFiles) {
    std::byte *start = entry.start, *at = static_cast<std::byte *>(info->si_addr);
    if (!start || at < start || at >= start + entry.bytes)
      continue;
    print("braid: the file ");
    print(entry.name);
    print(" became shorter, or could not be read, while it was in use; restore it and start again\n");
    _exit(1);
  }
  std::signal(signal, SIG_DFL); // the instruction runs again, and ends the process
}
} // namespace

void runtime::explainBusErrors() {
  struct sigaction action = {};
  action.sa_sigaction = handleBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

plan::Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would wait for its other end
  if (file < 0)
    return plan::Error{text("cannot read ", path, ": ", std::strerror(errno))};
  struct stat status;
  void *start = nullptr;
  int failed = fstat(file, &status);
  if (!failed && !S_ISREG(status.st_mode)) {
    close(file);
    return plan::Error{text("cannot read ", path, ": it is no regular file")};
  }
  if (!failed && status.st_size > 0) {
    start = mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    failed = start == MAP_FAILED;
  }
  if (failed) {
    int code = errno;
    close(file);
    return plan::Error{text("cannot read ", path, ": ", std::strerror(code))};
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, file, static_cast<std::byte *>(start), static_cast<size_t>(status.st_size)));
}

MappedFile::MappedFile(std::string path, int file, std::byte *start, size_t bytes)
    : name(std::move(path)), file(file), start(start), bytes(bytes), watched(-1) {
  for (int i = 0; i < int(std::size(watchedFiles)) && watched < 0; ++i) {
    if (watchedFiles[i].taken.exchange(true))
      continue;
    watched = i;
    std::strncpy(watchedFiles[i].name, name.c_str(), sizeof watchedFiles[i].name - 1);
    watchedFiles[i].bytes = bytes;
    watchedFiles[i].start = start;
  }
}

MappedFile::~MappedFile() {
  if (watched >= 0) {
    watchedFiles[watched].start = nullptr;
    watchedFiles[watched].taken = false;
  }
  if (start)
    munmap(start, bytes);
  close(file);
}

plan::Status MappedFile::read(const std::byte *from, void *to, size_t count) const {
  off_t at = from - start;
  char *out = static_cast<char *>(to);
  while (count) {
    ssize_t got = pread(file, out, count, at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return plan::Error{text("cannot read ", name, ": ", std::strerror(errno))};
    if (got == 0) {
      struct stat status = {};
      fstat(file, &status);
      return plan::Error{text("the file ", name, " had ", bytes, " bytes when the run started and has ", status.st_size,
                              " now; restore it and start again")};
    }
    out += got;
    at += got;
    count -= got;
  }
  return {};
}
