// SPDX-License-Identifier: MIT
#include <string>

#include <fmt/format.h>

#include "base/text/utf8.hpp"
#include "job/data_source.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

std::string check_source(const JobSpec& job) {
  const std::string& source = job.data.source;
  if (job.data.module.is_python()) {
    return job.data.cache == 0
               ? ""
               : "data.cache keeps pictures of files; leave it out with examples in Python";
  }
  if (is_known_source(source)) {
    return misspelt_labels(source);
  }
  const auto near = nearest_source(source);
  return fmt::format(
      "'{}' is no source; expected fashion-mnist, stacked:fashion-mnist, idx:DIR, "
      "images:DIR_OR_FILE, pack:DIR, toy:ring8 or toy:grid25, or with two sides pairs:DIR_OR_FILE, "
      "unpaired:DIR_OR_FILE, edges:fashion-mnist or classes:fashion-mnist:A,B, or a Python class, "
      "data.py:Faces{}",
      shown(source), near ? fmt::format("; did you mean '{}'?", shown(*near)) : "");
}

}  // namespace

std::vector<Rule> data_rules() {
  return {
      {{"data.source", "data.cache"},
       "`data.source` is one of the forms listed; examples in Python are not cached.",
       check_source},
  };
}

}  // namespace gangway
