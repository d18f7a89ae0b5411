// SPDX-License-Identifier: MIT
#include "bench/command/bench_allreduce.hpp"

#include <iostream>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "gangway-bench-allreduce";

std::vector<std::string> arguments_of(const AllreduceOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  add("--sizes", options.sizes);
  add("--rounds", std::to_string(options.rounds));
  add("--seconds", fmt::format("{}", options.seconds));
  add("--buckets", std::to_string(options.buckets));
  add("--sleep", std::to_string(options.sleep_microseconds));
  if (!options.transports.empty()) {
    add("--transports", options.transports);
  }
  if (!options.line_rate.empty()) {
    add("--line-rate", options.line_rate);
  }
  if (options.corrupt_round > 0) {
    add("--corrupt-round", std::to_string(options.corrupt_round));
  }
  return words;
}

}  // namespace

int bench_allreduce(const AllreduceOptions& options, const Environment& environment) {
  const fs::path program = launch::program_folder() / kProgram;
  if (!fs::exists(program)) {
    throw EnvironmentError(
        fmt::format("{} is missing: build all programs (./launch/build)", program.string()));
  }
  const launch::TemporaryFolder folder;
  fs::path hostfile;
  if (!options.hostfile.empty()) {
    hostfile = folder.path() / "hostfile";
    write_file_atomically(
        hostfile,
        hostfile_with_coordinator(launch::read_hostfile(options.hostfile), launch::is_this_host));
  }
  launch::require_quiet_machine(options.anyway);
  launch::let_root_use_mpirun();
  for (const int workers : options.workers) {
    const auto command =
        launch::measuring_command({.workers = workers,
                                   .program = program,
                                   .hostfile = hostfile,
                                   .exported_variables = launch::exported_variables(environment)},
                                  arguments_of(options));
    std::cout << "$ " << launch::shell_line(command) << std::endl;
    if (const int code = launch::run_child(command); code != 0) {
      return code;
    }
  }
  return 0;
}

}  // namespace gangway::bench
