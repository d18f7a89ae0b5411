// SPDX-License-Identifier: MIT
#include "bench/command/bench_allreduce.hpp"

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
constexpr const char* kNcclProgram = "gangway-bench-nccl";

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

fs::path require_program(const char* name) {
  const fs::path program = launch::program_folder() / name;
  if (!fs::exists(program)) {
    throw EnvironmentError(
        fmt::format("{} is missing: build all programs (./launch/build)", program.string()));
  }
  return program;
}

nlohmann::json figures_of(const char* program, int workers,
                          const std::vector<std::string>& arguments,
                          const Environment& environment) {
  launch::let_root_use_mpirun();
  std::vector<std::string> command =
      launch::command_on_hosts({.workers = workers,
                                .program = require_program(program),
                                .hostfile = {},
                                .exported_variables = launch::exported_variables(environment)},
                               arguments);
  command.insert(command.begin(), {"timeout", "120"});  // NCCL has hung where links were broken
  const launch::ChildOutput output = launch::output_of_child(command, launch::ToldToEnd::kAtOnce);
  const std::size_t end = output.text.find_last_not_of('\n') + 1;
  const std::string said = output.text.substr(0, end);
  const std::string last = said.substr(said.rfind('\n') + 1);
  nlohmann::json figures = nlohmann::json::parse(last, nullptr, false);
  if (output.code != 0 || !figures.is_object()) {
    throw EnvironmentError(fmt::format("'{}' failed: {}", launch::shell_line(command), last));
  }
  return figures;
}

}  // namespace

nlohmann::json measured_allreduce(const AllreduceOptions& options, const Environment& environment) {
  std::vector<std::string> arguments = arguments_of(options);
  arguments.emplace_back("--json");
  return figures_of(kProgram, options.workers.front(), arguments, environment);
}

nlohmann::json measured_nccl(int gpus, const Environment& environment) {
  return figures_of(kNcclProgram, gpus, {}, environment);
}

int bench_allreduce(const AllreduceOptions& options, const Environment& environment) {
  const fs::path program = require_program(kProgram);
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
        launch::command_on_hosts({.workers = workers,
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
