//===- RowCheckEnd.cpp - Nothing is missing from a table -----------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCheck.h"

namespace braid::plan {

Status RowCheck::checkComputed() {
  for (int direction = 0; direction < shape.directions; ++direction)
    for (int sub = 0; sub < shape.subs; ++sub)
      for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
        if (!runs[direction][microbatch])
          continue;
        for (int stage = 0; stage < shape.stages; ++stage) {
          if (!pipeline.hasPart(stage, microbatch, sub))
            continue;
          uint8_t bits = done[shape.slot(direction, stage, sub, microbatch)];
          Action missing = compute(ActionKind::Forward, stage, microbatch, direction);
          missing.sub = static_cast<int16_t>(sub);
          if (bits & doneForward) {
            const Stage &info = pipeline.stages[stage];
            if (!info.backward)
              continue;
            missing.kind = (bits & doneInput) ? ActionKind::BackwardWeight : ActionKind::FullBackward;
            if ((bits & doneInput) && ((bits & doneWeight) || !info.trains))
              continue;
          }
          rank = pipeline.rankOf(stage, direction);
          index = static_cast<int>(schedule.rows[rank].size());
          return fail("incomplete: " + missing.str() + " is missing from rank " + std::to_string(rank));
        }
      }
  return {};
}

Status RowCheck::checkMessages() {
  if (!withMessages)
    return {};
  for (int direction = 0; direction < shape.directions; ++direction)
    for (int stage = 0; stage < shape.stages; ++stage)
      for (int consumer : graph.consumers[stage]) {
        if (pipeline.rankOf(stage, direction) == pipeline.rankOf(consumer, direction))
          continue;
        bool gradient =
            std::binary_search(graph.gradientConsumers[stage].begin(), graph.gradientConsumers[stage].end(), consumer);
        uint8_t due = sentForward | receivedForward | (gradient ? sentBackward | receivedBackward : 0);
        for (int sub = 0; sub < shape.subs; ++sub)
          for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
            if (!runs[direction][microbatch] || !pipeline.hasPart(stage, microbatch, sub))
              continue;
            Action action = compute(ActionKind::SendF, stage, microbatch, direction);
            action.sub = static_cast<int16_t>(sub);
            uint8_t bits = messages[messageSlot(links.find(stage, consumer), action)];
            if ((bits & due) == due)
              continue;
            uint8_t missing = due & ~bits;
            bool backward = !(missing & (sentForward | receivedForward));
            bool send = missing & (sentForward | sentBackward);
            action.kind = backward ? (send ? ActionKind::SendB : ActionKind::RecvB)
                                   : ((missing & sentForward) ? ActionKind::SendF : ActionKind::RecvF);
            bool atConsumer = action.kind == ActionKind::SendB || action.kind == ActionKind::RecvF;
            action.stage = atConsumer ? consumer : stage;
            action.peer = atConsumer ? stage : consumer;
            rank = pipeline.rankOf(action.stage, direction);
            index = static_cast<int>(schedule.rows[rank].size());
            const Action other = otherEnd(action);
            return fail("unpaired: " + action.str() + " is missing from rank " + std::to_string(rank) +
                        "; its other end is " + other.str() + " of rank " +
                        std::to_string(pipeline.rankOf(other.stage, direction)));
          }
      }
  return {};
}

} // namespace braid::plan
