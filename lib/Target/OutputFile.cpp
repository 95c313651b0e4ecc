//===- OutputFile.cpp - Where a tool writes -------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Target/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace braid {

plan::Status checkOutput(StringRef output, ArrayRef<StringRef> inputs) {
  if (output == "-")
    return {};
  if (sys::fs::is_directory(output))
    return plan::Error{("cannot write '" + output + "': it is a folder; name a file in it").str()};
  if (StringRef folder = sys::path::parent_path(output); !folder.empty() && !sys::fs::is_directory(folder))
    return plan::Error{("cannot write '" + output + "': there is no folder '" + folder + "'").str()};
  for (StringRef input : inputs)
    if (!input.empty() && (input == output || sys::fs::equivalent(input, output)))
      return plan::Error{("cannot write '" + output + "': it is the input '" + input + "'; name another file").str()};
  return {};
}

/// The stream's error, which is then forgotten: a stream that ends with one aborts.
static plan::Status takeError(raw_fd_ostream &stream, const Twine &where) {
  if (!stream.has_error())
    return {};
  std::string why = stream.error().message();
  stream.clear_error();
  return plan::Error{("cannot write " + where + ": " + why).str()};
}

plan::Status replaceFile(StringRef output, function_ref<plan::Status(StringRef path)> make) {
  sys::fs::file_status status;
  if (!sys::fs::status(output, status) && status.type() != sys::fs::file_type::regular_file)
    return make(output); // a device or a pipe has no place to take
  SmallString<128> path;
  if (std::error_code code = sys::fs::createUniqueFile(output + "-%%%%%%.tmp", path))
    return plan::Error{("cannot write '" + output + "': " + code.message()).str()};
  plan::Status made = make(path);
  if (made)
    if (std::error_code code = sys::fs::rename(path, output))
      made = plan::Error{("cannot write '" + output + "': " + code.message()).str()};
  if (!made)
    sys::fs::remove(path);
  return made;
}

plan::Status writeOutput(StringRef output, function_ref<void(raw_ostream &)> write) {
  if (output == "-") {
    write(outs());
    outs().flush();
    return takeError(outs(), "to standard output");
  }
  return replaceFile(output, [&](StringRef path) -> plan::Status {
    std::error_code code;
    raw_fd_ostream stream(path, code);
    if (code)
      return plan::Error{("cannot write '" + output + "': " + code.message()).str()};
    write(stream);
    stream.close();
    return takeError(stream, "'" + output + "'");
  });
}

} // namespace braid
