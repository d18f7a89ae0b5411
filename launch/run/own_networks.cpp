// SPDX-License-Identifier: MIT
#include "launch/run/own_networks.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_output.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kComplaint = "gangway: ";

/// Returns gangway-model's last message, without the output of libraries before it.
std::string complaint_in(const std::string& text) {
  const std::size_t at = text.rfind(kComplaint);
  return at == std::string::npos
             ? text
             : text.substr(at + kComplaint.size(), text.find('\n', at) - at - kComplaint.size());
}

}  // namespace

bool has_own_networks(const JobSpec& job) {
  const auto is_own = [](const NetworkSpec& network) { return !network.module.file.empty(); };
  return std::ranges::any_of(job.networks, is_own) || !job.model.library.file.empty();
}

void inspect_own_networks(JobSpec& job) {
  const std::filesystem::path program = program_folder() / "gangway-model";
  if (!has_own_networks(job) || !std::filesystem::exists(program)) {
    return;
  }
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "job.yaml";
  write_file_atomically(file, to_yaml(job));
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
    for (NetworkSpec& network : job.networks) {
      const std::string start = "network " + network.name + " ";
      if (line.starts_with(start)) {
        network.module.num_parameters = std::stoll(line.substr(start.size()));
      }
    }
  }
}

}  // namespace gangway::launch
