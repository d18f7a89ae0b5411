// SPDX-License-Identifier: MIT
// What a job leaves to its data: nobody has said how many channels or labels there are. Asked by
// launch/data/followed_data.cpp before the job is read for good. Pure but for reading the file.
#pragma once

#include "job/file/job_sources.hpp"
#include "job/spec.hpp"

namespace gangway {

struct OpenKeys {
  DataSpec data;
  bool channels = false;  ///< model.channels has a meaning, and nobody has given it
  bool device = false;    ///< numerics.device is auto
  bool classes = false;   ///< model.classes, likewise; not of networks of the user's own
};

/// Nothing is complained about but a file that cannot be read: what is wrong is said when the job
/// is read for good. @throws JobFileError
[[nodiscard]] OpenKeys open_keys(const JobSources& sources);

}  // namespace gangway
