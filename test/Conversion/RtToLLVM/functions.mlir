// RUN: braid-opt %s --rt-to-llvm | FileCheck %s

module attributes {pipe.symbols = ["batch", "seq"], pipe.plan = "{\"format\": 1}"} {

// The frame holds slots for the owned handles and buffers for lists; a failing call goes to the one cleanup block.
// CHECK-LABEL: llvm.func internal @unit(
// CHECK-SAME: %[[SYMBOLS:.*]]: !llvm.ptr, %[[OPERANDS:.*]]: !llvm.ptr, %[[RESULTS:.*]]: !llvm.ptr) -> i32
func.func private @unit(%x: !rt.tensor) -> !rt.tensor {
  // CHECK: %[[SLOTS:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
  // CHECK: %[[SIZES:.*]] = llvm.alloca %{{.*}} x i64
  // CHECK: "llvm.intr.memset"(%[[SLOTS]],
  // CHECK: %[[AT:.*]] = llvm.getelementptr %[[SYMBOLS]][8]
  // CHECK: %[[SEQ:.*]] = llvm.load %[[AT]] invariant
  %n = rt.symbol 1
  // CHECK: %[[X:.*]] = llvm.load %[[OPERANDS]]
  // CHECK: llvm.store %[[SEQ]], %[[SIZES]]
  // CHECK: %[[DESCRIPTOR:.*]] = llvm.mlir.addressof @[[VIEW:.*]] : !llvm.ptr
  // CHECK: %[[STATUS:.*]] = llvm.call @[[HELPER:.*]](%[[DESCRIPTOR]], %[[SLOTS]], %[[X]], %[[SIZES]])
  // CHECK: %[[BAD:.*]] = llvm.icmp "ne" %[[STATUS]]
  // CHECK: llvm.cond_br %[[BAD]], ^[[FAILED:.*]](%[[STATUS]] : i32), ^{{.*}}
  %0 = rt.call "aten::view"(self = %x, size = [%n, 32]) at <"act", "m.py", 12> : !rt.tensor
  // The slot of %0 is free after the release, so the third call takes it again.
  // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[SLOTS]][8]
  // CHECK: llvm.call @{{.*}}(%{{.*}}, %[[SECOND]],
  %1 = rt.call "aten::neg"(self = %0) : !rt.tensor
  // CHECK: llvm.call @braid_rt_release_all(%[[SLOTS]], %[[ONE:.*]])
  rt.release %0
  // CHECK: llvm.call @{{.*}}(%{{.*}}, %[[SLOTS]],
  %2 = rt.call "aten::neg"(self = %1) : !rt.tensor
  rt.release %1
  // CHECK: %[[VALUE:.*]] = llvm.load %[[SLOTS]]
  // CHECK: llvm.store %[[VALUE]], %[[RESULTS]]
  // CHECK: llvm.return
  // CHECK: ^[[FAILED]](%[[FINAL:.*]]: i32):
  // CHECK: llvm.call @braid_rt_release_all(%[[SLOTS]], %{{.*}})
  // CHECK: llvm.return %[[FINAL]]
  return %2 : !rt.tensor
}

// The descriptor: operator 0, one result, the site, a tensor and a list of two sizes that the caller passes.
// CHECK: llvm.mlir.global private constant @[[VIEW]]() {{.*}}!llvm.struct<(i32, i32, ptr, ptr, i32, array<4 x i64>)>
// CHECK: llvm.mlir.constant(12 : i32)
// CHECK: llvm.mlir.constant(dense<[1, 0, 8589934599, 0]> : tensor<4xi64>)

// The helper copies the descriptor's values and sets the two that vary.
// CHECK: llvm.func internal @[[HELPER]](%[[D:.*]]: !llvm.ptr, %[[R:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32 attributes {no_inline
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[D]][32]
// CHECK: "llvm.intr.memcpy"(%[[VALUES:.*]], %[[FROM]],
// CHECK: llvm.call @braid_rt_call(%{{.*}}, %[[VALUES]], %{{.*}}, %[[R]],

// A failure inside shared code is told with the path of the call.
// CHECK-LABEL: llvm.func @forward(
func.func @forward(%x: !rt.tensor) -> !rt.tensor attributes {pipe.entry} {
  // CHECK: %[[CALL:.*]] = llvm.call @unit(
  // CHECK: %[[PATH:.*]] = llvm.mlir.addressof @[[NAME:.*]] : !llvm.ptr
  // CHECK: llvm.cond_br %{{.*}}, ^[[FAILED:.*]](%[[CALL]], %[[PATH]] : i32, !llvm.ptr)
  %0 = rt.invoke @unit(%x) in "net.layers.0" : (!rt.tensor) -> !rt.tensor
  // CHECK: ^[[FAILED]](%{{.*}}: i32, %[[WHERE:.*]]: !llvm.ptr):
  // CHECK: llvm.call @braid_rt_within(%[[WHERE]])
  return %0 : !rt.tensor
}
// CHECK: llvm.mlir.global private constant @[[NAME]]("net.layers.0\00")

