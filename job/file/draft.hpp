// SPDX-License-Identifier: MIT
// A job between settings and spec: given values, their places, and the complaints.
//
// Used by job/file/settle_places.cpp, once for each place that gives values. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "job/keys/settings.hpp"
#include "job/spec.hpp"

namespace gangway {

/// An error in a job, for people.
struct Complaint {
  std::string line;
  /// Keys and their places; if one of them goes, the complaint goes, too.
  std::map<std::string, Layer> companions = {};
};

struct Draft {
  JobSpec spec;
  std::map<std::string, Origin> given = {};  ///< by path
  std::set<std::string> faulty = {};         ///< paths that already have a complaint
  std::vector<Complaint> complaints = {};
};

/// Returns `begun` with `settings` applied (the last one of a key counts) and dependent defaults.
[[nodiscard]] Draft draft_of(const std::vector<Setting>& settings, JobSpec begun);

}  // namespace gangway
