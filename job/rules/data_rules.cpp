// SPDX-License-Identifier: MIT
#include "job/rules/data_rules.hpp"

#include <string>

#include <fmt/format.h>

#include "base/text/utf8.hpp"
#include "job/data_source.hpp"

namespace gangway {
namespace {

std::string check_source(const JobSpec& job) {
  const std::string& source = job.data.source;
  if (is_known_source(source)) {
    return misspelt_labels(source);
  }
  const auto near = nearest_source(source);
  return fmt::format(
      "'{}' is no source; expected fashion-mnist, stacked:fashion-mnist, idx:DIR, "
      "images:DIR_OR_FILE, pack:DIR, toy:ring8 or toy:grid25, or with two sides pairs:DIR_OR_FILE, "
      "unpaired:DIR_OR_FILE, edges:fashion-mnist or classes:fashion-mnist:A,B{}",
      shown(source), near ? fmt::format("; did you mean '{}'?", shown(*near)) : "");
}

}  // namespace

std::vector<Rule> data_rules() {
  return {
      {{"data.source"}, "`data.source` is one of the forms listed.", check_source},
  };
}

}  // namespace gangway
