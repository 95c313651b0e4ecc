//===- RecurrentOps.td - Recurrent layers ------------------*- tablegen -*-===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stack of layers over a sequence, in one or both directions. `params` has for each layer and direction the weights
// of the input and of the state, their biases where `has_biases`, and for lstm perhaps a projection. Results are the
// last layer's states at every step, and every layer's last state.
//
//===----------------------------------------------------------------------===//

#ifndef BRAID_DIALECT_BRAID_IR_RECURRENTOPS_TD
#define BRAID_DIALECT_BRAID_IR_RECURRENTOPS_TD

include "braid/Dialect/Braid/IR/AtenArgs.td"

class Braid_RecurrentOp<string mnemonic, AtenArg state, dag states>
    : Braid_AtenMultiOp<mnemonic, "aten::" # mnemonic # ".input",
        [T<"input">, state, TList<"params">, Bool<"has_biases", "true">, Int<"num_layers">, Float<"dropout">,
         Bool<"train">, Bool<"bidirectional">, Bool<"batch_first">],
        !con((outs AnyRankedTensor:$output), states), "recurrent", "byAutograd", "recurrent", "recurrent">;

def Braid_LstmOp : Braid_RecurrentOp<"lstm", TList<"hx">, (outs AnyRankedTensor:$hidden, AnyRankedTensor:$cell)>;
def Braid_GruOp : Braid_RecurrentOp<"gru", T<"hx">, (outs AnyRankedTensor:$hidden)>;
def Braid_RnnTanhOp : Braid_RecurrentOp<"rnn_tanh", T<"hx">, (outs AnyRankedTensor:$hidden)>;
def Braid_RnnReluOp : Braid_RecurrentOp<"rnn_relu", T<"hx">, (outs AnyRankedTensor:$hidden)>;

#endif // BRAID_DIALECT_BRAID_IR_RECURRENTOPS_TD
