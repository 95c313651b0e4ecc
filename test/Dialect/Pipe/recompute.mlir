// REQUIRES: braid-opt
// RUN: split-file %s %t
// RUN: braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate="recompute=full" --braid-phase-pipe="stages=2 microbatches=1" | FileCheck %s --check-prefixes=BOTH,LATE
// RUN: braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate="recompute=full" --braid-phase-pipe="plan=%t/early.yaml" | FileCheck %s --check-prefixes=BOTH,EARLY
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate="recompute=most" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate="plan=%t/nobody.yaml" 2>&1 | FileCheck %s --check-prefix=NAME

// A layer keeps its input. Right before its backward the rest is computed again; or a function of its own does that for
// the stage. What backward-weight reads of it is carried from backward-input.

// LATE-LABEL: func.func @stage0.backward_input(
// LATE: %[[R:.*]]:3 = braid.call @layers.0.recompute
// LATE: braid.call @layers.0.backward_input{{.*}}%[[R]]#0, %[[R]]#1, %[[R]]#2
// LATE: return {{.*}}%[[R]]#0, %[[R]]#1, %[[R]]#2
// LATE-LABEL: func.func @stage0.backward(
// LATE: %[[R:.*]]:3 = braid.call @layers.0.recompute
// LATE: braid.call @layers.0.backward{{.*}}%[[R]]#0, %[[R]]#1, %[[R]]#2
// LATE-LABEL: func.func @stage0.backward_weight(
// LATE-NOT: recompute
// LATE: return

// EARLY-LABEL: func.func @stage0.recompute(
// EARLY: %[[R:.*]]:3 = braid.call @layers.0.recompute
// EARLY: return %[[R]]#0, %[[R]]#1, %[[R]]#2
// EARLY-LABEL: func.func @stage0.backward_input(
// EARLY-NOT: recompute
// EARLY-LABEL: func.func @stage0.backward(
// EARLY-NOT: recompute
// EARLY: return

// BOTH: pipe.stage 0 on 0
// EARLY-SAME: replay(@stage0.recompute)
// BOTH-SAME: policies = ["full"]
// EARLY-SAME: replayed = 3 : i64
// BOTH-SAME: residuals = 1 : i64
// LATE: "0F0,0SEND_F0,0RECV_B0,0RECOMPUTE0,0B0
// EARLY: "0F0,0SEND_F0,0RECOMPUTE0,0RECV_B0,0B0

// WORD: error: recompute is 'most'; there are none, selective and full
// NAME: nobody.yaml:1:13: error: recompute names 'layer.0', which is neither a component nor a module of a unit; the nearest is 'layers.0'

//--- early.yaml
components: {all: {modules: ["*"], mesh: {ranks: [0, 1], axes: {pp: 2}}}}
schedule: {microbatches: 1, recompute: early}
//--- nobody.yaml
recompute: {layer.0: full}
//--- model.mlir
module attributes {braid.symbols = {batch = 128 : i64}} {
  braid.weights @weights file("model.pt") {bytes = 100 : i64, digest = "0"}
  braid.param @layers.0.up.weight : tensor<256x64xf32> at 0 {requires_grad}
  braid.param @layers.0.down.weight : tensor<64x256xf32> at 65536 {requires_grad}
  braid.param @layers.1.up.weight : tensor<256x64xf32> at 131072 {requires_grad}
  braid.param @layers.1.down.weight : tensor<64x256xf32> at 196608 {requires_grad}
  func.func @main(%x: tensor<?x64xf32> {braid.input = "x", braid.dims = ["batch", "64"]},
                  %y: tensor<?x64xf32> {braid.input = "y", braid.dims = ["batch", "64"]}) -> tensor<f32> {
    %w0 = braid.get_param @layers.0.up.weight : tensor<256x64xf32>
    %0 = braid.linear(input = %x, weight = %w0) {path = "layers.0.up"} : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
    %1 = braid.tanh(self = %0) {path = "layers.0"} : (tensor<?x256xf32>) -> tensor<?x256xf32>
    %2 = braid.exp(self = %1) {path = "layers.0"} : (tensor<?x256xf32>) -> tensor<?x256xf32>
    %w1 = braid.get_param @layers.0.down.weight : tensor<64x256xf32>
    %3 = braid.linear(input = %2, weight = %w1) {path = "layers.0.down"} : (tensor<?x256xf32>, tensor<64x256xf32>) -> tensor<?x64xf32>
    %w2 = braid.get_param @layers.1.up.weight : tensor<256x64xf32>
    %4 = braid.linear(input = %3, weight = %w2) {path = "layers.1.up"} : (tensor<?x64xf32>, tensor<256x64xf32>) -> tensor<?x256xf32>
    %5 = braid.tanh(self = %4) {path = "layers.1"} : (tensor<?x256xf32>) -> tensor<?x256xf32>
    %6 = braid.exp(self = %5) {path = "layers.1"} : (tensor<?x256xf32>) -> tensor<?x256xf32>
    %w3 = braid.get_param @layers.1.down.weight : tensor<64x256xf32>
    %7 = braid.linear(input = %6, weight = %w3) {path = "layers.1.down"} : (tensor<?x256xf32>, tensor<64x256xf32>) -> tensor<?x64xf32>
    %8 = braid.mse_loss(self = %7, target = %y) {path = ""} : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<f32>
    return %8 : tensor<f32>
  }
}
