// SPDX-License-Identifier: MIT
#include "launch/run/own_networks.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/file/settle_places.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_output.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/run/starts.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kComplaint = "gangway: ";

/// What gangway-model says at its end, whatever libraries have said before.
std::string complaint_in(const std::string& text) {
  const std::size_t at = text.rfind(kComplaint);
  return at == std::string::npos
             ? text
             : text.substr(at + kComplaint.size(), text.find('\n', at) - at - kComplaint.size());
}

}  // namespace

RunOptions with_found_python(RunOptions options, const Environment& environment) {
  const JobSpec job = settle_sources(sources_of(options, environment)).draft.spec;
  if (!job.has_python() || !job.layout.python.empty()) {
    return options;
  }
  const auto active = environment.find("VIRTUAL_ENV");
  const std::filesystem::path beside =
      std::filesystem::absolute(options.job_file).parent_path() / ".venv";
  if (active != environment.end() && !active->second.empty()) {
    options.overrides.push_back("layout.python=" + active->second);
  } else if (std::filesystem::exists(beside / "bin/python")) {
    options.overrides.push_back("layout.python=" + beside.string());
  }
  return options;
}

void inspect_own_networks(ResolvedJob& job) {
  const auto is_own = [](const NetworkSpec& network) { return !network.module.file.empty(); };
  const std::filesystem::path program = program_folder() / "gangway-model";
  const bool has_any =
      std::ranges::any_of(job.spec.networks, is_own) || !job.spec.model.library.file.empty();
  if (!has_any || !std::filesystem::exists(program)) {
    return;
  }
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "job.yaml";
  write_file_atomically(file, job.yaml);
  const CommandOutput said = output_of(shell_line({program.string(), "networks", file.string()}));
  if (said.code != 0) {
    const int code = WIFEXITED(said.code) ? WEXITSTATUS(said.code) : 0;
    if (code == static_cast<int>(ExitCode::kUsage)) {
      throw ConfigError(complaint_in(said.text));
    }
    throw EnvironmentError(fmt::format("{} could not look at the job's networks: {}",
                                       program.string(), complaint_in(said.text)));
  }
  std::istringstream lines(said.text);
  for (std::string line; std::getline(lines, line);) {
    for (NetworkSpec& network : job.spec.networks) {
      const std::string start = "network " + network.name + " ";
      if (line.starts_with(start)) {
        network.module.num_parameters = std::stoll(line.substr(start.size()));
      }
    }
  }
}

}  // namespace gangway::launch
