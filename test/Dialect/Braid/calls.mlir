// A call may know sizes that its callee leaves open, and the other way round; element types and known sizes are the same.
// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file -verify-diagnostics | FileCheck %s

func.func private @part(%x: tensor<?x?xf64>) -> tensor<?x4xf64>

// CHECK-LABEL: func.func @open
// CHECK: braid.call @part(%{{.*}}) {path = "a"} : (tensor<?x4xf64>) -> tensor<?x?xf64>
func.func @open(%x: tensor<?x4xf64>) -> tensor<?x?xf64> {
  %0 = braid.call @part(%x) {path = "a"} : (tensor<?x4xf64>) -> tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}

// -----

// expected-note @+1 {{declared here}}
func.func private @part(%x: tensor<?x4xf64>) -> tensor<?x4xf64>

func.func @sizes(%x: tensor<?x5xf64>) -> tensor<?x4xf64> {
  // expected-error @+1 {{does not fit the type of 'part', '(tensor<?x4xf64>) -> tensor<?x4xf64>'}}
  %0 = braid.call @part(%x) {path = "a"} : (tensor<?x5xf64>) -> tensor<?x4xf64>
  return %0 : tensor<?x4xf64>
}

// -----

// expected-note @+1 {{declared here}}
func.func private @part(%x: tensor<?x4xf64>) -> tensor<?x4xf64>

func.func @types(%x: tensor<?x4xf32>) -> tensor<?x4xf64> {
  // expected-error @+1 {{does not fit the type of 'part', '(tensor<?x4xf64>) -> tensor<?x4xf64>'}}
  %0 = braid.call @part(%x) {path = "a"} : (tensor<?x4xf32>) -> tensor<?x4xf64>
  return %0 : tensor<?x4xf64>
}
