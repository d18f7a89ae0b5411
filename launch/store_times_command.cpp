// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/store/store_bench.hpp"
#include "launch/process/child.hpp"
#include "launch/process/command_list.hpp"

namespace gangway::launch {
namespace {

struct StoreTimesOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path folder;  ///< on the measured disk
  int turns = 1;
  int first = 0;  ///< number of the first turn, which determines the order in a turn
};

/// Prints one JSON line per turn.
int tell_times(const StoreTimesOptions& options) {
  const EndRequests requests;  // removes its snapshots from shared memory on a signal
  bench::StoreBench store(options.checkpoint, options.folder);
  for (int turn = options.first; turn < options.first + options.turns; ++turn) {
    EndRequests::heed();
    const bench::StoreTimes times = store.turn(turn % 2 == 0);
    std::cout << nlohmann::json{{"plain_copy", times.plain_copy},   {"snapshot", times.snapshot},
                                {"plain_write", times.plain_write}, {"save", times.save},
                                {"plain_read", times.plain_read},   {"load", times.load}}
                     .dump()
              << std::endl;
  }
  return 0;
}

}  // namespace

void add_store_times_command(CLI::App& app, CommandLine& line) {
  const auto options = std::make_shared<StoreTimesOptions>();
  CLI::App* command = app.add_subcommand("store-times")->group("");
  command->add_option("checkpoint", options->checkpoint)->required();
  command->add_option("folder", options->folder)->required();
  command->add_option("turns", options->turns)->required();
  command->add_option("first", options->first)->required();
  command->callback([options, &line] { line.action = [options] { return tell_times(*options); }; });
}

}  // namespace gangway::launch
