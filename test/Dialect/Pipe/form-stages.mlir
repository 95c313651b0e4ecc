// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="stages=2 microbatches=2" | FileCheck %s
// RUN: not braid-opt %s --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="stages=9" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not braid-opt %s --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=KIND

// Two linear layers and a loss on two stages. The activation goes forwards, its cotangent back; labels go straight to
// the stage that reads them; the loss's count comes from the prologue.

// CHECK: pipe.symbols = ["batch"]
// CHECK: func.func @prologue
// CHECK: pipe.value 0 of 0 : tensor<?x4xf64> {dims = ["batch", "4"], gradient, name = "up"}
// CHECK: pipe.edge 0 from 0 to 1
// CHECK: func.func @stage0.forward(%{{.*}}: tensor<4x4xf64>, %{{.*}}: tensor<?x4xf64> {{.*}}) -> (tensor<?x4xf64>
// CHECK: func.func @stage0.backward_input
// CHECK: func.func @stage0.backward(
// CHECK: func.func @stage0.backward_weight
// CHECK: pipe.stage 0 on 0 forward(@stage0.forward)
// CHECK-SAME: gradients = [@up.weight]
// CHECK-SAME: inputs = ["x"]
// CHECK-SAME: values_in = array<i64>, values_out = array<i64: 0>
// CHECK: pipe.stage 1 on 1 forward(@stage1.forward)
// CHECK-SAME: counts = array<i64: 0>
// CHECK-SAME: inputs = ["y"], loss
// CHECK-SAME: values_in = array<i64: 0>, values_out = array<i64>
// CHECK: pipe.schedule "1f1b" microbatches 2 rows ["0F0,0SEND_F0,{{.*}}", "1RECV_F0,1F0,{{.*}}1B0,1SEND_B0,{{.*}}"]

// MANY: error: the model has {{[0-9]+}} units and glue pieces, which cannot fill 9 stages: ask for fewer stages
// KIND: error: schedule 'zigzag' is not one that braidc compiles: use 1f1b, gpipe, interleaved, looped_bfs, zb_h1, zb_h2, zb_v, v_half, v_min

module attributes {braid.symbols = {batch = 4 : i64}} {
  braid.weights @weights file("model.pt") {bytes = 100 : i64, digest = "0"}
  braid.param @up.weight : tensor<4x4xf64> at 0 {requires_grad}
  braid.param @down.weight : tensor<4x4xf64> at 128 {requires_grad}
  func.func @main(%x: tensor<?x4xf64> {braid.input = "x", braid.dims = ["batch", "4"]},
                  %y: tensor<?x4xf64> {braid.input = "y", braid.dims = ["batch", "4"]}) -> tensor<f64> {
    %w0 = braid.get_param @up.weight : tensor<4x4xf64>
    %0 = braid.linear(input = %x, weight = %w0) {path = "up"} : (tensor<?x4xf64>, tensor<4x4xf64>) -> tensor<?x4xf64>
    %w1 = braid.get_param @down.weight : tensor<4x4xf64>
    %1 = braid.linear(input = %0, weight = %w1) {path = "down"} : (tensor<?x4xf64>, tensor<4x4xf64>) -> tensor<?x4xf64>
    %2 = braid.mse_loss(self = %1, target = %y) {path = ""} : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<f64>
    return %2 : tensor<f64>
  }
}
