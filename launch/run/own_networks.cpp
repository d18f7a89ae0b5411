// SPDX-License-Identifier: MIT
#include "launch/run/own_networks.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/process/child.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kComplaint = "gangway: ";
// Python and PyTorch may come from a slow network disk.
constexpr std::chrono::seconds kTrialLimit{600};

/// Returns gangway-model's last message, without the output of libraries before it.
std::string complaint_in(const std::string& text) {
  const std::size_t at = text.rfind(kComplaint);
  return at == std::string::npos
             ? text
             : text.substr(at + kComplaint.size(), text.find('\n', at) - at - kComplaint.size());
}

}  // namespace

std::vector<std::string> files_of_own_networks(const JobSpec& job) {
  std::vector<std::string> files{job.model.library.file};
  for (const NetworkSpec& network : job.networks) {
    if (std::ranges::find(files, network.module.file) == files.end()) {
      files.push_back(network.module.file);
    }
  }
  std::erase(files, "");
  return files;
}

void inspect_own_networks(JobSpec& job) {
  const std::filesystem::path program = program_folder() / "gangway-model";
  const std::vector<std::string> files = files_of_own_networks(job);
  if (files.empty() || !std::filesystem::exists(program)) {
    return;
  }
  std::cout << fmt::format("tries  the networks of {}, before the run begins",
                           fmt::join(files, ", "))
            << std::endl;
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "job.yaml";
  write_file_atomically(file, to_yaml(job));
  const ChildOutput said =
      output_within(kTrialLimit, {program.string(), "networks", file.string()});
  if (said.code == static_cast<int>(ExitCode::kUsage)) {
    throw ConfigError(complaint_in(said.text));
  }
  if (said.code == kTookTooLong || said.code > kEndedBySignal) {
    throw EnvironmentError(fmt::format(
        "{} was ended while it tried the networks of {}: the memory was full, or it took more than "
        "{} s; try these files by themselves in Python",
        program.string(), fmt::join(files, ", "), kTrialLimit.count()));
  }
  if (said.code != 0) {
    throw EnvironmentError(fmt::format("{} could not try the job's networks: {}", program.string(),
                                       complaint_in(said.text)));
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
