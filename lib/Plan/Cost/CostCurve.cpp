//===- CostCurve.cpp - Times fitted to profiles ---------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Cost/CostCurve.h"
#include "../Support/YamlReader.h"
#include "braid/Plan/Support/Json.h"
#include "braid/Plan/Support/LeastSquares.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

namespace braid::plan {

Result<FittedCurve> fitCurve(const Profile &profile) {
  Observations observations;
  std::set<double> sizes;
  for (auto [tokens, seconds] : profile.points) {
    observations.amounts.push_back({tokens * tokens, tokens, 1});
    observations.measured.push_back(seconds);
    sizes.insert(tokens);
  }
  if (sizes.size() < 3)
    return Error{"the profile of unit '" + profile.unit + "' at tp " + std::to_string(profile.tp) + ", cp " +
                 std::to_string(profile.cp) + " has " + std::to_string(sizes.size()) +
                 " different sizes, and a curve needs at least 3; time more of them"};
  Result<std::vector<double>> constants = nonNegativeLeastSquares(observations);
  if (!constants)
    return Error{"the profile of unit '" + profile.unit + "': " + constants.error()};
  FittedCurve curve{profile.unit, profile.tp, profile.cp, {(*constants)[0], (*constants)[1], (*constants)[2]}};
  curve.points = static_cast<int>(profile.points.size());
  for (double error : relativeErrors(observations, *constants)) {
    curve.rmsError += error * error / curve.points;
    curve.maxError = std::max(curve.maxError, std::abs(error));
  }
  curve.rmsError = std::sqrt(curve.rmsError);
  return curve;
}

/// "file:line:column: " of a byte of the text.
static std::string placeOf(const std::string &fileName, const std::string &text, size_t byte) {
  const size_t stop = std::min(byte, text.size());
  const size_t line = 1 + std::count(text.begin(), text.begin() + stop, '\n');
  const size_t start = stop == 0 ? std::string::npos : text.rfind('\n', stop - 1);
  const size_t column = stop - (start == std::string::npos ? 0 : start + 1) + 1;
  return fileName + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

/// Whether the text is JSON, and where it ceases to be.
static Status checkJson(const std::string &text, const std::string &fileName) {
  try {
    if (Json parsed = Json::parse(text); parsed.is_object())
      return {};
    return Error{fileName + ": this is JSON without keys; docs/Costs.md, section 3, shows what it holds"};
  } catch (const Json::parse_error &error) {
    return Error{placeOf(fileName, text, error.byte > 0 ? error.byte - 1 : 0) +
                 "this is no JSON from here on; docs/Costs.md, section 3, shows some"};
  } catch (const Json::out_of_range &error) { // a number; the message ends with it, in quotes
    const std::string what = error.what();
    const size_t open = what.find('\''), close = what.rfind('\'');
    const std::string number = open < close ? what.substr(open + 1, close - open - 1) : "";
    return Error{placeOf(fileName, text, text.find(number)) + "the number " + number + " is larger than any double"};
  }
}

/// Where something is a second time what comes once, says so at the second.
static void checkOnce(std::set<std::tuple<std::string, int, int>> &seen, const YAML::Node &node, const char *what,
                      const std::string &unit, int tp, int cp) {
  if (!seen.emplace(unit, tp, cp).second)
    yaml::fail(node, std::string("a second ") + what + " of unit '" + unit + "' at tp " + std::to_string(tp) + ", cp " +
                         std::to_string(cp) + "; leave one out");
}

/// Reads {KEY: [{...}, ...]} and calls visit(node of the entry) for each. JSON is YAML too, whose reader says where an
/// entry stands.
static Status readList(const std::string &text, const std::string &fileName, const std::string &key,
                       const std::function<void(const YAML::Node &)> &visit) {
  if (Status status = checkJson(text, fileName); !status)
    return status;
  return yaml::read(text, fileName, "file of " + key, [&](const YAML::Node &root) {
    yaml::readKeys(root, "the file of " + key, {key}, [&](const std::string &, const YAML::Node &list) {
      if (!list.IsSequence())
        yaml::fail(list, key + " must be a list, and is " + yaml::kindOf(list));
      for (const YAML::Node &node : list)
        visit(node);
    });
  });
}

Result<std::vector<Profile>> parseProfiles(const std::string &text, const std::string &fileName) {
  std::vector<Profile> profiles;
  std::set<std::tuple<std::string, int, int>> seen;
  Status status = readList(text, fileName, "profiles", [&](const YAML::Node &node) {
    Profile &profile = profiles.emplace_back();
    yaml::readKeys(node, "a profile", {"unit", "tp", "cp", "points"},
                   [&](const std::string &key, const YAML::Node &value) {
                     if (key == "unit")
                       profile.unit = yaml::textOf(value, "the unit of a profile");
                     else if (key == "tp" || key == "cp")
                       (key == "tp" ? profile.tp : profile.cp) =
                           static_cast<int>(yaml::integerOf(value, key + " of a profile", 1, 1 << 20));
                     else if (!value.IsSequence())
                       yaml::fail(value, "points must be a list of [tokens, seconds], and is " + yaml::kindOf(value));
                     else
                       for (const YAML::Node &point : value) {
                         if (!point.IsSequence() || point.size() != 2)
                           yaml::fail(point, "a point must be [tokens, seconds], as in [256, 0.0013]");
                         profile.points.emplace_back(yaml::numberOf(point[0], "tokens of a point", 0, 1e12),
                                                     yaml::numberOf(point[1], "seconds of a point", 1e-12, 1e9));
                       }
                   });
    if (profile.unit.empty() || profile.points.empty())
      yaml::fail(node, "a profile needs a unit and points; add both");
    checkOnce(seen, node, "profile", profile.unit, profile.tp, profile.cp);
  });
  if (!status)
    return Error{status.error()};
  return profiles;
}

Result<std::vector<FittedCurve>> parseCurves(const std::string &text, const std::string &fileName) {
  static const std::vector<std::string> known = {"unit", "tp", "cp", "a", "b", "c", "points", "rms_error", "max_error"};
  std::vector<FittedCurve> curves;
  std::set<std::tuple<std::string, int, int>> seen;
  Status status = readList(text, fileName, "curves", [&](const YAML::Node &node) {
    FittedCurve &curve = curves.emplace_back();
    yaml::readKeys(node, "a curve", known, [&](const std::string &key, const YAML::Node &value) {
      std::string what = key + " of a curve";
      int least = key == "points" ? 0 : 1; // a curve written by hand is fitted to none
      if (key == "unit")
        curve.unit = yaml::textOf(value, what);
      else if (key == "tp" || key == "cp" || key == "points")
        (key == "tp"   ? curve.tp
         : key == "cp" ? curve.cp
                       : curve.points) = static_cast<int>(yaml::integerOf(value, what, least, 1 << 20));
      else
        (key == "a"           ? curve.curve.a
         : key == "b"         ? curve.curve.b
         : key == "c"         ? curve.curve.c
         : key == "rms_error" ? curve.rmsError
                              : curve.maxError) = yaml::numberOf(value, what, 0, 1e12);
    });
    if (curve.unit.empty())
      yaml::fail(node, "a curve needs a unit; add its name");
    if (curve.curve.a == 0 && curve.curve.b == 0 && curve.curve.c == 0)
      yaml::fail(node, "a curve of unit '" + curve.unit + "' without time; give a, b or c above 0");
    checkOnce(seen, node, "curve", curve.unit, curve.tp, curve.cp);
  });
  if (!status)
    return Error{status.error()};
  return curves;
}

std::string curvesJson(const std::vector<FittedCurve> &curves) {
  Json list = Json::array();
  for (const FittedCurve &one : curves)
    list.push_back({{"unit", one.unit},
                    {"tp", one.tp},
                    {"cp", one.cp},
                    {"a", one.curve.a},
                    {"b", one.curve.b},
                    {"c", one.curve.c},
                    {"points", one.points},
                    {"rms_error", one.rmsError},
                    {"max_error", one.maxError}});
  return jsonText({{"curves", std::move(list)}}, 2) + "\n";
}

} // namespace braid::plan
