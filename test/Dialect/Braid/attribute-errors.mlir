// REQUIRES: braid-opt
// RUN: braid-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{braid.guards lists guards such as ["seq", "<=", "32", "why"]}}
module attributes {braid.guards = [["seq", "32", "why"]]} {
}

// -----

// expected-error @below {{braid.guards: '=<' is no relation of two sizes; there are ==, !=, < and <=}}
module attributes {braid.guards = [["seq", "=<", "32", "why"]]} {
}

// -----

// expected-error @below {{braid.guards: 'seq +' is no size expression}}
module attributes {braid.guards = [["seq +", "<", "32", "why"]]} {
}

// -----

// expected-error @below {{braid.symbols gives each symbol its size in the example, as in {batch = 2 : i64}}}
module attributes {braid.symbols = {batch = "two"}} {
}

// -----

module attributes {braid.symbols = {seq = 8 : i64}, braid.guards = [["seq", "<", "32", "why"], ["2*seq", "!=", "5", ""]]} {
}
