// REQUIRES: braid-opt
// RUN: split-file %s %t
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="stages=0" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: the number of stages must be at least 1, not 0
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="microbatches=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: the number of micro-batches must be at least 1, not -1
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="microbatches=2000000000" 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: the number of micro-batches must be at most 65536, not 2000000000
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="plan=%t/shadowed.yaml" 2>&1 | FileCheck %s --check-prefix=SHADOWED
// SHADOWED: shadowed.yaml:3:{{[0-9]+}}: error: pattern 'down' of component 'second' matches only modules that component 'first', which comes first, has already: write 'second' before it, or narrow its patterns
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="plan=%t/left.yaml" 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: error: {{.*}}of module 'down' belongs to no component
// RUN: not braid-opt %t/model.mlir --braid-phase-shapes --braid-phase-units --braid-phase-differentiate --braid-phase-pipe="plan=%t/gap.yaml" 2>&1 | FileCheck %s --check-prefix=GAP
// GAP: error: component 'second' uses rank 3, but all components together use 2 ranks
// RUN: not braid-opt %t/model.mlir --pipe-emit-plan 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: has no schedule or no weights: run pipe-form-stages first

//--- shadowed.yaml
components:
  first: {modules: ["*"], mesh: {ranks: [0]}}
  second: {modules: [down], mesh: {ranks: [1]}}
//--- left.yaml
components:
  first: {modules: [up], mesh: {ranks: [0]}}
//--- gap.yaml
components:
  first: {modules: [up], mesh: {ranks: [0]}}
  second: {modules: [down], mesh: {ranks: [3]}}
//--- model.mlir
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
