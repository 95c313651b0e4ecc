//===- Collectives.h - Tags of the collectives -------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives are ordinary messages with tags of their own, so a rank that enters another collective than its peers is
// told so like any other disagreement.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_RUNTIME_TRANSPORT_COLLECTIVES_H
#define BRAID_RUNTIME_TRANSPORT_COLLECTIVES_H

#include "runtime/transport/Transport.h"

namespace braid::runtime {

inline constexpr uint64_t barrierTag = Transport::reservedTags;
inline constexpr uint64_t allReduceTag = Transport::reservedTags + 1;
inline constexpr uint64_t broadcastTag = Transport::reservedTags + 2;

/// "a barrier" and so on, or null if `tag` is a caller's.
const char *collectiveOfTag(uint64_t tag);

} // namespace braid::runtime

#endif // BRAID_RUNTIME_TRANSPORT_COLLECTIVES_H
