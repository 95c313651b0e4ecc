//===- CostCurveFuzzer.cpp - Any bytes as profiles and cost curves ---------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Cost/CostCurve.h"

using namespace braid::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  if (Result<std::vector<Profile>> profiles = parseProfiles(text, "p.json")) {
    for (const Profile &profile : *profiles)
      if (Result<FittedCurve> fitted = fitCurve(profile))
        if (!(fitted->curve.a >= 0 && fitted->curve.b >= 0 && fitted->curve.c >= 0))
          __builtin_trap(); // more tokens never cost less
  } else if (profiles.error().rfind("p.json:", 0) != 0) {
    __builtin_trap(); // every error says where
  }
  Result<std::vector<FittedCurve>> curves = parseCurves(text, "c.json");
  if (!curves) {
    if (curves.error().rfind("c.json:", 0) != 0)
      __builtin_trap();
    return 0;
  }
  // What is read and written is read again as the same.
  std::string written = curvesJson(*curves);
  Result<std::vector<FittedCurve>> again = parseCurves(written, "c.json");
  if (!again || curvesJson(*again) != written)
    __builtin_trap();
  return 0;
}
