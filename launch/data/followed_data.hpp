// SPDX-License-Identifier: MIT
// Fills in keys that a job leaves open: model.channels and model.classes from its data, and
// numerics.device: auto from its hosts. Runs before the job is read for good, so that fingerprint,
// job.yaml and all ranks get one value. Called by the commands that read a user's job file; main
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/file/parse.hpp"
#include "job/spec.hpp"
#include "launch/process/gpus.hpp"

namespace gangway::launch {

struct FollowedData {
  std::vector<std::string> overrides = {};  ///< values of open keys: "model.channels=3"
  std::string note = {};                    ///< for the user; empty: only defaults were used
  std::string device = {};                  ///< for the user: the choice for numerics.device: auto
  /// Reason why a job with workers on other hosts cannot begin; empty: it can.
  std::string unseen = {};
};

/// @param before  job of the run to resume, whose values stay; nullopt: a new run
/// @param count_gpus  called if the device is auto: smallest number of GPUs on any host of the job
[[nodiscard]] FollowedData follow_data(const OpenKeys& open,
                                       const std::optional<JobSpec>& before = std::nullopt,
                                       const std::function<int()>& count_gpus = usable_gpus);

/// Loads a job as load_job does, fills in the open keys and settles precision and memory format as
/// a new run on this host would; prints no note. @throws as load_job
[[nodiscard]] ResolvedJob load_followed(const JobSources& sources);

}  // namespace gangway::launch
