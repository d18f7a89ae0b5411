// SPDX-License-Identifier: MIT
// What a job takes from its data where it says nothing: model.channels and model.classes; and from
// its hosts where it says numerics.device: auto. Becomes
// part of the job before it is read for good, so that its fingerprint, the run's job.yaml and all
// ranks have one value. Called by the commands that read a user's job file; main thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/file/parse.hpp"
#include "job/spec.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct FollowedData {
  std::vector<std::string> overrides = {};  ///< "model.channels=3": of open keys
  std::string note = {};                    ///< for people; empty: nothing but defaults
  std::string device = {};                  ///< likewise, what numerics.device: auto came to
  /// Why a job whose workers are on other hosts cannot begin; empty: it can.
  std::string unseen = {};
};

/// @param before  the job of the run that is to go on, whose values stay; if there is one
/// @param count_gpus  asked where the device is auto: how many each of the job's hosts has at least
[[nodiscard]] FollowedData follow_data(const OpenKeys& open,
                                       const std::optional<JobSpec>& before = std::nullopt,
                                       const std::function<int()>& count_gpus = usable_gpus);

/// As load_job, filled in by these; no note is printed. @throws as load_job
[[nodiscard]] ResolvedJob load_followed(const JobSources& sources);

}  // namespace gangway::launch
