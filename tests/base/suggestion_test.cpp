// SPDX-License-Identifier: MIT
#include "base/text/suggestion.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace gangway {
namespace {

const std::vector<std::string> kPaths = {
    "model.width",         "generator.optimizer.adam.lr",     "training.kimg",
    "discriminator.steps", "discriminator.optimizer.adam.lr", "training"};

/// Fills the whole distance table, without the shortcuts of base/text/suggestion.cpp.
int distance_by_the_book(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> cell(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cell[i][j] = static_cast<int>(i + j);
        continue;
      }
      cell[i][j] = std::min({cell[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1),
                             cell[i - 1][j] + 1, cell[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cell[i][j] = std::min(cell[i][j], cell[i - 2][j - 2] + 1);
      }
    }
  }
  return cell[a.size()][b.size()];
}

/// Returns `word` after random insertions, deletions, replacements and swaps of few letters.
std::string misspelt(std::string word, int edits, std::minstd_rand& random) {
  for (; edits > 0; --edits) {
    const std::size_t at = random() % (word.size() + 1);
    const char letter = "abi."[random() % 4];
    const auto kind = random() % 4;
    if (kind == 0) {
      word.insert(at, 1, letter);
    } else if (kind == 1 && at < word.size()) {
      word.erase(at, 1);
    } else if (kind == 2 && at < word.size()) {
      word[at] = letter;
    } else if (at + 1 < word.size()) {
      std::swap(word[at], word[at + 1]);
    }
  }
  return word;
}

TEST(Suggestion, CountsEditsWithSwapsAsOne) {
  EXPECT_EQ(distance_by_the_book("", ""), 0);
  EXPECT_EQ(distance_by_the_book("kimg", ""), 4);
  EXPECT_EQ(distance_by_the_book("kimg", "kimgs"), 1);
  EXPECT_EQ(distance_by_the_book("kmig", "kimg"), 1);
  EXPECT_EQ(distance_by_the_book("width", "wdith"), 1);
  EXPECT_EQ(distance_by_the_book("batch", "beach"), 2);
}

TEST(Suggestion, FindsWhatComparingEveryWordFinds) {
  std::minstd_rand random(8);
  for (int round = 0; round < 2000; ++round) {
    // Similar words: ties, of which the first counts, and words just beyond the limit.
    std::vector<std::string> known;
    for (int i = 0; i < 5; ++i) {
      known.push_back(misspelt("abiba", static_cast<int>(random() % 4), random));
    }
    const std::string word = misspelt("abiba", static_cast<int>(random() % 3), random);
    const std::size_t part = word.size() - (word.rfind('.') + 1);
    int best = part >= 5 ? 3 : part >= 3 ? 2 : 1;
    std::optional<std::string> expected;
    for (const std::string& candidate : known) {
      if (const int distance = distance_by_the_book(word, candidate); distance < best) {
        best = distance;
        expected = candidate;
      }
    }
    ASSERT_EQ(nearest_word(word, known), expected) << word;
  }
}

TEST(Suggestion, FindsTheNearestPath) {
  EXPECT_EQ(nearest_path("training.kimgs", kPaths), "training.kimg");
  EXPECT_EQ(nearest_path("trianing", kPaths), "training");
}

TEST(Suggestion, FindsAKeyThatStandsInAnotherSection) {
  EXPECT_EQ(nearest_path("kimg", kPaths), "training.kimg");
  EXPECT_EQ(nearest_path("training.lr", kPaths), "generator.optimizer.adam.lr");
}

TEST(Suggestion, PrefersTheSameSection) {
  EXPECT_EQ(nearest_path("discriminator.lr", kPaths), "discriminator.optimizer.adam.lr");
}

TEST(Suggestion, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_path("training.colour", kPaths), std::nullopt);
  EXPECT_EQ(nearest_path("xx", kPaths), std::nullopt);
  EXPECT_EQ(nearest_path(std::string(1000, 'k'), kPaths), std::nullopt);
}

}  // namespace
}  // namespace gangway
