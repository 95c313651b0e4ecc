//===- TextTableTest.cpp --------------------------------------------------===//
//
// Part of braid, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "braid/Plan/Support/TextTable.h"
#include "braid/Plan/Support/Random.h"

#include <gtest/gtest.h>

using namespace braid::plan;

TEST(TextTable, ReadsCells) {
  Result<TextTable> table =
      TextTable::parse("\xef\xbb\xbfid, tokens ,\"a, \"\"b\"\"\"\r\n0,12,3.5\r\n \r\n1,,7e2", "t.csv");
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(table->columns, (std::vector<std::string>{"id", "tokens", "a, \"b\""}));
  EXPECT_EQ(table->lines, (std::vector<int>{2, 4}));
  EXPECT_EQ(table->text(0, "tokens"), "12");
  EXPECT_EQ(*table->sizes("a, \"b\""), (std::vector<double>{3.5, 700}));
  EXPECT_EQ(table->sizes("tokens").error(), "t.csv:4 has '' in column 'tokens'; write a number");
  EXPECT_EQ(table->sizes("token").error(), "t.csv has no column 'token'; did you mean 'tokens'?");
  EXPECT_EQ(table->number(0, "token").error(), "t.csv has no column 'token'; did you mean 'tokens'?");
}

TEST(TextTable, RefusesBadTables) {
  auto refused = [](const std::string &text, const std::string &words) {
    Result<TextTable> table = TextTable::parse(text, "s.csv");
    ASSERT_FALSE(table) << text;
    EXPECT_NE(table.error().find(words), std::string::npos) << table.error();
  };
  refused("", "s.csv is empty");
  refused("a,,b\n", "s.csv:1 has a column without a name");
  refused("\na,a\n", "s.csv:2 has two columns 'a'");
  refused("a,b\n1\n", "s.csv:2 has 1 cells and the first line names 2 columns; fill it up");
  refused("a\n1\n1,2\n", "s.csv:3 has 2 cells and the first line names 1 columns");
  refused("a\n\"1\n", "s.csv:2 has a quote that is not closed");
  refused(std::string(2000, ','), "s.csv:1 has more than 1024 columns");
  for (const char *cell : {"-1", "inf", "nan", "1e999", "1x", "\x01"}) {
    Result<TextTable> table = TextTable::parse(std::string("a\n") + cell, "s.csv");
    ASSERT_TRUE(table) << cell;
    EXPECT_FALSE(table->sizes("a")) << cell;
  }
  Result<TextTable> odd = TextTable::parse(std::string("a\n\0\n", 4), "s.csv");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->number(0, "a").error(), "s.csv:2 has '?' in column 'a'; write a number");
}

// Any bytes are read or refused; what is read has the shape of a table.
TEST(TextTable, ReadsOrRefusesAnyBytes) {
  Random random(3);
  const std::string alphabet("0123456789.,,,\n\n-+eEinfa \t\r\"\0\xff", 31);
  int accepted = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = trial % 2 ? "a,b\n" : "";
    for (uint64_t length = random.below(30); length > 0; --length)
      text += alphabet[random.below(alphabet.size())];
    Result<TextTable> table = TextTable::parse(text, "s.csv");
    if (!table) {
      EXPECT_EQ(table.error().rfind("s.csv", 0), 0u) << table.error();
      continue;
    }
    ++accepted;
    EXPECT_EQ(table->lines.size(), table->rows.size());
    for (const std::vector<std::string> &row : table->rows)
      EXPECT_EQ(row.size(), table->columns.size());
  }
  EXPECT_GT(accepted, 100);
}

// What is there lies in at least one segment.
TEST(TextTable, SegmentsHoldWhatIsThere) {
  Result<TextTable> table = TextTable::parse("tokens,images\n0,0\n512,2\n7,1\n", "t.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(*table->segments("images", "tokens"), (std::vector<double>{0, 2, 1}));
  table->rows[1][1] = "0";
  EXPECT_EQ(table->segments("images", "tokens").error(),
            "t.csv:3 has '0' in column 'images' and '512' in 'tokens'; what is there lies in at least one segment");
}
