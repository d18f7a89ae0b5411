// SPDX-License-Identifier: MIT
#include "job/schema/yaml_tree.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

std::string only_problem(std::string_view text) {
  const YamlResult result = read_yaml(text);
  if (result.problems.size() != 1) {
    return std::to_string(result.problems.size()) + " problems";
  }
  const YamlProblem& problem = result.problems[0];
  return std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column) + ": " +
         problem.message;
}

TEST(YamlTree, KeepsValuesOrderAndPositions) {
  const YamlResult result = read_yaml("a: 1\nb: {c: [x, 'y'], d: }\n");
  ASSERT_TRUE(result.problems.empty());
  ASSERT_EQ(result.root.entries.size(), 2U);
  EXPECT_EQ(result.root.entries[0].key, "a");
  EXPECT_EQ(result.root.entries[0].value.text, "1");
  const YamlEntry& b = result.root.entries[1];
  EXPECT_EQ(b.at.line, 2);
  EXPECT_EQ(b.at.column, 1);
  ASSERT_EQ(b.value.entries.size(), 2U);
  const YamlEntry& c = b.value.entries[0];
  EXPECT_EQ(c.at.column, 5);
  ASSERT_EQ(c.value.items.size(), 2U);
  EXPECT_FALSE(c.value.items[0].is_quoted);
  EXPECT_TRUE(c.value.items[1].is_quoted);
  EXPECT_EQ(b.value.entries[1].value.kind, YamlNode::Kind::kNull);
}

TEST(YamlTree, TakesAnEmptyTextForNothing) {
  EXPECT_EQ(read_yaml("").root.kind, YamlNode::Kind::kNull);
  EXPECT_EQ(read_yaml("# only a comment\n").root.kind, YamlNode::Kind::kNull);
  EXPECT_TRUE(read_yaml("# only a comment\n").problems.empty());
}

TEST(YamlTree, RefusesAnchors) {
  EXPECT_EQ(only_problem("a: &x 1"), "1:4: anchors (&name) are not allowed; write the value out");
  EXPECT_NE(only_problem("a: &x [1]").find("anchors"), std::string::npos);
  EXPECT_NE(only_problem("a: &x").find("anchors"), std::string::npos);
}

TEST(YamlTree, RefusesAliases) {
  // After an anchor the parser would stop at the anchor; without one, an alias is a syntax error.
  EXPECT_NE(only_problem("a: *x").find("1:4: not valid YAML"), std::string::npos);
}

TEST(YamlTree, RefusesTags) {
  EXPECT_EQ(only_problem("a: !!int 5"),
            "1:4: tags ('tag:yaml.org,2002:int') are not allowed; write the value alone");
  EXPECT_NE(only_problem("a: !x [5]").find("tags ('!x')"), std::string::npos);
}

TEST(YamlTree, NamesEachKeyGivenTwice) {
  const YamlResult result = read_yaml("a: 1\na: 2\nb: {c: 1, c: {d: 1}}\n");
  ASSERT_EQ(result.problems.size(), 2U);
  EXPECT_EQ(result.problems[0].at.line, 2);
  EXPECT_EQ(result.problems[0].message, "key 'a' is given twice; keep one");
  EXPECT_EQ(result.problems[1].at.column, 11);
  EXPECT_EQ(result.root.entries[0].value.text, "1");
  EXPECT_EQ(result.root.entries[1].value.entries.size(), 1U);
}

TEST(YamlTree, RefusesASecondDocument) {
  EXPECT_EQ(only_problem("a: 1\n---\nb: 2\n"),
            "2:1: a second document begins here; a job is one document: remove the '---'");
}

TEST(YamlTree, RefusesKeysThatAreNoWords) {
  EXPECT_EQ(only_problem("? [a, b]\n: 1\n"),
            "1:3: a key must be a word, not a list or a map; is a bracket left open?");
  EXPECT_NE(only_problem("? {a: b}\n: 1\n").find("a key must be a word"), std::string::npos);
  EXPECT_NE(only_problem(": 1\n").find("a key is missing"), std::string::npos);
}

TEST(YamlTree, PlacesSyntaxErrors) {
  EXPECT_NE(only_problem("a: 1\nb: [1, 2\n").find("not valid YAML: "), std::string::npos);
  EXPECT_EQ(only_problem("a: 1\n\tb: 2\n"), "2:1: a tab indents this line; use spaces");
  EXPECT_EQ(only_problem("a:\n  b: 1\n  \tc: 2\n"), "3:3: a tab indents this line; use spaces");
}

TEST(YamlTree, RefusesNulBytesWithTheirPlace) {
  EXPECT_EQ(only_problem(std::string_view("a: 1\nb: \0", 9)),
            "2:4: contains a NUL byte; a job is UTF-8 text");
}

TEST(YamlTree, RefusesWhatIsNotUtf8WithItsPlace) {
  EXPECT_EQ(only_problem("a: \xFF"), "1:4: is not UTF-8 here; save the file as UTF-8");
}

TEST(YamlTree, AllowsExactlyTheDepthAndTheSizeItStates) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(read_yaml(nested(kYamlLimitDepth)).problems.empty());
  EXPECT_EQ(only_problem(nested(kYamlLimitDepth + 1)),
            "1:33: nested deeper than 32 levels; a job needs five");
  EXPECT_TRUE(read_yaml("#" + std::string(kYamlLimitBytes - 1, 'x')).problems.empty());
  EXPECT_EQ(only_problem("#" + std::string(kYamlLimitBytes, 'x')),
            "0:0: larger than 1024 KiB; a job is a page of text");
}

}  // namespace
}  // namespace gangway
