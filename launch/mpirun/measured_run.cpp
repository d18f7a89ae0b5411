// SPDX-License-Identifier: MIT
#include "launch/mpirun/measured_run.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "job/schema/key.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLastCharacters = 2000;

/// Returns the results of an ended run named `name`; nullopt: it left none.
std::optional<MeasuredRun> left_by_run(const fs::path& outdir, const std::string& name) {
  for (const auto& entry : fs::directory_iterator(outdir)) {
    if (entry.path().filename().string().ends_with("-" + name)) {
      std::ifstream file(entry.path() / "stats.jsonl");
      std::stringstream text;
      text << file.rdbuf();
      return MeasuredRun{.directory = entry.path(), .stats = text.str()};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> command_of_run(const JobSpec& job, const fs::path& folder,
                                        const std::string& name, int workers,
                                        const Environment& environment) {
  write_file_atomically(folder / "job.yaml", to_yaml(job));
  std::vector<std::string> words{"env"};
  for (const Key& key : key_table(*job.training.recipe)) {
    const std::string variable = environment_name(key.path);
    if (!key.is_variant && environment.contains(variable)) {
      words.insert(words.end(), {"-u", variable});
    }
  }
  words.insert(words.end(),
               {(program_folder() / "gangway").string(), "run", (folder / "job.yaml").string(),
                "--outdir", (folder / "runs").string(), "--run", name, "--progress", "lines"});
  if (workers > 0) {
    words.insert(words.end(), {"--workers", std::to_string(workers)});
  }
  return words;
}

MeasuredRun measured_run(std::vector<std::string> words, const fs::path& outdir,
                         const std::string& name) {
  // Overrides the job: scores would use a measured core, and a restart would falsify times.
  words.insert(words.end(), {"checkpoint.keep_best=0", "evaluation.every_kimg=0",
                             "layout.balance=off", "layout.restarts=0"});
  const std::string line = shell_line(words);
  const ChildOutput output = output_of_child(words, SignalCount::kAtOnce);
  if (output.code != 0) {
    const std::size_t begin = output.text.size() - std::min(output.text.size(), kLastCharacters);
    throw EnvironmentError(fmt::format("'{}' failed: {}", line, output.text.substr(begin)));
  }
  if (std::optional<MeasuredRun> run = left_by_run(outdir, name)) {
    return *std::move(run);
  }
  throw EnvironmentError(
      fmt::format("'{}' left nothing in {}: is it shared by all hosts?", line, outdir.string()));
}

}  // namespace gangway::launch
