// REQUIRES: braid-opt
// RUN: braid-opt %s --braid-autocast=type=bf16 | FileCheck %s
// RUN: braid-opt %s --braid-autocast | FileCheck %s --check-prefix=OFF

// Products are bf16, with one cast of what the modules of query and key share; the sum with a float32 value is float32
// again; the loss and the new value of the buffer are float32.

// OFF-NOT: bf16
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<f32>, tensor<4xf32> {braid.state = @net.mean})
// CHECK-DAG: %[[X:.*]] = braid.to(self = %arg0, dtype = bf16) {path = "net.attention"} : (tensor<?x4xf32>) -> tensor<?x4xbf16>
// CHECK-DAG: %[[Q:.*]] = braid.to(self = %{{.*}}, dtype = bf16) {path = "net.attention.q"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK: %[[QUERY:.*]] = braid.linear(input = %[[X]], weight = %[[Q]]) {path = "net.attention.q"} : (tensor<?x4xbf16>, tensor<4x4xbf16>) -> tensor<?x4xbf16>
// CHECK: %[[KEY:.*]] = braid.linear(input = %[[X]], weight = %{{.*}}) {path = "net.attention.k"}
// CHECK: %[[BOTH:.*]] = braid.mul(self = %[[QUERY]], other = %[[KEY]]) {{.*}} -> tensor<?x4xbf16>
// CHECK: %[[SUM:.*]] = braid.add(self = %[[BOTH]], other = %arg0) {{.*}} -> tensor<?x4xf32>
// CHECK: %[[NARROW:.*]] = braid.mean_dim(self = %[[QUERY]], dim = [0]) {{.*}} -> tensor<4xbf16>
// CHECK: %[[MEAN:.*]] = braid.to(self = %[[NARROW]], dtype = f32) {{.*}} -> tensor<4xf32>
// CHECK: braid.mse_loss(self = %[[SUM]], target = %arg0)
// CHECK: return %{{.*}}, %[[MEAN]] : tensor<f32>, tensor<4xf32>
module attributes {braid.symbols = {batch = 2 : i64}} {
  braid.param @net.attention.q.weight : tensor<4x4xf32> at 0 {requires_grad}
  braid.param @net.attention.k.weight : tensor<4x4xf32> at 64 {requires_grad}
  braid.param @net.mean : tensor<4xf32> at 128
  func.func @main(%x: tensor<?x4xf32> {braid.input = "x", braid.dims = ["batch", "4"]}) -> (tensor<f32>, tensor<4xf32> {braid.state = @net.mean}) {
    %q = braid.get_param @net.attention.q.weight : tensor<4x4xf32>
    %0 = braid.linear(input = %x, weight = %q) {path = "net.attention.q"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %k = braid.get_param @net.attention.k.weight : tensor<4x4xf32>
    %1 = braid.linear(input = %x, weight = %k) {path = "net.attention.k"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %2 = braid.mul(self = %0, other = %1) {path = "net.attention"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = braid.add(self = %2, other = %x) {path = "net"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = braid.mean_dim(self = %0, dim = [0]) {path = "net"} : (tensor<?x4xf32>) -> tensor<4xf32>
    %5 = braid.mse_loss(self = %3, target = %x) {path = "net"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
    return %5, %4 : tensor<f32>, tensor<4xf32>
  }
}
