//===- Archive.h - The .pt file, mapped ----------------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TorchScript file is a zip archive whose records are stored uncompressed. LibTorch reads it through this adapter,
// which leaves the bytes of large tensors where they are: their storage stays untouched memory, and the address tells
// where in the file the tensor lies. A 10 GB model is imported in megabytes.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_ARCHIVE_H
#define BRAID_LIB_IMPORT_ARCHIVE_H

#include "braid/Plan/File/Archive.h"

#include "llvm/Support/MemoryBuffer.h"

#include <caffe2/serialize/read_adapter_interface.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace braid::torchscript {

class Archive : public caffe2::serialize::ReadAdapterInterface {
public:
  /// Maps the file and checks its directory, the checksums of code and pickles, and that it is a TorchScript program.
  /// Throws ImportError.
  static std::shared_ptr<Archive> open(const std::string &file);

  size_t size() const override { return buffer->getBufferSize(); }
  size_t read(uint64_t position, void *target, size_t count, const char *what = "") const override;

  /// What tells this file from others: see lib/Plan.
  const std::string &getDigest() const { return digest; }

  /// Byte offset in the file of the record that was read to this address.
  std::optional<uint64_t> offsetOf(const void *storage) const;
  /// Whether the storage at this address was left out: its bytes are only in the file.
  bool isLeftOut(const void *storage) const;

private:
  Archive() = default;
  void readDirectory();
  void checkContents() const;
  static bool isTensor(llvm::StringRef name);
  static bool leavesOut(const plan::ArchiveRecord &record) { return record.bytes >= leaveOutBytes; }

  static constexpr uint64_t leaveOutBytes = 64 << 10;

  std::string file, digest;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::map<std::string, plan::ArchiveRecord> records; // by name, without the archive's own folder
  std::unordered_map<uint64_t, const plan::ArchiveRecord *> recordsByOffset; // of tensors
  mutable std::unordered_map<const void *, const plan::ArchiveRecord *> storages;
};

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_ARCHIVE_H
