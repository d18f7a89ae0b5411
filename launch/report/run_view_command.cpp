// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "launch/process/command_list.hpp"
#include "report/run_view/run_view.hpp"

namespace gangway::launch {

void add_run_view_command(CLI::App& app, CommandLine& line) {
  const auto run = std::make_shared<std::filesystem::path>();
  CLI::App* command = app.add_subcommand("run-view")->group("");
  command->add_option("run", *run)->required();
  command->callback([run, &line] {
    line.action = [run] {
      using Json = nlohmann::ordered_json;
      std::cout << report::RunView(*run).document().dump(-1, ' ', false,
                                                         Json::error_handler_t::replace)
                << std::endl;
      return 0;
    };
  });
}

}  // namespace gangway::launch
