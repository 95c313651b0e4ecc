//===- YamlReader.cpp - Reading YAML with located errors ------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "YamlReader.h"
#include "braid/Plan/Support/Text.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

namespace braid::plan::yaml {

static constexpr size_t maxFileSize = 1 << 20;

FileLocation locate(const YAML::Mark &mark) {
  return mark.is_null() ? FileLocation{} : FileLocation{mark.line + 1, mark.column + 1};
}

void fail(const YAML::Node &node, const std::string &message) { throw Located{message, locate(node.Mark())}; }

std::string kindOf(const YAML::Node &node) {
  switch (node.Type()) {
  case YAML::NodeType::Scalar:
    return "'" + node.Scalar().substr(0, 40) + "'";
  case YAML::NodeType::Sequence:
    return "a list";
  case YAML::NodeType::Map:
    return "a map";
  default:
    return "nothing";
  }
}

std::string textOf(const YAML::Node &node, const std::string &what) {
  if (!node.IsScalar() || node.Scalar().empty())
    fail(node, what + " must be a word, and is " + kindOf(node));
  return node.Scalar();
}

std::optional<double> parseNumber(std::string_view text) {
  double value = 0;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

double numberOf(const YAML::Node &node, const std::string &what, double low, double high) {
  std::optional<double> number = node.IsScalar() ? parseNumber(node.Scalar()) : std::nullopt;
  if (!number)
    fail(node, what + " must be a number, and is " + kindOf(node));
  double value = *number;
  if (value < low || value > high) {
    std::ostringstream range;
    range << what << " is " << node.Scalar() << " and must be ";
    if (std::isinf(high))
      range << "at least " << low;
    else
      range << "between " << low << " and " << high;
    fail(node, range.str());
  }
  return value;
}

std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value = 0;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

int64_t integerOf(const YAML::Node &node, const std::string &what, int64_t low, int64_t high) {
  std::optional<int64_t> value = node.IsScalar() ? parseInteger(node.Scalar()) : std::nullopt;
  if (!value)
    fail(node, what + " must be a whole number, and is " + kindOf(node));
  if (*value < low || *value > high)
    fail(node, what + " is " + node.Scalar() + " and must be between " + std::to_string(low) + " and " +
                   std::to_string(high));
  return *value;
}

bool boolOf(const YAML::Node &node, const std::string &what) {
  if (node.IsScalar() && (node.Scalar() == "true" || node.Scalar() == "false"))
    return node.Scalar() == "true";
  fail(node, what + " must be true or false, and is " + kindOf(node));
}

std::string choiceOf(const YAML::Node &node, const std::string &what, const std::vector<std::string> &choices) {
  std::string text = textOf(node, what);
  if (std::find(choices.begin(), choices.end(), text) == choices.end())
    fail(node, "unknown " + what + " '" + text + "'" + suggest(text, choices));
  return text;
}

void forEachEntry(const YAML::Node &node, const std::string &what,
                  const std::function<void(const std::string &, const YAML::Node &, const YAML::Node &)> &visit) {
  if (node.IsNull())
    return;
  if (!node.IsMap())
    fail(node, what + " must be a map of keys and values, and is " + kindOf(node));
  std::set<std::string> seen;
  for (const auto &entry : node) {
    std::string key = textOf(entry.first, "a key of " + what);
    if (!seen.insert(key).second)
      fail(entry.first, "'" + key + "' comes twice in " + what);
    visit(key, entry.first, entry.second);
  }
}

[[noreturn]] static void unknownKey(const YAML::Node &key, const std::string &what,
                                    const std::vector<std::string> &known) {
  fail(key, "unknown key '" + key.Scalar() + "' in " + what + suggest(key.Scalar(), known));
}

void readKeys(const YAML::Node &node, const std::string &what, const std::vector<std::string> &known,
              const std::function<void(const std::string &, const YAML::Node &)> &visit) {
  forEachEntry(node, what, [&](const std::string &key, const YAML::Node &keyNode, const YAML::Node &value) {
    auto at = std::find(known.begin(), known.end(), key);
    if (at == known.end())
      unknownKey(keyNode, what, known);
    visit(key, value);
  });
}

/// The first byte that no UTF-8 text has: yaml-cpp takes other encodings for granted, or mends them.
static std::optional<FileLocation> findNoText(std::string_view text) {
  FileLocation location{1, 1};
  for (size_t at = 0; at < text.size();) {
    auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    unsigned first = byte(at);
    size_t more = first < 0x80 ? 0 : first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    bool sound = first >= 0x80   ? first >= 0xC2 && first <= 0xF4
                 : first >= 0x20 ? first != 0x7F
                                 : first == '\t' || first == '\n' || first == '\r';
    unsigned code = more ? first & (0x3F >> more) : first;
    for (size_t i = 1; i <= more; ++i) {
      sound = sound && (byte(at + i) & 0xC0) == 0x80;
      code = code << 6 | (byte(at + i) & 0x3F);
    }
    static constexpr unsigned least[] = {0, 0x80, 0x800, 0x10000};
    if (!sound || code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      return location;
    ++location.column;
    if (first == '\n')
      location = {location.line + 1, 1};
    at += more + 1;
  }
  return std::nullopt;
}

std::vector<int> ranksOf(const YAML::Node &node, const std::string &what) {
  std::vector<int> ranks;
  std::set<int> seen;
  auto add = [&](const YAML::Node &item) {
    std::string text = textOf(item, "a rank of " + what);
    size_t dash = text.find('-', 1);
    std::optional<int64_t> first = parseInteger(std::string_view(text).substr(0, dash));
    std::optional<int64_t> last =
        dash == std::string::npos ? first : parseInteger(std::string_view(text).substr(dash + 1));
    if (!first || !last || *first < 0)
      fail(item, "'" + text + "' is no rank; write ranks of " + what + " as [0, 2, 4-7]");
    if (*last < *first)
      fail(item, "the range " + text + " of ranks of " + what + " runs backwards");
    if (*last >= maxRanks)
      fail(item, "rank " + std::to_string(*last) + " of " + what + " is too large; ranks end at " +
                     std::to_string(maxRanks - 1));
    for (int64_t rank = *first; rank <= *last; ++rank) {
      if (!seen.insert(static_cast<int>(rank)).second)
        fail(item, "rank " + std::to_string(rank) + " comes twice in " + what);
      ranks.push_back(static_cast<int>(rank));
    }
  };
  if (node.IsScalar())
    add(node);
  else if (node.IsSequence())
    for (const YAML::Node &item : node)
      add(item);
  else
    fail(node, "ranks of " + what + " must be a list such as [0-3], and is " + kindOf(node));
  if (ranks.empty())
    fail(node, what + " has no ranks; give it at least one, as in ranks: [0-3]");
  return ranks;
}

namespace {
/// Notes where a document starts.
class DocumentStart : public YAML::EventHandler {
public:
  FileLocation location;

  void OnDocumentStart(const YAML::Mark &mark) override { location = locate(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark &, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark &, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark &, const std::string &, YAML::anchor_t, const std::string &) override {}
  void OnSequenceStart(const YAML::Mark &, const std::string &, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark &, const std::string &, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};
} // namespace

Status read(const std::string &text, const std::string &fileName, const std::string &what,
            const std::function<void(const YAML::Node &)> &visit) {
  auto error = [&](FileLocation location, const std::string &message) {
    std::string where = fileName;
    if (location.line > 0)
      where += ":" + std::to_string(location.line) + ":" + std::to_string(location.column);
    return Error{where + ": " + message};
  };
  if (text.size() > maxFileSize)
    return error({}, "the " + what + " is larger than 1 MiB");
  if (std::optional<FileLocation> odd = findNoText(text))
    return error(*odd, "this is no text in UTF-8; save the " + what + " as such");
  // yaml-cpp throws; nothing of it leaves this function.
  try {
    // Not LoadAll(): on text such as ",: {" yaml-cpp 0.7 goes on finding empty documents for ever.
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentStart start;
    parser.HandleNextDocument(start);
    if (parser.HandleNextDocument(start))
      return error(start.location, "a " + what + " is one YAML document, and it ends before this");
    YAML::Node root = YAML::Load(text);
    if (root.IsDefined() && !root.IsNull())
      visit(root);
    return {};
  } catch (const Located &located) {
    return error(located.location, located.message);
  } catch (const YAML::Exception &exception) {
    return error(locate(exception.mark), "this is no YAML: " + exception.msg);
  } catch (const std::exception &exception) {
    return error({}, std::string("this is no YAML: ") + exception.what());
  }
}

} // namespace braid::plan::yaml
