// REQUIRES: braid-opt
// RUN: echo '{inputs: {pixels: {collate: concat}, cu: {collate: offsets(pixels)}, ids: {collate: pad(0)}}}' > %t.yaml
// RUN: braid-opt %s --braid-assign-collate-rules=plan=%t.yaml | FileCheck %s

// CHECK: func.func private @main({{.*}} {braid.collate = "pad(0)", braid.dims = ["batch", "seq"], braid.input = "ids"},
// CHECK-SAME: {braid.collate = "concat(0)", braid.dims = ["patches", "3"], braid.input = "pixels"},
// CHECK-SAME: {braid.collate = "offsets(pixels)", braid.dims = ["batch + 1"], braid.input = "cu"},
// CHECK-SAME: {braid.dims = ["batch", "seq"], braid.input = "mask"})
module attributes {braid.symbols = {batch = 2 : i64, seq = 5 : i64, patches = 9 : i64}} {
  func.func private @main(tensor<?x?xi64> {braid.input = "ids", braid.dims = ["batch", "seq"]},
                          tensor<?x3xf32> {braid.input = "pixels", braid.dims = ["patches", "3"]},
                          tensor<?xi64> {braid.input = "cu", braid.dims = ["batch + 1"]},
                          tensor<?x?xi64> {braid.input = "mask", braid.dims = ["batch", "seq"]}) -> tensor<f32>
}
