// SPDX-License-Identifier: MIT
#include "job/suggestion.hpp"

#include <algorithm>

namespace gangway {
namespace {

/// Longer input is no typo, and the distance costs the product of the lengths.
constexpr std::size_t kLongestWord = 64;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// Two typos, but fewer in short words: `foo` is not a misspelt `lr`.
int tolerated_distance(std::string_view word) {
  return word.size() >= 5 ? 2 : word.size() >= 3 ? 1 : 0;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before_last(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = static_cast<int>(j);
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  if (word.size() > kLongestWord) {
    return std::nullopt;
  }
  std::optional<std::string> best;
  int best_distance = tolerated_distance(last_part(word)) + 1;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::optional<std::string> nearest_path(std::string_view path,
                                        const std::vector<std::string>& known) {
  if (auto whole = nearest_word(path, known)) {
    return whole;
  }
  std::vector<std::string> parts;
  for (const std::string& candidate : known) {
    parts.emplace_back(last_part(candidate));
  }
  // Among keys of one name the one in the same section, else the first.
  const auto part = nearest_word(last_part(path), parts);
  if (!part) {
    return std::nullopt;
  }
  const std::string_view section = path.substr(0, path.find('.'));
  std::optional<std::string> best;
  for (const std::string& candidate : known) {
    const bool is_same_section = candidate.substr(0, candidate.find('.')) == section;
    if (last_part(candidate) == *part && (!best || is_same_section)) {
      best = candidate;
      if (is_same_section) {
        break;
      }
    }
  }
  return best;
}

}  // namespace gangway
