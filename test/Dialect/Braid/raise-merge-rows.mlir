// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-raise-merge-rows | FileCheck %s

module attributes {braid.symbols = {batch = 2 : i64, seq = 8 : i64, rows = 6 : i64}} {

// CHECK-LABEL: func.func @rows
// CHECK:         braid.merge_rows(self = %arg0, mask = %arg1, source = %arg2) {path = "net"}
func.func @rows(%x: tensor<?x?x4xf32> {braid.dims = ["batch", "seq", "4"]}, %m: tensor<?x?x1xi1> {braid.dims = ["batch", "seq", "1"]},
                %s: tensor<?x4xf32> {braid.dims = ["rows", "4"]}) -> tensor<?x?x4xf32> {
  %0 = braid.masked_scatter(self = %x, mask = %m, source = %s) {path = "net"} : (tensor<?x?x4xf32>, tensor<?x?x1xi1>, tensor<?x4xf32>) -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

// Features with a dim of the samples are rows as well.
// CHECK-LABEL: func.func @samples
// CHECK:         %[[ROWS:.*]] = braid.reshape(self = %arg2, shape = [{{.*}}, 4]) {path = "net"}
// CHECK:         braid.merge_rows(self = %arg0, mask = %arg1, source = %[[ROWS]])
func.func @samples(%x: tensor<?x?x4xf32> {braid.dims = ["batch", "seq", "4"]}, %m: tensor<?x?x1xi1> {braid.dims = ["batch", "seq", "1"]},
                   %s: tensor<?x3x4xf32> {braid.dims = ["batch", "3", "4"]}) -> tensor<?x?x4xf32> {
  %0 = braid.masked_scatter(self = %x, mask = %m, source = %s) {path = "net"} : (tensor<?x?x4xf32>, tensor<?x?x1xi1>, tensor<?x3x4xf32>) -> tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

// A mask of single elements, and a source of another width, are no rows.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: braid.masked_scatter
func.func @others(%x: tensor<2x8x4xf32>, %m: tensor<2x8x4xi1>, %n: tensor<2x8x1xi1>, %s: tensor<6x4xf32>, %t: tensor<6x3xf32>)
    -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
  %0 = braid.masked_scatter(self = %x, mask = %m, source = %s) : (tensor<2x8x4xf32>, tensor<2x8x4xi1>, tensor<6x4xf32>) -> tensor<2x8x4xf32>
  %1 = braid.masked_scatter(self = %x, mask = %n, source = %t) : (tensor<2x8x4xf32>, tensor<2x8x1xi1>, tensor<6x3xf32>) -> tensor<2x8x4xf32>
  return %0, %1 : tensor<2x8x4xf32>, tensor<2x8x4xf32>
}
}
