// SPDX-License-Identifier: MIT
// A job on its way from settings to a spec: given values, their places, and what is wrong.
//
// Used by job/file/settle_places.cpp, once for each place that says something. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "job/keys/settings.hpp"
#include "job/spec.hpp"

namespace gangway {

/// What is wrong, for a person.
struct Complaint {
  std::string line;
  /// Keys and their places: without any of these there is nothing to complain of.
  std::map<std::string, Layer> companions = {};
};

struct Draft {
  JobSpec spec;
  std::map<std::string, Origin> given = {};  ///< by path
  std::set<std::string> faulty = {};         ///< not worth a second complaint
  std::vector<Complaint> complaints = {};
};

/// `begun` with `settings`, the last one of a key, and defaults that depend on other keys.
[[nodiscard]] Draft draft_of(const std::vector<Setting>& settings, JobSpec begun);

}  // namespace gangway
