//===- ShapeOracleSchema.cpp - Ops have the arguments of their operators -===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeOracle.h"

#include "../../lib/Evaluator.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <gtest/gtest.h>

using namespace mlir;

namespace braid::oracle {

/// Whether an argument of a kind can carry what the schema asks for.
static bool fits(ArgKind kind, const c10::Argument &argument) {
  std::string type = argument.real_type()->annotation_str();
  bool optional = llvm::StringRef(type).consume_front("Optional[");
  llvm::StringRef inner = type;
  if (optional) {
    inner.consume_front("Optional[");
    inner.consume_back("]");
  }
  switch (kind) {
  case ArgKind::Tensor:
    return type == "Tensor";
  case ArgKind::OptionalTensor:
    return optional && inner == "Tensor";
  case ArgKind::TensorList:
    return type == "List[Tensor]";
  case ArgKind::OptionalTensorList:
    return type == "List[Optional[Tensor]]";
  case ArgKind::SymInt:
    return inner == "int" || inner == "number"; // a SymInt is spelt so; arange has numbers as bounds
  case ArgKind::SymIntList:
    return inner == "List[int]";
  case ArgKind::Int:
    return inner == "int";
  case ArgKind::Float:
    return inner == "float";
  case ArgKind::Bool:
    return inner == "bool";
  case ArgKind::Str:
    return inner == "str";
  case ArgKind::Scalar:
    return inner == "number";
  case ArgKind::Dtype:
    return inner == "ScalarType";
  case ArgKind::IntList:
    return inner == "List[int]";
  case ArgKind::BoolList:
    return inner == "List[bool]";
  }
  return false;
}

TEST(Schema, OpsHaveTheArgumentsOfTheirOperator) {
  for (RegisteredOperationName name : context().getRegisteredOperations()) {
    auto *interface = name.getInterface<AtenOpInterface>();
    if (!interface || !interface->getAtenName().starts_with("aten::"))
      continue;
    std::string op = name.getStringRef().str();
    auto [base, overload] = interface->getAtenName().split('.');
    auto handle = c10::Dispatcher::singleton().findSchema({base.str(), overload.str()});
    ASSERT_TRUE(handle.has_value()) << op << ": no operator " << interface->getAtenName().str();
    const c10::FunctionSchema &schema = handle->schema();
    size_t next = 0;
    for (const ArgSpec &spec : interface->getArgSpecs()) {
      while (next < schema.arguments().size() && schema.arguments()[next].name() != spec.name.str()) {
        const c10::Argument &left = schema.arguments()[next++];
        EXPECT_TRUE(left.default_value() || left.type()->kind() == c10::TypeKind::OptionalType)
            << op << " leaves out " << left.name() << ", which has no default";
      }
      ASSERT_LT(next, schema.arguments().size())
          << op << ": no argument " << spec.name.str() << " there, in " << schema;
      EXPECT_TRUE(fits(spec.kind, schema.arguments()[next]))
          << op << ": " << spec.name.str() << " is " << schema.arguments()[next].real_type()->annotation_str();
      ++next;
    }
    for (; next < schema.arguments().size(); ++next)
      EXPECT_TRUE(schema.arguments()[next].default_value() ||
                  schema.arguments()[next].type()->kind() == c10::TypeKind::OptionalType)
          << op << " leaves out " << schema.arguments()[next].name() << ", which has no default";
  }
}

TEST(Schema, DefaultsAreTheOperators) {
  for (RegisteredOperationName name : context().getRegisteredOperations()) {
    auto *interface = name.getInterface<AtenOpInterface>();
    if (!interface || !interface->getAtenName().starts_with("aten::"))
      continue;
    auto [base, overload] = interface->getAtenName().split('.');
    const c10::FunctionSchema &schema =
        c10::Dispatcher::singleton().findSchemaOrThrow(base.str().c_str(), overload.str().c_str()).schema();
    NamedAttrList defaults;
    name.populateDefaultAttrs(defaults);
    for (NamedAttribute entry : defaults) {
      auto argument = llvm::find_if(schema.arguments(), [&](const c10::Argument &argument) {
        return argument.name() == entry.getName().getValue();
      });
      ASSERT_NE(argument, schema.arguments().end()) << name.getStringRef().str();
      // Where the schema has none, ours is what a call must spell out.
      if (!argument->default_value() || argument->default_value()->isNone())
        continue;
      EXPECT_EQ(test::toIValue(entry.getValue()), *argument->default_value())
          << name.getStringRef().str() << ": " << argument->name();
    }
  }
}

} // namespace braid::oracle
