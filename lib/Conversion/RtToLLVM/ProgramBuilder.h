//===- ProgramBuilder.h - Globals of a compiled program ------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What functions of a program share: strings, operators, constants, and one descriptor for each call. A call's code is
// then the descriptor's address, the address of its results, and the arguments that are not constant; an internal
// helper for each shape of call builds the runtime's argument array from them (CallHelpers.cpp).
//
// A descriptor is, in bytes:
//   0   i32          number of the operator
//   4   i32          number of results
//   8   braid_site   module, file, line (24 bytes with padding)
//   32  braid_value  the arguments, zero where the caller passes them
//   ... i32          of a gradient: the numbers of the wanted tensors
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_CONVERSION_RTTOLLVM_PROGRAMBUILDER_H
#define BRAID_LIB_CONVERSION_RTTOLLVM_PROGRAMBUILDER_H

#include "braid/Dialect/Rt/IR/RtDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/MapVector.h"

#include <variant>

namespace braid {

/// A field of a constant struct: the address of a global (null if empty), an i32, or a run of i64.
using Field = std::variant<mlir::StringAttr, int32_t, llvm::SmallVector<int64_t>>;

/// An argument of a call as its descriptor holds it, or as the caller passes it.
struct ArgumentWords {
  int32_t tag, count;
  std::variant<int64_t, mlir::StringAttr> payload; // a number, or the global that it points to
  enum Patch { None, Pointer, Number } patch;      // what the caller passes instead of the payload
};

class ProgramBuilder {
public:
  explicit ProgramBuilder(mlir::ModuleOp module);

  const mlir::Type pointer, i8, i32, i64;

  /// Names of globals. Equal strings and lists share one; an empty list has none.
  mlir::StringAttr string(llvm::StringRef text);
  mlir::StringAttr list(llvm::ArrayRef<int64_t> values);
  mlir::StringAttr bytes(llvm::StringRef data, unsigned alignment = 1, llvm::StringRef section = "",
                         llvm::StringRef name = "");
  mlir::StringAttr site(rt::SiteAttr site);
  mlir::StringAttr structure(llvm::StringRef name, llvm::ArrayRef<Field> fields, bool external = false);

  int32_t operatorNumber(llvm::StringRef name, mlir::ArrayAttr argumentNames);
  /// The global pointer that holds a constant's handle, as an index into `constantsName`.
  int32_t constantNumber(llvm::StringRef symbol) const { return constantNumbers.lookup(symbol); }

  /// The descriptor of a call. `wanted` is for gradients.
  mlir::StringAttr descriptor(llvm::StringRef name, mlir::ArrayAttr argumentNames,
                              llvm::ArrayRef<ArgumentWords> arguments, int32_t numResults, rt::SiteAttr site,
                              llvm::ArrayRef<int32_t> wanted = {});
  /// i32 helper(descriptor, results, [cotangents,] what is patched...). `cotangents`: their number, for a gradient.
  mlir::LLVM::LLVMFuncOp helper(llvm::ArrayRef<ArgumentWords> arguments, std::optional<int32_t> cotangents);
  /// void gather(table, count, slots, operands, array): array[i] = bases[table[i] & 3][table[i] >> 2], with slots,
  /// operands and constants as bases.
  mlir::LLVM::LLVMFuncOp gather();
  /// Floor division, 0 by 0.
  mlir::LLVM::LLVMFuncOp floorDivide();

  /// The braid_kernel of an rt.kernel.
  llvm::StringMap<mlir::StringAttr> kernels;

  /// A function of the C ABI.
  mlir::LLVM::LLVMFuncOp runtime(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, mlir::Type result = {});
  mlir::LLVM::LLVMFuncOp function(mlir::Location loc, llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                                  bool external);

  /// Makes a global for every rt.constant, which are then gone.
  void takeConstants();
  /// Emits the tables, the initializer, braid_program and main.
  void finish(llvm::ArrayRef<mlir::StringAttr> entries, llvm::StringRef plan, bool emitMain);

  /// The symbols that a function is given; a braid_random follows them.
  int32_t getNumSymbols() const { return numSymbols; }
  size_t getNumOperators() const { return operators.size(); }
  size_t getNumHelpers() const { return helpers.size(); }

  static constexpr llvm::StringLiteral operatorsName = "braid_operators";
  static constexpr llvm::StringLiteral constantsName = "braid_constants";
  static constexpr int32_t siteOffset = 8, valuesOffset = 32;

private:
  mlir::LLVM::GlobalOp global(mlir::Type type, llvm::StringRef name, mlir::Attribute value, bool constant = true);
  void handles(llvm::StringRef name, size_t count);
  void initializer();
  mlir::StringAttr freshName(llvm::StringRef stem);

  mlir::ModuleOp module;
  mlir::OpBuilder builder; // at the end of the module
  llvm::StringMap<mlir::StringAttr> strings;
  llvm::DenseMap<mlir::Attribute, mlir::StringAttr> lists, sites;
  llvm::MapVector<std::pair<mlir::StringAttr, mlir::StringAttr>, int32_t> operators; // by name and argument names
  llvm::StringMap<int32_t> constantNumbers;
  llvm::SmallVector<Field> constantTable;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> helpers, declared;
  int32_t numSymbols = 0;
  unsigned nextName = 0;
};

} // namespace braid

#endif // BRAID_LIB_CONVERSION_RTTOLLVM_PROGRAMBUILDER_H
