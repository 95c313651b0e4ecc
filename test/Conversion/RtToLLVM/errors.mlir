// RUN: braid-opt %s --rt-to-llvm --split-input-file --verify-diagnostics

// expected-error @+1 {{a program defines main itself; drop this function or give it another name}}
func.func private @main() {
  return
}

// -----

func.func private @f() {
  %a = arith.constant 1 : index
  // expected-error @+1 {{'arith.ceildivsi' has no code: sizes are computed by arith.constant, addi, subi, muli, floordivsi and maxsi}}
  %b = arith.ceildivsi %a, %a : index
  return
}

// -----

func.func private @f() {
  // expected-error @+1 {{'arith.constant' has no code: functions of the rt phase hold rt ops and arithmetic on sizes}}
  %a = arith.constant 1.0 : f32
  return
}

// -----

// expected-error @+1 {{has control flow or no body; functions of the rt phase are one block}}
func.func private @f()
