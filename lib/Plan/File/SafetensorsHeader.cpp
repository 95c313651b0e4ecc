//===- SafetensorsHeader.cpp - What a safetensors file holds --------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/File/SafetensorsHeader.h"

#include <charconv>
#include <optional>
#include <utility>

namespace braid::plan {

static constexpr size_t lengthBytes = 8;
static constexpr uint64_t maxHeader = 100'000'000; // the limit of the reference implementation

namespace {
/// Reads the header's JSON. Its form is fixed: an object of objects whose fields are a string and two lists of
/// integers, and one object of strings. So nothing nests, and the first thing that has another form is the error.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text(text) {}

  /// Places are relative to the data. Nothing after an error.
  bool read(std::map<std::string, StoredTensor> &tensors) {
    if (!object([&](const std::string &name) {
          if (name == "__metadata__")
            return hasMetadata ? fail("'__metadata__' stands twice") : readMetadata();
          if (tensors.count(name))
            return fail("'" + name + "' stands twice");
          return readTensor(name, tensors[name]);
        }))
      return false;
    skip();
    return at == text.size() || fail("more text follows the object");
  }

  std::string error;

private:
  bool fail(const std::string &why) {
    if (error.empty())
      error = "byte " + std::to_string(lengthBytes + at) + ": " + why;
    return false;
  }

  void skip() {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
      ++at;
  }
  char peek() {
    skip();
    return at < text.size() ? text[at] : '\0';
  }
  bool expect(char token) {
    if (peek() != token)
      return fail(std::string("expected '") + token + "'");
    ++at;
    return true;
  }

  /// `field` reads the value behind each key.
  template <typename Field> bool object(Field field) {
    if (!expect('{'))
      return false;
    if (peek() == '}')
      return ++at;
    while (true) {
      std::string key;
      if (!string(key) || !expect(':') || !field(key))
        return false;
      if (peek() == '}')
        return ++at;
      if (!expect(','))
        return false;
    }
  }

  bool list(std::vector<int64_t> &numbers) {
    if (!expect('['))
      return false;
    if (peek() == ']')
      return ++at;
    while (true) {
      skip();
      int64_t number = 0;
      auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      if (code == std::errc::result_out_of_range)
        return fail("a number is outside 0 to 2^63");
      if (code != std::errc())
        return fail("expected a number");
      if (number < 0 || text[at] == '-')
        return fail(std::to_string(number) + " is outside 0 to 2^63");
      if (text[at] == '0' && end != text.data() + at + 1)
        return fail("a number starts with 0");
      at = end - text.data();
      numbers.push_back(number);
      if (peek() == ']')
        return ++at;
      if (!expect(','))
        return false;
    }
  }

  bool hex(uint32_t &unit) {
    if (text.size() - at < 4)
      return fail("a string is cut off");
    auto [end, code] = std::from_chars(text.data() + at, text.data() + at + 4, unit, 16);
    if (code != std::errc() || end != text.data() + at + 4)
      return fail("a string has a wrong escape");
    at += 4;
    return true;
  }

