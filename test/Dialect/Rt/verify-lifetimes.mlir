// RUN: braid-opt %s --rt-verify-lifetimes --split-input-file --verify-diagnostics

rt.constant @c = dense<1.0> : tensor<f32>

// Right: released, returned, retained first, and a list of handles used after it was built.
func.func private @right(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) {
  %0 = rt.call "aten::neg"(self = %x) : !rt.tensor
  %1:2 = rt.call "aten::max.dim"(self = %0, dim = 0) : !rt.tensor, !rt.tensor
  rt.release %0, %1#1
  %2 = rt.get_constant @c
  %3 = rt.retain %2
  return %1#0, %3 : !rt.tensor, !rt.tensor
}

// -----

func.func private @leak(%x: !rt.tensor) {
  // expected-error @+1 {{makes a handle that is never given up (result 1)}}
  %0:2 = rt.call "aten::max.dim"(self = %x, dim = 0) : !rt.tensor, !rt.tensor
  rt.release %0#0
  return
}

// -----

func.func private @used_after(%x: !rt.tensor) -> !rt.tensor {
  %0 = rt.call "aten::neg"(self = %x) : !rt.tensor
  // expected-note @+1 {{given up here}}
  rt.release %0
  // expected-error @+1 {{uses a handle after it was given up}}
  %1 = rt.call "aten::neg"(self = %0) : !rt.tensor
  return %1 : !rt.tensor
}

// -----

func.func private @released_and_returned(%x: !rt.tensor) -> !rt.tensor {
  %0 = rt.call "aten::neg"(self = %x) : !rt.tensor
  // expected-note @+1 {{given up here}}
  rt.release %0
  // expected-error @+1 {{uses a handle after it was given up}}
  return %0 : !rt.tensor
}

// -----

func.func private @twice(%x: !rt.tensor) -> (!rt.tensor, !rt.tensor) {
  %0 = rt.call "aten::neg"(self = %x) : !rt.tensor
  // expected-error @+1 {{gives up the same handle twice}}
  return %0, %0 : !rt.tensor, !rt.tensor
}

// -----

func.func private @borrowed(%x: !rt.tensor) -> !rt.tensor {
  // expected-error @+1 {{gives up a handle that is only borrowed; rt.retain makes an owned one}}
  return %x : !rt.tensor
}

// -----

rt.constant @c = dense<1.0> : tensor<f32>
func.func private @borrowed_constant() {
  %0 = rt.get_constant @c
  // expected-error @+1 {{gives up a handle that is only borrowed}}
  rt.release %0
  return
}

// -----

// expected-error @+1 {{has control flow; functions of the rt phase are one block}}
func.func private @blocks() {
  llvm.br ^next
^next:
  return
}
