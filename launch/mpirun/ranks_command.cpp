// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

struct RanksOptions {
  std::string program;
  std::vector<int> workers;  ///< number of workers, for each start
  fs::path hostfile;
  std::vector<std::string> arguments;
};

/// @return exit code of the first failed start, or 0
int start_ranks(const RanksOptions& options, const Environment& environment) {
  const fs::path program = program_folder() / options.program;
  if (!fs::exists(program)) {
    throw EnvironmentError(
        fmt::format("{} is missing: build all programs (./launch/build)", program.string()));
  }
  const TemporaryFolder folder;
  fs::path hostfile;
  if (!options.hostfile.empty()) {
    hostfile = folder.path() / "hostfile";
    write_file_atomically(hostfile,
                          hostfile_with_coordinator(read_hostfile(options.hostfile), is_this_host));
  }
  let_root_use_mpirun();
  for (const int workers : options.workers) {
    const std::vector<std::string> command =
        command_on_hosts({.workers = workers,
                          .program = program,
                          .hostfile = hostfile,
                          .exported_variables = exported_variables(environment)},
                         options.arguments);
    std::cout << "$ " << shell_line(command) << std::endl;
    if (const int code = run_child(command); code != 0) {
      return code;
    }
  }
  return 0;
}

}  // namespace

void add_ranks_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<RanksOptions>();
  CLI::App* command = app.add_subcommand("ranks")->group("");
  command->add_option("program", options->program)->required();
  command->add_option("-n", options->workers)->required()->delimiter(',')->allow_extra_args(false);
  command->add_option("--hostfile", options->hostfile);
  command->add_option("arguments", options->arguments, "Behind --");
  command->callback([options, &line] {
    line.action = [options, &line] { return start_ranks(*options, line.environment); };
  });
}

}  // namespace gangway::launch