// CHECK-LABEL: llvm.func internal @gradient(
func.func private @gradient(%x: !rt.tensor, %dy: !rt.tensor) -> !rt.tensor {
  // CHECK: %[[COTANGENTS:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
  // CHECK: llvm.call @[[GRADIENT:.*]](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
  %0 = rt.call_gradient "aten::mul.Tensor"(self = %x, other = %x) cotangents [%dy] wanted [1] : !rt.tensor
  return %0 : !rt.tensor
}
// CHECK: llvm.func internal @[[GRADIENT]](
// CHECK: llvm.call @braid_rt_call_gradient(

// Nothing that can fail, so no cleanup; nothing owned but what is returned.
// CHECK-LABEL: llvm.func internal @sizes(
func.func private @sizes(%x: !rt.tensor) -> !rt.tensor {
  // CHECK-NOT: llvm.cond_br
  // CHECK: llvm.call @braid_rt_retain
  // CHECK: llvm.return
  %0 = rt.retain %x
  return %0 : !rt.tensor
}

// CHECK-LABEL: llvm.func internal @arithmetic(
func.func private @arithmetic() -> !rt.tensor {
  // CHECK: %[[BATCH:.*]] = llvm.load %{{.*}} invariant
  %batch = rt.symbol 0
  %two = arith.constant 2 : index
  // CHECK: %[[PRODUCT:.*]] = llvm.mul %[[BATCH]],
  %0 = arith.muli %batch, %two : index
  // CHECK: %[[SUM:.*]] = llvm.add %[[PRODUCT]], %[[BATCH]]
  %1 = arith.addi %0, %batch : index
  // CHECK: %[[DIFFERENCE:.*]] = llvm.sub %[[SUM]],
  %2 = arith.subi %1, %two : index
  // CHECK: %[[MAX:.*]] = llvm.intr.smax(%[[DIFFERENCE]],
  %3 = arith.maxsi %2, %two : index
  // CHECK: %[[QUOTIENT:.*]] = llvm.call @[[FLOORDIV:.*]](%[[MAX]],
  %4 = arith.floordivsi %3, %two : index
  // CHECK: llvm.call @braid_rt_scalar(%[[QUOTIENT]],
  %5 = rt.scalar %4
  return %5 : !rt.tensor
}
// CHECK: llvm.func internal @[[FLOORDIV]](%{{.*}}: i64, %{{.*}}: i64) -> i64

// No dims, no list of them.
// CHECK-LABEL: llvm.func internal @number(
func.func private @number() -> !rt.tensor {
  // CHECK: %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
  // CHECK: llvm.call @braid_rt_rand(%[[NONE]],
  %0 = rt.rand [] f32 stream 6 : !rt.tensor
  return %0 : !rt.tensor
}

// What random numbers are drawn for stands behind the two symbols; streams of a unit come from the caller's list.
// CHECK-LABEL: llvm.func internal @draws(
// CHECK-SAME: %[[SYMBOLS:.*]]: !llvm.ptr, %[[OPERANDS:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[STREAMS:.*]]: !llvm.ptr) -> i32
func.func private @draws(%x: !rt.tensor) -> !rt.tensor attributes {rt.streams = 2 : i64} {
  // CHECK: %[[BATCH:.*]] = llvm.load %{{.*}} invariant
  %n = rt.symbol 0
  // CHECK: %[[X:.*]] = llvm.load %[[OPERANDS]]
  // CHECK: %[[AT:.*]] = llvm.getelementptr %[[STREAMS]][8]
  // CHECK: %[[STREAM:.*]] = llvm.load %[[AT]]
  // CHECK: %[[RANDOM:.*]] = llvm.getelementptr %[[SYMBOLS]][16]
  // CHECK: llvm.call @braid_rt_dropout(%[[X]], %{{.*}}, %[[RANDOM]], %[[STREAM]], %[[BATCH]], %[[BATCH]], %{{.*}}, %{{.*}}) : (!llvm.ptr, f64, !llvm.ptr, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> i32
  %0 = rt.dropout %x, 0.1 stream 1 before %n samples %n at <"net", "m.py", 3> : !rt.tensor
  return %0 : !rt.tensor
}
// CHECK-LABEL: llvm.func internal @layer(
func.func private @layer(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) {
  // CHECK: llvm.mlir.constant(5 : i64)
  // CHECK: %[[LIST:.*]] = llvm.mlir.addressof @[[STREAMS:.*]] : !llvm.ptr
  // CHECK: llvm.call @draws(%{{.*}}, %{{.*}}, %{{.*}}, %[[LIST]])
  %0 = rt.invoke @draws(%x) streams [3, 4] : (!rt.tensor) -> !rt.tensor
  // CHECK: llvm.call @braid_rt_rand(
  %1 = rt.rand [7] f32 stream 5 : !rt.tensor
  return %0, %1 : !rt.tensor, !rt.tensor
}
// CHECK: llvm.mlir.global private constant @[[STREAMS]](dense<[3, 4]> : tensor<2xi64>)
}
