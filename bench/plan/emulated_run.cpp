// SPDX-License-Identifier: MIT
#include "bench/plan/emulated_run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/plan/emulated_worker.hpp"

namespace gangway::bench {

namespace {

/// Returns the compute seconds of a worker in a step of `lists`, on average.
double mean_work_seconds(const EmulatedLayout& layout, std::span<const plan::Lists> lists) {
  double seconds = 0.0;
  std::size_t count = 0;
  for (const plan::Lists& step : lists) {
    for (const std::vector<pipeline::Instruction>& list : step) {
      ++count;
      for (const pipeline::Instruction& at : list) {
        if (at.is_work() || at.operation == pipeline::Operation::kRecompute) {
          seconds += layout.cost_of(at).seconds_of(at);
        }
      }
    }
  }
  return seconds / static_cast<double>(count);
}

}  // namespace

EmulatedStep emulated_step(const plan::PlanInput& input, const std::vector<pipeline::Phase>& phases,
                           const plan::Candidate& candidate, int steps) {
  constexpr int kWarmUp = 2;
  static std::atomic<int> runs = 0;
  const std::string token = fmt::format("plan{}x{}", ::getpid(), runs++);
  const EmulatedLayout emulated(input, phases, candidate);
  const std::vector<plan::Lists> lists = emulated.lists(kWarmUp + steps);
  EmulatedWires wires(emulated);
  comm::LoopbackHub hub(candidate.workers);
  hub.inject(
      [&wires](int from, int to, comm::MessageTag tag) { return wires.fate(from, to, tag); });
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(candidate.workers));
  std::vector<Sleeper::Clock::time_point> ends(lists.size());
  Sleeper::Clock::duration latest = Sleeper::Clock::duration::zero();
  std::mutex mutex;  // guards `ends` and `latest`
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < candidate.workers; ++worker) {
      threads.emplace_back([&, worker] {
        try {
          EmulatedWorker own(
              {.layout = emulated, .wires = wires, .hub = hub, .worker = worker, .token = token});
          const std::vector<Sleeper::Clock::time_point> own_ends = own.run(lists);
          const std::scoped_lock lock(mutex);
          latest = std::max(latest, own.latest());
          for (std::size_t step = 0; step < own_ends.size(); ++step) {
            ends[step] = std::max(ends[step], own_ends[step]);
          }
        } catch (...) {
          failures[static_cast<std::size_t>(worker)] = std::current_exception();
          hub.kill(worker);
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  std::vector<double> seconds;
  for (std::size_t step = kWarmUp; step < ends.size(); ++step) {
    seconds.push_back(std::chrono::duration<double>(ends[step] - ends[step - 1]).count());
  }
  return {.seconds = plan::timing_of(std::move(seconds)).seconds,
          .late_seconds = std::chrono::duration<double>(latest).count(),
          .work_seconds = mean_work_seconds(emulated, std::span(lists).subspan(kWarmUp))};
}

}  // namespace gangway::bench
