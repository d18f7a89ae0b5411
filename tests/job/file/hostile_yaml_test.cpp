// SPDX-License-Identifier: MIT
// Texts that try to exhaust a parser: each is refused, with a place, in bounded time.
#include <ctime>

#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) {
    text += part;
  }
  return text;
}

// Processor time, because a loaded machine must not fail the test; sanitizers cost a multiple.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kAllowedSeconds = 10.0;
#else
constexpr double kAllowedSeconds = 1.0;
#endif

/// Returns the first complaint. Parsing must take less than a second.
std::string refused_quickly(const std::string& text) {
  const std::clock_t begin = std::clock();
  const auto problems = testing::problems_of(text);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, kAllowedSeconds);
  EXPECT_LE(problems.size(), 101U);
  return problems.empty() ? "accepted" : problems.front();
}

TEST(HostileYaml, TenThousandNestedFlowLists) {
  EXPECT_NE(refused_quickly(repeated("[", 10'000)).find("more than 1000 opening brackets"),
            std::string::npos);
}

TEST(HostileYaml, TenThousandNestedFlowMaps) {
  EXPECT_NE(refused_quickly(repeated("{a: ", 10'000)).find("more than 1000 opening brackets"),
            std::string::npos);
  EXPECT_NE(refused_quickly(repeated("{", 10'000)), "accepted");
}

TEST(HostileYaml, TenThousandNestedBlockLists) {
  EXPECT_NE(refused_quickly(repeated("- ", 10'000) + "x").find("nested deeper than 32"),
            std::string::npos);
}

TEST(HostileYaml, TenThousandNestedKeys) {
  EXPECT_NE(refused_quickly(repeated("? ", 10'000) + "x"), "accepted");
}

TEST(HostileYaml, ThousandNestedBlockMaps) {
  std::string text;
  for (std::size_t depth = 0; depth < 1000; ++depth) {
    text += std::string(depth, ' ') + "a:\n";
  }
  EXPECT_NE(refused_quickly(text).find("nested deeper than 32"), std::string::npos);
}

TEST(HostileYaml, AMebibyteOfOpenBrackets) {
  EXPECT_NE(refused_quickly(repeated("[", 1U << 20U)).find("more than 1000 opening brackets"),
            std::string::npos);
}

TEST(HostileYaml, AMebibyteOfOpenBraces) {
  EXPECT_NE(refused_quickly(repeated("{", 1U << 20U)), "accepted");
}

TEST(HostileYaml, AMebibyteOfDashes) {
  EXPECT_NE(refused_quickly(repeated("- ", 1U << 19U)), "accepted");
}

TEST(HostileYaml, AMebibyteOfQuestionMarks) {
  EXPECT_NE(refused_quickly(repeated("? ", 1U << 19U)), "accepted");
}

TEST(HostileYaml, AMebibyteOfColons) {
  EXPECT_NE(refused_quickly(repeated(": ", 1U << 19U)), "accepted");
}

TEST(HostileYaml, AnAliasBomb) {
  std::string text = "a0: &a0 [x, x]\n";
  for (int level = 1; level < 40; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    text += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + below + ", " +
            below + "]\n";
  }
  EXPECT_EQ(refused_quickly(text),
            "job.yaml:1:5: anchors (&name) are not allowed; write the value out");
}

TEST(HostileYaml, FourThousandUnknownKeys) {
  std::string text = "training:\n";
  for (int key = 0; key < 4'000; ++key) {
    text += "  k" + std::to_string(key) + ": 1\n";
  }
  EXPECT_EQ(refused_quickly(text).substr(0, 32), "job.yaml:2:3: training.k0: unkno");
  EXPECT_EQ(testing::problems_of(text).size(), 101U);
  EXPECT_EQ(testing::problems_of(text).back(),
            "there are more than 100 problems; mend these first");
}

TEST(HostileYaml, AHundredThousandRepeatedKeys) {
  EXPECT_EQ(refused_quickly(repeated("a: 1\n", 100'000)),
            "job.yaml:2:1: key 'a' is given twice; keep one");
}

TEST(HostileYaml, AsManyOpenBracketsAsAreRead) {
  EXPECT_NE(refused_quickly(repeated("[", 1000)), "accepted");
  EXPECT_NE(refused_quickly("[1, " + repeated("[", 999) + "\n"), "accepted");
  EXPECT_NE(refused_quickly("{a: \n" + repeated("{a: \n", 999)), "accepted");
}

TEST(HostileYaml, AVeryLongKey) {
  const std::string problem =
      refused_quickly("training:\n  " + std::string(500'000, 'k') + ": 1\n");
  EXPECT_LT(problem.size(), 200U);
}

TEST(HostileYaml, AVeryLongList) {
  EXPECT_EQ(refused_quickly("training: {kimg: [" + repeated("1,", 300'000) + "1]}"),
            "job.yaml:1:20009: more than 10000 words; a job needs a hundred");
  EXPECT_EQ(refused_quickly("training: {kimg: [" + repeated("1,", 3000) + "1]}"),
            "job.yaml:1:12: training.kimg: expected a number, not a list");
}

TEST(HostileYaml, EscapeSequencesOfTerminals) {
  const std::string problem = refused_quickly("training: {loss: \"\\e[2J\\a\"}");
  EXPECT_EQ(problem.find('\x1B'), std::string::npos);
}

}  // namespace
}  // namespace gangway
