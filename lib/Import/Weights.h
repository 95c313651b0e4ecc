//===- Weights.h - Parameters by reference into the file -----------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_WEIGHTS_H
#define BRAID_LIB_IMPORT_WEIGHTS_H

#include "Archive.h"

#include "braid/Dialect/Braid/IR/BraidDialect.h"

#include <torch/csrc/jit/api/module.h>

#include <unordered_map>

namespace braid::torchscript {

/// Declares braid.weights and one braid.param for each tensor of the model.
class Weights {
public:
  Weights(mlir::ModuleOp module, std::shared_ptr<Archive> archive, const torch::jit::Module &model,
          const std::string &file);

  /// The declaration of a tensor of the model. A tensor that is neither parameter nor buffer, a large constant of the
  /// graph, gets one now. Throws ImportError if the tensor cannot be referred to.
  ParamOp declare(const at::Tensor &tensor, llvm::StringRef kind = "constant");
  ParamOp lookup(llvm::StringRef symbol) const { return byName.lookup(symbol); }

  /// Whether the tensor's values are in memory.
  bool hasValues(const at::Tensor &tensor) const;
  /// The name of a tensor whose memory `param` shares without being the same tensor object: where forward() updates
  /// one, the other changes with it. "" if there is none.
  std::string sharerOf(ParamOp param) const;
  /// The module path of each module object: its first name. "" for the model.
  const std::string &pathOf(const c10::ivalue::Object *object) const { return paths.at(object); }
  bool hasPath(const c10::ivalue::Object *object) const { return paths.count(object) != 0; }

  size_t size() const { return byName.size(); }

  /// Each name of each tensor of the model.
  struct Slot {
    const c10::ivalue::Object *holder;
    std::string attribute;
    const c10::TensorImpl *tensor;
    ParamOp param;
  };
  const std::vector<Slot> &getSlots() const { return slots; }

  std::vector<std::string> remarks;

private:
  void addModule(const torch::jit::Module &module, const std::string &path);
  ParamOp create(const std::string &name, const at::Tensor &tensor, llvm::StringRef kind);
  ParamOp sameMemory(const std::string &name, const at::Tensor &tensor, llvm::StringRef kind);
  void refuseOverlaps() const;

  mlir::OpBuilder builder;
  mlir::Location loc;
  std::shared_ptr<Archive> archive;
  std::string file;
  mlir::Operation *last = nullptr; // the declaration that the next one follows
  llvm::StringMap<ParamOp> byName;
  std::unordered_map<const c10::TensorImpl *, ParamOp> byTensor;
  std::vector<Slot> slots;
  std::vector<at::Tensor> kept; // so that addresses stay taken
  std::map<const void *, std::vector<std::pair<at::Tensor, ParamOp>>> views; // by storage
  std::unordered_map<const c10::ivalue::Object *, std::string> paths;
};

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_WEIGHTS_H
