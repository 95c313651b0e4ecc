//===- ImportError.h - How import stops ----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LibTorch reports with exceptions, so lib/Import does as well, up to importTorchScript, which turns them into
// diagnostics. None passes through a frame of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_IMPORTERROR_H
#define BRAID_LIB_IMPORT_IMPORTERROR_H

#include <stdexcept>
#include <string>

namespace braid::torchscript {

/// Ends the import. Where a diagnostic has been emitted already, the message is empty.
class ImportError : public std::runtime_error {
public:
  explicit ImportError(const std::string &message) : std::runtime_error(message) {}
  static ImportError reported() { return ImportError(""); }
};

/// The first line of a LibTorch message, without the C++ frames that follow it.
inline std::string firstLine(const std::exception &error) {
  std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_IMPORTERROR_H
