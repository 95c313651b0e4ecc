//===- Verifier.cpp - Proves that a schedule is right ---------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowCheck.h"

namespace braid::plan {

Result<ScheduleFacts> verify(const Pipeline &pipeline, const Schedule &schedule, const VerifyOptions &options) {
  if (Status status = pipeline.check(); !status)
    return Error{status.error()};
  PipelineGraph graph(pipeline);
  TableShape shape(pipeline, schedule);
  ScheduleFacts facts;
  if (Status status = RowCheck(pipeline, graph, shape, schedule, options, facts).run(); !status)
    return Error{status.error()};
  if (Status status = runToEnd(pipeline, graph, shape, schedule, options.buffers); !status)
    return Error{status.error()};
  return facts;
}

} // namespace braid::plan