  bool escape(std::string &result) {
    static constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    char letter = at < text.size() ? text[at++] : '\0';
    if (size_t which = letters.find(letter); which != std::string_view::npos) {
      result += meanings[which];
      return true;
    }
    uint32_t code = 0, low = 0;
    if (letter != 'u')
      return fail("a string has a wrong escape");
    if (!hex(code))
      return false;
    if (code >= 0xD800 && code < 0xDC00) {
      if (text.substr(at, 2) != "\\u")
        return fail("a string has half a surrogate pair");
      at += 2;
      if (!hex(low))
        return false;
      if (low < 0xDC00 || low > 0xDFFF)
        return fail("a string has half a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return fail("a string has half a surrogate pair");
    }
    if (code < 0x80) {
      result += static_cast<char>(code);
      return true;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    result += static_cast<char>((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | code >> (6 * more));
    while (more-- > 0)
      result += static_cast<char>(0x80 | ((code >> (6 * more)) & 0x3F));
    return true;
  }

  bool string(std::string &result) {
    if (!expect('"'))
      return false;
    while (at < text.size()) {
      char letter = text[at++];
      if (letter == '"')
        return true;
      if (static_cast<unsigned char>(letter) < 0x20)
        return fail("a string holds a control character");
      if (letter != '\\')
        result += letter;
      else if (!escape(result))
        return false;
    }
    return fail("a string is cut off");
  }

  bool readMetadata() {
    hasMetadata = true;
    std::string ignored;
    return object([&](const std::string &) { return string(ignored); });
  }

  bool readTensor(const std::string &name, StoredTensor &tensor) {
    std::string type;
    std::vector<int64_t> place;
    bool hasType = false, hasShape = false, hasPlace = false;
    auto once = [&](bool &has, const std::string &key) {
      return std::exchange(has, true) ? fail("tensor '" + name + "' has '" + key + "' twice") : true;
    };
    bool sound = object([&](const std::string &key) {
      if (key == "dtype")
        return once(hasType, key) && string(type);
      if (key == "shape")
        return once(hasShape, key) && list(tensor.shape);
      if (key == "data_offsets")
        return once(hasPlace, key) && list(place);
      return fail("tensor '" + name + "' has '" + key + "', which no safetensors file has");
    });
    if (!sound) {
      if (error.find("'" + name + "'") == std::string::npos)
        error += ", in tensor '" + name + "'";
      return false;
    }
    for (auto [has, key] : {std::pair(hasType, "dtype"), {hasShape, "shape"}, {hasPlace, "data_offsets"}})
      if (!has)
        return fail("tensor '" + name + "' has no '" + key + "'");
    std::optional<ElementType> known = findElementType(&ElementTypeInfo::safetensors, type);
    if (!known) {
      std::string all;
      for (const ElementTypeInfo &entry : elementTypes)
        all += (all.empty() ? "" : ", ") + std::string(entry.safetensors);
      return fail("tensor '" + name + "' has dtype " + type + ", which braid does not know; convert it to one of " +
                  all);
    }
    tensor.type = *known;
    if (place.size() != 2)
      return fail("tensor '" + name + "' has data_offsets of " + std::to_string(place.size()) + " numbers, not 2");
    if (place[0] > place[1])
      return fail("the data of tensor '" + name + "' goes from byte " + std::to_string(place[0]) + " to " +
                  std::to_string(place[1]));
    tensor.begin = place[0];
    tensor.bytes = place[1] - place[0];
    uint64_t needed = info(*known).bytes;
    bool overflow = false;
    for (int64_t size : tensor.shape)
      overflow |= __builtin_mul_overflow(needed, static_cast<uint64_t>(size), &needed);
    if (overflow || needed != tensor.bytes) {
      std::string shape;
      for (int64_t size : tensor.shape)
        shape += (shape.empty() ? "" : ", ") + std::to_string(size);
      return fail("tensor '" + name + "' takes " + std::to_string(tensor.bytes) + " bytes and " +
                  std::string(info(*known).name) + "[" + shape + "] needs " +
                  (overflow ? "more than 64 bits count" : std::to_string(needed)));
    }
    return true;
  }

  std::string_view text;
  size_t at = 0;
  bool hasMetadata = false;
};
} // namespace

/// The tensors follow each other without a gap or an overlap, and fill the data.
static Status checkPlaces(const std::map<std::string, StoredTensor> &tensors, uint64_t dataBytes) {
  std::multimap<uint64_t, const std::pair<const std::string, StoredTensor> *> byPlace; // of those that have bytes
  for (const auto &entry : tensors) {
    if (entry.second.begin > dataBytes)
      return Error{"tensor '" + entry.first + "' starts at byte " + std::to_string(entry.second.begin) +
                   " and the file holds " + std::to_string(dataBytes) + " bytes of data"};
    if (entry.second.bytes)
      byPlace.emplace(entry.second.begin, &entry);
  }
  uint64_t end = 0;
  std::string before;
  for (const auto &[begin, entry] : byPlace) {
    const auto &[name, tensor] = *entry;
    if (begin < end)
      return Error{"tensor '" + before + "' ends at byte " + std::to_string(end) + " of the data and tensor '" + name +
                   "' starts at " + std::to_string(begin)};
    if (begin > end)
      return Error{"bytes " + std::to_string(end) + " to " + std::to_string(begin) + " of the data, before tensor '" +
                   name + "', belong to no tensor"};
    if (tensor.bytes > dataBytes - begin)
      return Error{"the data of tensor '" + name + "' is cut off: it ends at byte " +
                   std::to_string(begin + tensor.bytes) + " and the file holds " + std::to_string(dataBytes) +
                   " bytes of data"};
    end = begin + tensor.bytes;
    before = name;
  }
  if (end != dataBytes)
    return Error{"its tensors end at byte " + std::to_string(end) + " of the data and the data at " +
                 std::to_string(dataBytes)};
  return {};
}

Result<std::map<std::string, StoredTensor>> readSafetensorsHeader(std::string_view file) {
  auto broken = [](const std::string &why) { return Error{"this is no sound safetensors file: " + why}; };
  if (file.size() < lengthBytes)
    return broken("it has " + std::to_string(file.size()) + " bytes, and the length of the header alone takes " +
                  std::to_string(lengthBytes));
  uint64_t length = 0;
  for (size_t i = lengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(file[i]);
  if (length > file.size() - lengthBytes)
    return broken("it announces a header of " + std::to_string(length) + " bytes and has " +
                  std::to_string(file.size() - lengthBytes) + " bytes after the length");
  if (length > maxHeader)
    return broken("its header has " + std::to_string(length) + " bytes, more than " + std::to_string(maxHeader));
  HeaderReader reader(file.substr(lengthBytes, length));
  std::map<std::string, StoredTensor> tensors;
  if (!reader.read(tensors))
    return broken("its header is damaged at " + reader.error);
  uint64_t data = lengthBytes + length;
  if (Status status = checkPlaces(tensors, file.size() - data); !status)
    return broken(status.error());
  for (auto &[name, tensor] : tensors)
    tensor.begin += data;
  return tensors;
}

} // namespace braid::plan
