// SPDX-License-Identifier: MIT
#include "job/schema/key_types.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

YamlNode value_of(const std::string& text) { return read_yaml(text).root; }

TEST(KeyTypes, ReadWholeNumbers) {
  EXPECT_EQ(read_whole(value_of("64"), {}).value, 64U);
  EXPECT_EQ(read_whole(value_of("+64"), {}).value, 64U);
  EXPECT_EQ(read_whole(value_of("18446744073709551615"), {}).value, 18446744073709551615U);
}

TEST(KeyTypes, RefuseWhatIsNoWholeNumber) {
  for (const char* text :
       {"abc", "6.5", "64.0", "1e3", "0x10", "'64'", "~", "[1]", "{a: 1}", "''", "-0.5", "1 2"}) {
    const auto read = read_whole(value_of(text), {});
    EXPECT_EQ(read.complaint.substr(0, 23), "expected a whole number") << text;
  }
  EXPECT_EQ(read_whole(value_of("'64'"), {}).complaint,
            "expected a whole number, not the text '64'");
}

TEST(KeyTypes, RefuseWholeNumbersOutOfRange) {
  EXPECT_EQ(read_whole(value_of("0"), {1, 9}).complaint, "0 is out of range; allowed: 1 to 9");
  EXPECT_EQ(read_whole(value_of("10"), {1, 9}).complaint, "10 is out of range; allowed: 1 to 9");
  EXPECT_EQ(read_whole(value_of("-1"), {}).complaint, "-1 is out of range; allowed: 0 or more");
  EXPECT_EQ(read_whole(value_of("18446744073709551616"), {}).complaint,
            "18446744073709551616 is out of range; allowed: 0 or more");
}

TEST(KeyTypes, ReadNumbers) {
  EXPECT_EQ(read_real(value_of("2e-4"), kAboveZero).value, 2e-4);
  EXPECT_EQ(read_real(value_of("+.5"), kAboveZero).value, 0.5);
  EXPECT_EQ(read_real(value_of("40"), kAboveZero).value, 40.0);
}

TEST(KeyTypes, RefuseWhatIsNoNumber) {
  for (const char* text : {"abc", "nan", "inf", "-inf", ".inf", ".nan", "1,5", "1_0", "'1'", "~",
                           "[1]", "{a: 1}", "+"}) {
    EXPECT_EQ(read_real(value_of(text), kZeroOrMore).complaint.substr(0, 17), "expected a number")
        << text;
  }
}

TEST(KeyTypes, RefuseNumbersOutOfRange) {
  EXPECT_EQ(read_real(value_of("0"), kAboveZero).complaint,
            "0 is out of range; allowed: above 0 to 1e9");
  EXPECT_EQ(read_real(value_of("-1"), kZeroOrMore).complaint,
            "-1 is out of range; allowed: 0 to 1e9");
  EXPECT_EQ(read_real(value_of("1"), kZeroToBelowOne).complaint,
            "1 is out of range; allowed: 0 to below 1");
  EXPECT_EQ(read_real(value_of("1.5"), kZeroToOne).complaint,
            "1.5 is out of range; allowed: 0 to 1");
  EXPECT_EQ(read_real(value_of("1e400"), kZeroOrMore).complaint,
            "1e400 is out of range; allowed: 0 to 1e9");
  EXPECT_EQ(read_real(value_of("1e10"), kZeroOrMore).complaint,
            "1e10 is out of range; allowed: 0 to 1e9");
}

TEST(KeyTypes, ReadPairs) {
  const auto read = read_pair(value_of("[0, 0.9]"), kZeroToBelowOne);
  EXPECT_EQ(read.value, (std::array<double, 2>{0.0, 0.9}));
  EXPECT_EQ(read.complaint, "");
}

TEST(KeyTypes, RefuseWhatIsNoPair) {
  const std::string start = "expected a list of two numbers such as [0.5, 0.999], ";
  EXPECT_EQ(read_pair(value_of("0.5"), kZeroToBelowOne).complaint, start + "not '0.5'");
  EXPECT_EQ(read_pair(value_of("[0.5]"), kZeroToBelowOne).complaint, start + "not one of 1");
  EXPECT_EQ(read_pair(value_of("{a: 1}"), kZeroToBelowOne).complaint, start + "not a map");
  EXPECT_EQ(read_pair(value_of("[0.5, 1]"), kZeroToBelowOne).complaint,
            "1 is out of range; allowed: 0 to below 1");
  EXPECT_EQ(read_pair(value_of("[x, 0.5]"), kZeroToBelowOne).complaint,
            "expected a number, not 'x'");
}

TEST(KeyTypes, ReadText) {
  EXPECT_EQ(read_text(value_of("idx:/a b")).value, "idx:/a b");
  EXPECT_EQ(read_text(value_of("[a]")).complaint, "expected text, not a list");
  EXPECT_EQ(read_text(value_of("''")).complaint, "expected text, not the text ''");
  EXPECT_NE(read_text(value_of("\"a\\nb\"")).complaint, "");
  EXPECT_NE(read_text(value_of(std::string(5000, 'x'))).complaint, "");
}

TEST(KeyTypes, WriteTextThatReadsBackAsTheSame) {
  for (const std::string text :
       {"fashion-mnist", "idx:/data/x", "images:/a b/c.zip", "it's", "toy: x", "#x", "- x", "null",
        "true", "false", "idx:", "", "5", "~", "[a]", "Gr\xC3\xBC\xC3\x9F"}) {
    const YamlNode node = value_of(quoted_if_needed(text));
    EXPECT_EQ(node.text, text);
    EXPECT_EQ(node.kind, YamlNode::Kind::kScalar) << text;
  }
}

TEST(KeyTypes, SuggestAChoice) {
  EXPECT_EQ(choice_complaint(value_of("hnige"), {"hinge", "wasserstein"}),
            "expected hinge, wasserstein, not 'hnige'; did you mean 'hinge'?");
  EXPECT_EQ(choice_complaint(value_of("[a]"), {"hinge"}), "expected hinge, not a list");
}

TEST(KeyTypes, ReadALineOfAsManyBytesAsTheComplaintSays) {
  EXPECT_EQ(read_text(value_of(std::string(4096, 'a'))).complaint, "");
  const std::string complaint = read_text(value_of(std::string(4097, 'a'))).complaint;
  EXPECT_TRUE(complaint.starts_with("expected one line of at most 4096 bytes")) << complaint;
}

}  // namespace
}  // namespace gangway
