// RUN: braid-opt %s --rt-to-llvm | FileCheck %s
// RUN: braid-opt %s --rt-to-llvm=emit-main=false | FileCheck %s --check-prefix=LIBRARY

module attributes {pipe.symbols = ["batch"], pipe.plan = "{\"format\": 1}"} {
// Bools are bytes.
// CHECK-DAG: llvm.mlir.global private constant @[[DATA:.*]]("\01\00")
rt.constant @c = dense<[true, false]> : tensor<2xi1>

func.func @first(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) attributes {pipe.entry} {
  // Two calls with the same arguments are one operator, another list of arguments is another.
  %0 = rt.call "aten::add.Tensor"(self = %x, other = %x) : !rt.tensor
  %1 = rt.call "aten::add.Tensor"(self = %0, other = %x) : !rt.tensor
  rt.release %0
  %2 = rt.call "aten::add.Tensor"(self = %1, other = %x, alpha = 2) : !rt.tensor
  rt.release %1
  %3 = rt.get_constant @c
  %4 = rt.retain %3
  return %2, %4 : !rt.tensor, !rt.tensor
}
func.func private @inside() {
  return
}
func.func @second() attributes {pipe.entry} {
  return
}
}

// CHECK-DAG: llvm.mlir.global private constant @[[NAME:.*]]("aten::add.Tensor\00")
// CHECK-DAG: llvm.mlir.global private constant @[[SHORT:.*]]("self,other\00")
// CHECK-DAG: llvm.mlir.global private constant @[[LONG:.*]]("self,other,alpha\00")

// CHECK-LABEL: llvm.func internal @braid_initialize() -> i32
// CHECK: llvm.call @braid_rt_op(
// CHECK: llvm.call @braid_rt_constant(
// CHECK: llvm.mlir.global internal @braid_operators() {{.*}}!llvm.array<2 x ptr>
// CHECK: llvm.mlir.global private constant @".operator_names"
// CHECK: llvm.mlir.addressof @[[NAME]]
// CHECK: llvm.mlir.addressof @[[SHORT]]
// CHECK: llvm.mlir.addressof @[[NAME]]
// CHECK: llvm.mlir.addressof @[[LONG]]
// CHECK: llvm.mlir.global internal @braid_constants() {{.*}}!llvm.array<1 x ptr>
// CHECK: llvm.mlir.global private constant @".constant_table"
// CHECK: llvm.mlir.constant(9 : i32)
// CHECK: llvm.mlir.addressof @[[DATA]]

// CHECK: llvm.mlir.global internal constant @braid_plan("{\22format\22: 1}\00") {{.*}}section = ".braid.plan"
// CHECK: llvm.mlir.global private constant @".functions"
// CHECK: llvm.mlir.addressof @first
// CHECK-NOT: @inside
// CHECK: llvm.mlir.addressof @second

// CHECK: llvm.mlir.global external constant @braid_program
// CHECK: llvm.mlir.constant(2 : i32)
// CHECK: llvm.mlir.addressof @braid_initialize
// CHECK: llvm.func @main(
// CHECK: llvm.call @braid_rt_main(
// LIBRARY-NOT: @main
