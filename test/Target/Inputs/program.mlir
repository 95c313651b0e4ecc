// What ProgramTest.cpp compiles and runs: two layers that share a unit, an opaque op with its gradient, and a call of
// every kind of argument. The right values are computed there with ATen.

#linear = loc("zoo/modeling.py":10:5)
#act = loc("zoo/modeling.py":12:5)
#merge = loc("zoo/modeling.py":31:5)

module attributes {braid.symbols = {batch = 4, width = 3}, pipe.symbols = ["batch", "width"]} {
  braid.weights @weights file("model.pt") {bytes = 1, digest = "0"}
  braid.param @w0 : tensor<3x3xf64> at 0 {requires_grad}

  func.func private @Layer(%x: tensor<?x3xf64>, %w: tensor<3x3xf64>, %b: tensor<3xf64>) -> tensor<?x3xf64> {
    %batch = braid.symbol "batch"
    %width = braid.symbol "width"
    %z = braid.linear(input = %x, weight = %w, bias = %b) {path = "proj"} : (tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>) -> tensor<?x3xf64> loc(#linear)
    %unused = braid.neg(self = %z) : (tensor<?x3xf64>) -> tensor<?x3xf64>
    %y = braid.tanh(self = %z) {path = "act"} : (tensor<?x3xf64>) -> tensor<?x3xf64>
    %v = braid.view(self = %y, size = [%batch, %width]) {path = "act"} : (tensor<?x3xf64>) -> tensor<?x3xf64> loc(#act)
    return %v : tensor<?x3xf64>
  }

  func.func private @Layer.backward(%x: tensor<?x3xf64>, %y: tensor<?x3xf64>, %dy: tensor<?x3xf64>, %w: tensor<3x3xf64>)
      -> (tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>) {
    %dz = braid.tanh_backward(grad_output = %dy, output = %y) : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
    %dx = braid.mm(self = %dz, mat2 = %w) : (tensor<?x3xf64>, tensor<3x3xf64>) -> tensor<?x3xf64>
    %dzt = braid.t(self = %dz) : (tensor<?x3xf64>) -> tensor<3x?xf64>
    %dw = braid.mm(self = %dzt, mat2 = %x) : (tensor<3x?xf64>, tensor<?x3xf64>) -> tensor<3x3xf64>
    %db = braid.sum_dim(self = %dz, dim = [0]) : (tensor<?x3xf64>) -> tensor<3xf64>
    return %dx, %dw, %db : tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>
  }

  // loss = sum(mish(layer(layer(x))) * [1, 2, 0.5]) + batch; residuals are both layers' values and the input.
  func.func @stage0_forward(%w0: tensor<3x3xf64>, %b0: tensor<3xf64>, %w1: tensor<3x3xf64>, %b1: tensor<3xf64>, %x: tensor<?x3xf64>)
      -> (tensor<f64>, tensor<?x3xf64>, tensor<?x3xf64>, tensor<?x3xf64>) attributes {pipe.entry} {
    %batch = braid.symbol "batch"
    %0 = braid.call @Layer(%x) params(%w0, %b0) {path = "net.layers.0"} : (tensor<?x3xf64>) -> tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>
    %1 = braid.call @Layer(%0) params(%w1, %b1) {path = "net.layers.1"} : (tensor<?x3xf64>) -> tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>
    %2 = braid.aten "aten::mish"(%1) {names = ["self"], kinds = array<i64: 0>, counts = array<i64: 1>, constants = [unit], dims = [["a.0", "a.1"]], path = "net.act"} : (tensor<?x3xf64>) -> tensor<?x3xf64>
    %c = braid.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf64>
    %3 = braid.mul(self = %2, other = %c) : (tensor<?x3xf64>, tensor<3xf64>) -> tensor<?x3xf64>
    %4 = braid.sum_dim(self = %3, dim = [0, 1], keepdim = false) : (tensor<?x3xf64>) -> tensor<f64>
    %5 = braid.scalar_tensor %batch : tensor<i64>
    %loss = braid.add(self = %4, other = %5, alpha = 1) : (tensor<f64>, tensor<i64>) -> tensor<f64>
    return %loss, %0, %1, %x : tensor<f64>, tensor<?x3xf64>, tensor<?x3xf64>, tensor<?x3xf64>
  }

  func.func @stage0_backward(%w0: tensor<3x3xf64>, %b0: tensor<3xf64>, %w1: tensor<3x3xf64>, %b1: tensor<3xf64>,
                             %y0: tensor<?x3xf64>, %y1: tensor<?x3xf64>, %x: tensor<?x3xf64>)
      -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<3xf64>) attributes {pipe.entry} {
    %batch = braid.symbol "batch"
    %c = braid.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf64>
    %dm = braid.expand(self = %c, size = [%batch, 3]) : (tensor<3xf64>) -> tensor<?x3xf64>
    %dy1 = braid.aten_gradient "aten::mish"(%y1) cotangents(%dm) {names = ["self"], kinds = array<i64: 0>, counts = array<i64: 1>, constants = [unit], present_cotangents = array<i1: true>, wanted = array<i64: 0>} : (tensor<?x3xf64>) -> tensor<?x3xf64>, tensor<?x3xf64>
    %d1:3 = braid.call @Layer.backward(%y0, %y1, %dy1) params(%w1) {path = "net.layers.1"} : (tensor<?x3xf64>, tensor<?x3xf64>, tensor<?x3xf64>) -> (tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>), tensor<3x3xf64>
    %d0:3 = braid.call @Layer.backward(%x, %y0, %d1#0) params(%w0) {path = "net.layers.0"} : (tensor<?x3xf64>, tensor<?x3xf64>, tensor<?x3xf64>) -> (tensor<?x3xf64>, tensor<3x3xf64>, tensor<3xf64>), tensor<3x3xf64>
    return %d0#1, %d0#2, %d1#1, %d1#2 : tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>, tensor<3xf64>
  }

  // A list of tensors, an absent tensor, a size of the batch, a dtype, a string, flags; a call with one of two results
  // used, and returns of an argument, of a constant, and of one value twice.
  func.func @arguments(%x: tensor<?x3xf64>, %index: tensor<2xi64>)
      -> (tensor<?x3xf64>, tensor<?xf32>, tensor<?x3xf64>, tensor<2xi1>, tensor<?x3xf64>, tensor<?x2xf64>) attributes {pipe.entry} {
    %batch = braid.symbol "batch"
    %two = arith.constant 2 : index
    %half = arith.floordivsi %batch, %two : index
    %cat = braid.cat(tensors = [%x, %x, %x], dim = 0) : (tensor<?x3xf64>, tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
    %gelu = braid.gelu(self = %cat, approximate = "tanh") : (tensor<?x3xf64>) -> tensor<?x3xf64>
    %slice = braid.slice(self = %gelu, dim = 0, start = 1, end = %half, step = 1) : (tensor<?x3xf64>) -> tensor<?x3xf64>
    %max:2 = braid.max_dim(self = %slice, dim = 1, keepdim = false) : (tensor<?x3xf64>) -> (tensor<?xf64>, tensor<?xi64>)
    %cast = braid.to(self = %max#0, dtype = f32) : (tensor<?xf64>) -> tensor<?xf32>
    %flags = braid.constant dense<[true, false]> : tensor<2xi1>
    %picked = braid.aten "aten::index.Tensor"(%x, %index) {names = ["self", "indices"], kinds = array<i64: 0, 3>, counts = array<i64: 1, 1>, constants = [unit, array<i1: false, true>], dims = [["a.0", "b.0"]]} : (tensor<?x3xf64>, tensor<2xi64>) -> tensor<?x2xf64>
    return %slice, %cast, %x, %flags, %slice, %picked : tensor<?x3xf64>, tensor<?xf32>, tensor<?x3xf64>, tensor<2xi1>, tensor<?x3xf64>, tensor<?x2xf64>
  }

  func.func @merge(%x: tensor<?x3xf64> {braid.dims = ["batch", "3"]}, %mask: tensor<?x1xi1> {braid.dims = ["batch", "1"]},
                   %rows: tensor<?x3xf64> {braid.dims = ["width", "3"]}) -> tensor<?x3xf64> attributes {pipe.entry} {
    %twice = braid.add(self = %x, other = %x) : (tensor<?x3xf64>, tensor<?x3xf64>) -> tensor<?x3xf64>
    %0 = braid.merge_rows(self = %twice, mask = %mask, source = %rows) {path = "net.merge"} : (tensor<?x3xf64>, tensor<?x1xi1>, tensor<?x3xf64>) -> tensor<?x3xf64> loc(#merge)
    return %0 : tensor<?x3xf64>
  }
}
