// SPDX-License-Identifier: MIT
#include "job/rules/data_rules.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"
#include "job/data_source.hpp"

namespace gangway {
namespace {

std::string check_source(const JobSpec& job) {
  const std::string& source = job.data.source;
  const std::vector<std::string> words = {"fashion-mnist", "stacked:fashion-mnist", "toy:ring8",
                                          "toy:grid25"};
  const auto names_one = [&source](std::string_view prefix) {
    return source.starts_with(prefix) && source.size() > prefix.size();
  };
  const bool is_of_two_sides = job.data.has_two_sides() && !source.ends_with(':');
  if (names_one("idx:") || names_one("images:") || is_of_two_sides ||
      std::find(words.begin(), words.end(), source) != words.end()) {
    return misspelt_labels(source);
  }
  const auto near = nearest_word(source, words);
  return fmt::format(
      "'{}' is no source; expected fashion-mnist, stacked:fashion-mnist, idx:DIR, "
      "images:DIR_OR_ZIP, toy:ring8 or toy:grid25, or with two sides pairs:DIR_OR_ZIP, "
      "unpaired:DIR_OR_ZIP, edges:fashion-mnist or classes:fashion-mnist:A,B{}",
      shown(source), near ? fmt::format("; did you mean '{}'?", *near) : "");
}

}  // namespace

std::vector<Rule> data_rules() {
  return {
      {{"data.source"}, "`data.source` is one of the forms listed.", check_source},
  };
}

}  // namespace gangway
