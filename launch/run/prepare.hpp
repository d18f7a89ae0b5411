// SPDX-License-Identifier: MIT
// The one door from a job file to a start: what `gangway run` reads, settles and checks before it
// makes anything. Main thread.
#pragma once

#include <optional>
#include <string>

#include "job/file/parse.hpp"
#include "launch/process/environment.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/run/run_options.hpp"

namespace gangway::launch {

struct Prepared {
  ResolvedJob read;  ///< all places said so; hosts that its layout names are not in its spec
  JobSpec job;       ///< that is trained: `read.spec` on `where`, planned where that was asked for
  JobHosts where;
  /// What the data are; empty where workers are on other hosts, which may have other data.
  std::string data = {};
};

/// Reads the job and its hosts, settles what it leaves open, takes the layout of a plan, looks at
/// the user's networks and the data. Prints what it finds.
/// @throws ConfigError: whatever speaks against the job; EnvironmentError: against this machine
[[nodiscard]] Prepared prepare(const RunOptions& asked, const Environment& environment);

/// The job as it is by now, with what it left open then.
[[nodiscard]] ResolvedJob read_again(const RunOptions& asked, const ResolvedJob& before,
                                     const Environment& environment);

/// The job of the run that `options` would go on with; nothing where there is none.
[[nodiscard]] std::optional<JobSpec> job_before(const RunOptions& options,
                                                const std::string& default_name);

}  // namespace gangway::launch
