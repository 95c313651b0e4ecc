// RUN: braid-opt %s --rt-to-llvm | FileCheck %s
// RUN: braid-opt %s --rt-to-llvm=kernel-cpu=x86-64-v3 | FileCheck %s --check-prefix=VERSIONS

// Two loops over a row: the sum, then what needs it, with exp computed twice rather than kept.
rt.kernel @normalize rank 2 inputs [0, 1] outputs [0] {
^bb0(%x: f64, %s: f64):
  %0 = arith.mulf %x, %s : f64
  %1 = math.exp %0 : f64
  %2 = rt.row_sum %1 : f64
  %3 = arith.divf %1, %2 : f64
  rt.yield %3 : f64
}
// CHECK-LABEL: llvm.func internal @".normalize"(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK-SAME: passthrough = ["braid-kernel"]
// CHECK: llvm.intr.exp
// CHECK: llvm.fadd {{.*}} {fastmathFlags = #llvm.fastmath<contract, reassoc>}
// CHECK: llvm.intr.exp
// CHECK: llvm.fdiv
// CHECK: llvm.store {{.*}}alias_scopes
// CHECK-NOT: llvm.intr.exp
// CHECK: llvm.return
// VERSIONS: llvm.func internal @".normalize.x86-64-v3"
// VERSIONS-SAME: target_cpu = "x86-64-v3"

func.func @f(%x: !rt.tensor, %s: !rt.tensor) -> !rt.tensor attributes {pipe.entry} {
  // CHECK-LABEL: llvm.func @f
  // CHECK: llvm.call @braid_rt_launch
  %0 = rt.launch @normalize(%x, %s) over [4, 8] : (!rt.tensor, !rt.tensor) -> !rt.tensor
  return %0 : !rt.tensor
}
