//===- Types.cpp - Element types of LibTorch and MLIR ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace braid::torchscript {

namespace {
struct Entry {
  c10::ScalarType scalar;
  llvm::StringLiteral name;
  Type (*make)(Builder &);
};
} // namespace

static const Entry table[] = {
    {c10::ScalarType::Float, "f32", [](Builder &b) -> Type { return b.getF32Type(); }},
    {c10::ScalarType::Double, "f64", [](Builder &b) -> Type { return b.getF64Type(); }},
    {c10::ScalarType::BFloat16, "bf16", [](Builder &b) -> Type { return b.getBF16Type(); }},
    {c10::ScalarType::Half, "f16", [](Builder &b) -> Type { return b.getF16Type(); }},
    {c10::ScalarType::Long, "i64", [](Builder &b) -> Type { return b.getIntegerType(64); }},
    {c10::ScalarType::Int, "i32", [](Builder &b) -> Type { return b.getIntegerType(32); }},
    {c10::ScalarType::Short, "i16", [](Builder &b) -> Type { return b.getIntegerType(16); }},
    {c10::ScalarType::Char, "i8", [](Builder &b) -> Type { return b.getIntegerType(8); }},
    {c10::ScalarType::Byte, "u8", [](Builder &b) -> Type { return b.getIntegerType(8, /*isSigned=*/false); }},
    {c10::ScalarType::Bool, "bool", [](Builder &b) -> Type { return b.getIntegerType(1); }},
};

Type toMlirType(MLIRContext *context, c10::ScalarType type) {
  Builder builder(context);
  const Entry *entry = llvm::find_if(table, [&](const Entry &entry) { return entry.scalar == type; });
  return entry == std::end(table) ? Type() : entry->make(builder);
}

static const Entry *findEntry(Type type) {
  Builder builder(type.getContext());
  const Entry *entry = llvm::find_if(table, [&](const Entry &entry) { return entry.make(builder) == type; });
  return entry == std::end(table) ? nullptr : entry;
}

c10::ScalarType toScalarType(Type type) {
  const Entry *entry = findEntry(type);
  return entry ? entry->scalar : c10::ScalarType::Undefined;
}

std::string typeName(Type type) {
  const Entry *entry = findEntry(type);
  return entry ? entry->name.str() : "?";
}

Type parseTypeName(MLIRContext *context, StringRef name) {
  Builder builder(context);
  const Entry *entry = llvm::find_if(table, [&](const Entry &entry) { return entry.name == name.lower(); });
  return entry == std::end(table) ? Type() : entry->make(builder);
}

} // namespace braid::torchscript
