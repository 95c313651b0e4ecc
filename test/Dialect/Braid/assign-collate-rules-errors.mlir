// REQUIRES: braid-opt
// Errors stand at the input's entry in the plan.
// RUN: echo 'inputs: {pixel: {collate: concat}}' > %t.1.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.1.yaml 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: .1.yaml:1:10: error: the model has no input 'pixel'; did you mean 'pixels'?
// RUN: echo 'inputs: {pixels: {collate: concat}}' > %t.2.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.2.yaml 2>&1 | FileCheck %s --check-prefix=WHOSE
// WHOSE: .2.yaml:1:10: error: nothing says which rows of input 'pixels' belong to which sample: its dim 0 counts patches; give it an input with collate: offsets(pixels) that has one entry more than there are samples
// RUN: echo 'inputs: {pixels: {collate: concat}, weights: {collate: offsets(pixels)}}' > %t.3.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.3.yaml 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: .3.yaml:1:37: error: input 'weights' has elements 'f32', and its collate rule offsets(pixels) needs i64 or i32
// RUN: echo 'inputs: {pixels: {collate: concat(2)}}' > %t.4.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.4.yaml 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: .4.yaml:1:10: error: input 'pixels' has 2 dims, and its collate rule concat(2) divides dim 2
// RUN: echo 'inputs: {cu: {collate: offsets(ids)}}' > %t.5.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.5.yaml 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: .5.yaml:1:10: error: input 'cu' is offsets of 'ids', whose collate rule is stack; offsets count the rows of a concat, or the segments of other offsets
// RUN: echo 'inputs: {ids: {collate: pad(0.5)}}' > %t.6.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.6.yaml 2>&1 | FileCheck %s --check-prefix=FILL
// FILL: .6.yaml:1:10: error: input 'ids' has elements 'i64', and its collate rule fills with pad(0.5); give a whole number
// RUN: echo 'inputs: {pixels: {collate: stack}}' > %t.7.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.7.yaml 2>&1 | FileCheck %s --check-prefix=STACK
// STACK: .7.yaml:1:10: error: input 'pixels' cannot be stacked: its dim 0 is 'patches' and the samples are counted by 'batch'; give both the same name in dims
// RUN: echo 'inputs: {cu: {collate: offset(pixels)}}' > %t.8.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.8.yaml 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: .8.yaml:1:24: unknown collate rule 'offset(pixels)'; did you mean 'offsets'?
// RUN: echo 'inputs: {picks: {collate: index_into(pixels)}}' > %t.9.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.9.yaml 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: .9.yaml:1:10: error: input 'picks' is an index into 'pixels', which is the same for all samples; collate: concat fits such an input
// RUN: echo 'inputs: {cu: {collate: offsets(pixel)}}' > %t.10.yaml
// RUN: not braid-opt %s --braid-assign-collate-rules=plan=%t.10.yaml 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: .10.yaml:1:10: error: the collate rule of input 'cu' names the input 'pixel', which is not among the inputs; did you mean 'pixels'?
module attributes {braid.symbols = {batch = 2 : i64, seq = 5 : i64, patches = 9 : i64, picks = 4 : i64}} {
  func.func private @main(tensor<?x?xi64> {braid.input = "ids", braid.dims = ["batch", "seq"]},
                          tensor<?x3xf32> {braid.input = "pixels", braid.dims = ["patches", "3"]},
                          tensor<?xi64> {braid.input = "cu", braid.dims = ["batch + 1"]},
                          tensor<?xf32> {braid.input = "weights", braid.dims = ["batch + 1"]},
                          tensor<?xi64> {braid.input = "picks", braid.dims = ["picks"]}) -> tensor<f32>
}
