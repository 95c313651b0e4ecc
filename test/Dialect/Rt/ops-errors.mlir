// RUN: braid-opt %s --split-input-file --verify-diagnostics

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{names 1 tensors and 0 sizes as arguments, but has 0 and 0}}
  "rt.call"() <{name = "aten::neg", names = ["self"], values = [#rt.operand], operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{has 2 argument names for 1 values}}
  "rt.call"(%x) <{name = "aten::add.Tensor", names = ["self", "other"], values = [#rt.operand], operandSegmentSizes = array<i32: 1, 0>}> : (!rt.tensor) -> ()
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{argument "dtype" is complex<f32>, which is no element type of the runtime}}
  %0 = rt.call "aten::to.dtype"(self = %x, dtype = complex<f32>) : !rt.tensor
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{argument "dim" must be an i64 or i1, not 'i32'}}
  %0 = "rt.call"(%x) <{name = "aten::sum", names = ["self", "dim"], values = [#rt.operand, 1 : i32], operandSegmentSizes = array<i32: 1, 0>}> : (!rt.tensor) -> !rt.tensor
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{wants 2 gradients and has 1 results}}
  %0 = rt.call_gradient "aten::mul.Tensor"(self = %x, other = %x) cotangents [%x] wanted [0, 1] : !rt.tensor
  return
}

// -----

// expected-error @+1 {{has elements of type 'i4', which the runtime lacks}}
rt.constant @c = dense<1> : tensor<2xi4>

// -----

func.func private @f() {
  // expected-error @+1 {{reads 'c', which is no rt.constant}}
  %0 = rt.get_constant @c
  return
}

// -----

// expected-note @+1 {{declared here}}
func.func private @g(%x: !rt.tensor)
func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{does not fit the type of 'g', '(!rt.tensor) -> ()'}}
  %0 = rt.invoke @g(%x) : (!rt.tensor) -> !rt.tensor
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{invokes 'g', which is no function}}
  rt.invoke @g(%x) : (!rt.tensor) -> ()
  return
}

// -----

// expected-error @+1 {{has kinds for 2 inputs and 1 outputs, and code for 1 and 1}}
rt.kernel @k rank 1 inputs [0, 0] outputs [0] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// -----

// expected-error @+1 {{has elements of type 'f80', which the runtime lacks}}
rt.kernel @k rank 1 inputs [0] outputs [0] {
^bb0(%x: f80):
  rt.yield %x : f80
}

// -----

// expected-note @+1 {{declared here}}
rt.kernel @k rank 1 inputs [0] outputs [0] {
^bb0(%x: f32):
  rt.yield %x : f32
}
func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{has 1 inputs, 1 results and 2 sizes, which does not fit 'k'}}
  %0 = rt.launch @k(%x) over [2, 3] : (!rt.tensor) -> !rt.tensor
  rt.release %0
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{launches 'k', which is no rt.kernel}}
  %0 = rt.launch @k(%x) over [2] : (!rt.tensor) -> !rt.tensor
  rt.release %0
  return
}

// -----

// expected-error @+1 {{has an operand of kind 3; there are 0, 1 and 2}}
rt.kernel @k rank 1 inputs [3] outputs [0] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// -----

// expected-error @+1 {{has an output of kind 1 that differs along the row; reduce it, or make it 0}}
rt.kernel @k rank 1 inputs [0] outputs [1] {
^bb0(%x: f32):
  %0 = arith.negf %x : f32
  rt.yield %0 : f32
}

// -----

func.func private @f() {
  // expected-error @+1 {{expects parent op 'rt.kernel'}}
  %0 = rt.column
  return
}

// -----

func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{drops with probability 1.5}}
  %0 = rt.dropout %x, 1.5 stream 0 : !rt.tensor
  rt.release %0
  return
}

// -----

func.func private @f(%x: !rt.tensor) attributes {rt.streams = 1 : i64} {
  // expected-error @+1 {{draws from stream 1 of the 1 that callers pass (rt.streams)}}
  %0 = rt.dropout %x, 0.5 stream 1 : !rt.tensor
  rt.release %0
  return
}

// -----

func.func private @f() {
  %n = rt.symbol 0
  // expected-error @+1 {{has one of before and samples; give both, or none where no dim holds samples}}
  %0 = rt.rand [2] f32 stream 0 samples %n : !rt.tensor
  rt.release %0
  return
}

// -----

func.func private @f() {
  // expected-error @+1 {{makes elements of type 'i64'; f64, f32, bf16 and f16 can be drawn}}
  %0 = rt.rand [2] i64 stream 0 : !rt.tensor
  rt.release %0
  return
}

// -----

// expected-note @+1 {{declared here}}
func.func private @g(%x: !rt.tensor) attributes {rt.streams = 2 : i64} {
  return
}
func.func private @f(%x: !rt.tensor) {
  // expected-error @+1 {{passes 1 streams, and 'g' draws from 2 (rt.streams)}}
  rt.invoke @g(%x) streams [5] : (!rt.tensor) -> ()
  return
}
