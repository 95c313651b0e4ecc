//===- Interpreter.h - Runs TorchScript graphs ---------------------*- C++ -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the graph of a method node by node, enters the methods that it calls, takes constant branches, and unrolls
// constant loops. Operators on tensors go to Aten; what is done on Python values alone is done here and in Scalars.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_LIB_IMPORT_INTERPRETER_H
#define BRAID_LIB_IMPORT_INTERPRETER_H

#include "Aten.h"

#include <torch/csrc/jit/ir/ir.h>

namespace braid::torchscript {

class Interpreter {
public:
  Interpreter(Emitter &emitter, Aten &aten) : emitter(emitter), aten(aten) {}

  /// Runs model.forward(inputs...).
  Item run(const torch::jit::Module &model, std::vector<Item> inputs);
  /// The buffers that forward() has changed, with their last value.
  std::vector<std::pair<ParamOp, TensorRef>> updatedBuffers();

private:
  using Object = c10::intrusive_ptr<c10::ivalue::Object>;
  using Environment = std::unordered_map<const torch::jit::Value *, Item>;
  using Results = std::vector<Item>;

  Item runFunction(torch::jit::Function &function, std::vector<Item> args);
  Item callMethod(const Object &object, const std::string &name, std::vector<Item> args);
  void runBlock(torch::jit::Block *block, Environment &values);
  void runNode(torch::jit::Node *node, Environment &values);
  void runIf(torch::jit::Node *node, Environment &values);
  void runLoop(torch::jit::Node *node, Environment &values);
  /// Nodes of the prim:: namespace that are no operators; nothing for others.
  std::optional<Results> runPrimitive(torch::jit::Node *node, const std::vector<Item> &args);
  /// Operators none of whose arguments is a tensor.
  Results runScalars(torch::jit::Node *node, const std::vector<Item> &args);
  std::optional<Results> runOnSizes(const std::string &name, const std::vector<Item> &args);
  std::optional<Results> runOnContainers(torch::jit::Node *node, const std::string &name,
                                         const std::vector<Item> &args);

  void setAttribute(const Object &object, const std::string &name, const Item &value);
  Item getAttribute(const Object &object, const std::string &name);
  Item fromIValue(const c10::IValue &value);
  TensorRef &tensorOf(const at::Tensor &tensor); // null where it is met first
  bool toBool(const Item &item, const std::string &what);
  mlir::Location locate(torch::jit::Node *node);

  Emitter &emitter;
  Aten &aten;
  std::unordered_map<const c10::ivalue::Object *, int> callCounts;
  std::unordered_map<const c10::TensorImpl *, TensorRef> tensors;               // attributes and constants
  std::vector<at::Tensor> kept;                                                 // so that these addresses stay taken
  std::map<std::pair<const c10::ivalue::Object *, std::string>, Item> replaced; // attributes that were set
  std::vector<Object> running;
  unsigned depth = 0;
};

} // namespace braid::torchscript

#endif // BRAID_LIB_IMPORT_INTERPRETER_H
