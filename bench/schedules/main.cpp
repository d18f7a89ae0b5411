// SPDX-License-Identifier: MIT
// What it takes to make, prove and simulate schedules of many devices, no two of which are alike.
//
//     gangway-bench-schedules [ROWS [STAGES [MICROBATCHES]]]
//
// ROWS copies (512) of a row of STAGES devices (8), a chunk of the generator and one of the
// discriminator on each, MICROBATCHES a row (16): 4,096 devices. Each is a little slower or faster
// than the next, and each eighth row is on a link ten times slower. Prints a line a part.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/layout/placements.hpp"
#include "pipeline/simulator/simulator.hpp"
#include "pipeline/staged/generators.hpp"
#include "pipeline/staged/lowering.hpp"
#include "pipeline/staged/tasks.hpp"

namespace {

using namespace gangway;            // NOLINT(google-build-using-namespace): a program
using namespace gangway::pipeline;  // NOLINT(google-build-using-namespace)

/// Of the processor: all of it is one thread's.
double seconds_of_call(const std::function<void()>& call) {
  const std::clock_t begin = std::clock();
  call();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

Costs uneven_costs(const Layout& layout, int stages) {
  Costs costs;
  for (std::size_t network = 0; network < layout.networks.size(); ++network) {
    costs.chunks.add(std::vector<WorkCosts>(static_cast<std::size_t>(stages),
                                            {.forward_seconds = 2e-3,
                                             .input_gradient_seconds = 2e-3,
                                             .weight_gradient_seconds = 2e-3,
                                             .update_seconds = 1e-4,
                                             .output_bytes = std::int64_t{1} << 20U,
                                             .stored_bytes = std::int64_t{8} << 20U,
                                             .gradient_bytes = std::int64_t{32} << 20U}));
    costs.buckets.add(std::vector<std::vector<BucketCosts>>(static_cast<std::size_t>(stages),
                                                            {{0.5, 2e-3}, {1.0, 2e-3}}));
  }
  for (int worker = 0; worker < layout.num_workers; ++worker) {
    costs.slowness.push_back(1.0 + 0.001 * (worker * 7 % 101));
    costs.links.host_of.push_back(worker / stages);
  }
  costs.links.within = {.latency_seconds = 1e-5, .bytes_per_second = 1e11};
  costs.links.between = {.latency_seconds = 2e-5, .bytes_per_second = 1e10};
  for (int row = 0; row * stages < layout.num_workers; row += 8) {
    for (int stage = 0; stage + 1 < stages; ++stage) {
      const int from = row * stages + stage;
      costs.links.pairs[{from, from + 1}] = {.latency_seconds = 1e-4, .bytes_per_second = 1e10};
    }
  }
  return costs;
}

int number(int count, char** arguments, int at, int usual) {
  return at < count ? std::max(1, std::atoi(arguments[at])) : usual;
}

}  // namespace

int main(int count, char** arguments) {
  const int rows = number(count, arguments, 1, 512);
  const int stages = number(count, arguments, 2, 8);
  const int microbatches = number(count, arguments, 3, 16);
  const Layout row = placed(Placement::kLoop, stages, microbatches, {stages, stages});
  const Layout layout = replicated(row, rows, rows * microbatches);
  const Costs costs = uneven_costs(layout, stages);
  const ScheduleOptions options{.max_stored = 2 * microbatches, .max_open_leaves = 1};
  const JobSpec job;
  const auto phases = gan::adversarial_phases(job);
  std::optional<TaskGraph> graph;
  TaskOrder order;
  StageSchedule schedule;
  Simulation simulation;
  const double graph_seconds =
      seconds_of_call([&] { graph.emplace(phases, layout, 0, 1, work_options(options)); });
  const double order_seconds = seconds_of_call([&] { order = ordered(*graph, costs, options); });
  const double list_seconds = seconds_of_call([&] { schedule = lowered(*graph, order, costs); });
  const double simulation_seconds =
      seconds_of_call([&] { simulation = simulate(schedule, costs); });
  std::size_t instructions = 0;
  for (const StageList& list : schedule.workers) {
    instructions += list.size();
  }
  fmt::print("devices {}, micro-batches {}, instructions of a step {}\n", layout.num_workers,
             layout.num_microbatches, instructions);
  fmt::print("tasks     {:7.3f} s  {} tasks\n", graph_seconds, graph->size());
  fmt::print("order     {:7.3f} s\n", order_seconds);
  fmt::print("lists     {:7.3f} s\n", list_seconds);
  fmt::print("simulate  {:7.3f} s  {:.1f} million instructions/s; step {:.4f} s\n",
             simulation_seconds, static_cast<double>(instructions) / simulation_seconds / 1e6,
             simulation.seconds);
  return 0;
}
