// REQUIRES: braid-opt
// RUN: not braid-opt %s --braid-freeze=plan=%t.absent.yaml 2>&1 | FileCheck %s
// CHECK: error: the plan {{.*}}.absent.yaml cannot be opened; check the path
module {
}
