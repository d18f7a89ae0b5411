// SPDX-License-Identifier: MIT
#include "base/text/suggestion.hpp"

#include <algorithm>
#include <cstdlib>

namespace gangway {
namespace {

/// Longer words get no suggestion: they are no typos, and a distance costs the product of lengths.
constexpr std::size_t kLongestWord = 64;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// Returns the typos allowed in `word`: two, fewer in short words (`foo` is no misspelt `lr`).
int tolerated_distance(std::string_view word) {
  return word.size() >= 5 ? 2 : word.size() >= 3 ? 1 : 0;
}

/// Computes edit distances (optimal string alignment) up to a limit. A word is compared with a
/// hundred keys, nearly all far from it. So it visits only cells within `limit` of the diagonal. It
/// stops at the first row that shows that the limit is passed.
class BoundedDistance {
 public:
  /// Returns the distance, or `limit` if it is at least that.
  int operator()(std::string_view a, std::string_view b, int limit) {
    const int height = static_cast<int>(a.size());
    const int width = static_cast<int>(b.size());
    if (std::abs(height - width) >= limit) {
      return limit;
    }
    begin(width, limit);
    for (int i = 1; i <= height; ++i) {
      // A swap in the next row reads the row before this one. If it costs less than `limit`, a cell
      // of this row does, too, because a replacement costs as much.
      if (fill_row(a, b, i, limit) >= limit) {
        return limit;
      }
      std::swap(before_last_, last_);
      std::swap(last_, row_);
    }
    return std::min(last_[b.size()], limit);
  }

 private:
  void begin(int width, int limit) {
    const auto size = static_cast<std::size_t>(width) + 1;
    before_last_.assign(size, limit);
    last_.assign(size, limit);
    row_.assign(size, limit);
    for (int j = 0; j <= std::min(width, limit); ++j) {
      last_[static_cast<std::size_t>(j)] = j;
    }
  }

  /// Computes row `i` of the table into row_ from the two rows above. Returns its least cell.
  int fill_row(std::string_view a, std::string_view b, int i, int limit) {
    const int width = static_cast<int>(b.size());
    const int first = std::max(1, i - limit + 1);
    const int end = std::min(width, i + limit - 1) + 1;
    const auto at = static_cast<std::size_t>(i);
    const auto before = static_cast<std::size_t>(first) - 1;
    row_[before] = before == 0 ? i : limit;
    int least = row_[before];
    for (std::size_t j = before + 1; j < static_cast<std::size_t>(end); ++j) {
      const int replaced = last_[j - 1] + (a[at - 1] == b[j - 1] ? 0 : 1);
      row_[j] = std::min({replaced, last_[j] + 1, row_[j - 1] + 1});
      if (at > 1 && j > 1 && a[at - 1] == b[j - 2] && a[at - 2] == b[j - 1]) {
        row_[j] = std::min(row_[j], before_last_[j - 2] + 1);
      }
      least = std::min(least, row_[j]);
    }
    if (end <= width) {
      row_[static_cast<std::size_t>(end)] = limit;
    }
    return least;
  }

  std::vector<int> before_last_;
  std::vector<int> last_;
  std::vector<int> row_;
};

/// Returns the first of `known` whose `part_of` is nearest to `word`; null if none is near.
const std::string* nearest(std::string_view word, const std::vector<std::string>& known,
                           std::string_view (*part_of)(std::string_view)) {
  if (word.size() > kLongestWord) {
    return nullptr;
  }
  BoundedDistance distance_below;
  const std::string* best = nullptr;
  int best_distance = tolerated_distance(last_part(word)) + 1;
  for (const std::string& candidate : known) {
    const int distance = distance_below(word, part_of(candidate), best_distance);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best;
}

std::string_view whole(std::string_view path) { return path; }

}  // namespace

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  const std::string* const found = nearest(word, known, whole);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<std::string> nearest_path(std::string_view path,
                                        const std::vector<std::string>& known) {
  if (const std::string* const found = nearest(path, known, whole)) {
    return *found;
  }
  // Among keys of the same name, prefer the key in the same section, else the first.
  const std::string* const first = nearest(last_part(path), known, last_part);
  if (first == nullptr) {
    return std::nullopt;
  }
  const std::string_view section = path.substr(0, path.find('.'));
  std::optional<std::string> best;
  for (const std::string& candidate : known) {
    const bool is_same_section =
        std::string_view(candidate).substr(0, candidate.find('.')) == section;
    if (last_part(candidate) == last_part(*first) && (!best || is_same_section)) {
      best = candidate;
      if (is_same_section) {
        break;
      }
    }
  }
  return best;
}

}  // namespace gangway
