// RUN: braid-opt %s --braid-to-rt --split-input-file --verify-diagnostics

module attributes {pipe.symbols = ["batch"]} {
func.func private @f(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  // expected-error @+1 {{there is no symbol 'seq' in the module's pipe.symbols}}
  %n = braid.symbol "seq"
  %0 = braid.view(self = %x, size = [%n, 2]) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
}

// -----

braid.param @w : tensor<2xf32> at 0
func.func private @f() -> tensor<2xf32> {
  // expected-error @+1 {{'braid.get_param' has no code: functions of the pipe phase hold ATen ops, constants, calls and arithmetic on sizes}}
  %0 = braid.get_param @w : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @+1 {{takes or returns 'index'; functions of the pipe phase have tensors only}}
func.func private @f(%n: index) {
  return
}

// -----

func.func private @f(%x: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
  // expected-error @+1 {{aten::to.dtype: the runtime cannot take argument 'dtype' as complex<f32>}}
  %0 = braid.to(self = %x, dtype = complex<f32>) : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}

// -----

func.func private @f() -> tensor<2xi4> {
  // expected-error @+1 {{a constant has elements of type 'i4', which the runtime lacks}}
  %0 = braid.constant dense<1> : tensor<2xi4>
  return %0 : tensor<2xi4>
}

// -----

func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{draws random numbers and has no stream to draw them from}}
  %0 = braid.dropout(input = %x, p = 0.5, train = true) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{samples has 1 sizes, not the elements before and the samples, as in ["1", "batch"]}}
  %0 = braid.dropout(input = %x, p = 0.5, train = true) {stream = 0 : i64, samples = ["2"]} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
