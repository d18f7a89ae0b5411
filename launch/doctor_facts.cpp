// SPDX-License-Identifier: MIT
#include "launch/doctor_facts.hpp"

#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pwd.h>

#include "base/build_id.hpp"
#include "base/message_segments.hpp"
#include "base/shared_segment.hpp"
#include "base/units.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_runs.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/environment.hpp"
#include "python/read/python_home.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Options {
  fs::path hostfile;
  bool cleans = false;
};

/// Builds a command like that of a job, with the coordinator's self-test as program.
std::vector<std::string> two_ranks() {
  std::vector<std::string> words = mpirun_command({.workers = 1, .threads = 1});
  words.resize(words.size() - 2);  // drops `gangway train`
  words.insert(words.end(), {(program_folder() / "gangway-coordinator").string(), "--smoke-test"});
  return words;
}

int tell_facts(const Options& options, const Environment& environment) {
  ordered_json facts{{"version", GANGWAY_VERSION},
                     {"build", build_id()},
                     {"libtorch_root", torch_folder().string()},
                     {"cuda_toolkit", GANGWAY_CUDA_VERSION},
                     {"protobuf", GANGWAY_PROTOBUF_VERSION},
                     {"grpc", GANGWAY_GRPC_VERSION},
                     {"two_ranks", two_ranks()},
                     {"forwarded", exported_variables(environment)}};
  if (!options.hostfile.empty()) {
    for (const Host& host : read_hostfile(options.hostfile)) {
      facts["hosts"].push_back(host.name);
    }
  }
  if (options.cleans) {
    facts["segments_removed"] = clean_shared_memory(kSharedMemoryFolder);
    facts["snapshots"] = clean_snapshots(kSharedMemoryFolder);
  }
  // A path may contain invalid UTF-8.
  std::cout << facts.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
  return 0;
}

std::string user_name(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("user {}", user);
}

}  // namespace

std::size_t clean_shared_memory(const fs::path& folder) {
  return reap_segments(folder) + reap_message_segments(folder).removed;
}

std::vector<std::string> clean_snapshots(const fs::path& folder) {
  const checkpoint::ReapedSnapshots reaped = checkpoint::reap_snapshots(folder);
  const checkpoint::SnapshotSurvey survey = checkpoint::survey_snapshots(folder);
  std::vector<std::string> lines;
  if (reaped.removed > 0) {
    lines.push_back(
        fmt::format("removed {} of runs that have ended or were unused for {} ({:.1f} MiB)",
                    reaped.removed, checkpoint::duration_text(checkpoint::kSnapshotsKept),
                    static_cast<double>(reaped.removed_bytes) / kMebibyte));
  }
  for (const checkpoint::RunSnapshots& run : survey.runs) {
    lines.push_back(fmt::format("{}: {}", run.run_directory.string(),
                                describe_snapshots(run, folder, fs::file_time_type::clock::now())));
  }
  for (const checkpoint::ForeignSnapshots& others : survey.foreign) {
    lines.push_back(fmt::format("{} of {} ({:.1f} MiB)", others.files, user_name(others.user),
                                static_cast<double>(others.bytes) / kMebibyte));
  }
  return lines;
}

void add_doctor_facts_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor-facts")->group("");
  command->add_option("--hostfile", options->hostfile);  // also looks up its host names
  command->add_flag("--clean", options->cleans);  // also removes shared memory that runs left
  command->callback([options, &line] {
    line.action = [options, &line] { return tell_facts(*options, line.environment); };
  });
}

}  // namespace gangway::launch
