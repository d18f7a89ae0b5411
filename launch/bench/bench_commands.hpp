// SPDX-License-Identifier: MIT
// `gangway bench` on the command line: names, options, help. Called by launch/commands.cpp.
#pragma once

#include "launch/bench/bench_allreduce.hpp"
#include "launch/bench/bench_checkpoint.hpp"
#include "launch/bench/bench_overlap.hpp"
#include "launch/process/environment.hpp"

namespace CLI {
class App;
}

namespace gangway::launch {

/// What the options of all its commands are written to.
struct BenchOptions {
  AllreduceOptions allreduce;
  OverlapOptions overlap;
  CheckpointBenchOptions checkpoint;
};

/// Adds `bench` and its commands; `options` outlives the parsing.
void add_bench(CLI::App& app, BenchOptions& options);

/// Carries out the command of `bench` that was parsed. @return exit code. @throws Error.
[[nodiscard]] int run_bench(const CLI::App& bench, const BenchOptions& options,
                            const Environment& environment);

}  // namespace gangway::launch
