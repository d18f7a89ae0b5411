// SPDX-License-Identifier: MIT
// Simulates a job of thousands of workers in one process. Drives the coordinator's RunCore with
// encoded messages of a real job; a simulated worker is a few numbers. Counts messages and times
// each decision and the messages that it causes. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "coordinator/core/run_core.hpp"

namespace gangway::bench {

/// The messages of one kind in one direction.
struct Traffic {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t encodings = 0;  ///< fewer than messages if a broadcast is encoded once
};

class SimulatedJob {
 public:
  static constexpr int kWorkersPerHost = 8;

  explicit SimulatedJob(int workers, std::int64_t total_steps = 1000);
  ~SimulatedJob();

  /// Runs from the first Hello to the first leases. Every host has its own snapshot and that of the
  /// host before, and the job resumes from them.
  void start();
  /// Trains `steps` steps on all workers, each at its own pace.
  void train(int steps);
  /// Requests, writes and commits a checkpoint.
  void save();
  /// Loses a worker. @return seconds of all decisions from its lifeline's end to the job's
  double lose(int rank);
  /// Lets all workers but `silent` report their neighbours. @return seconds of the coordinator
  double complain(int silent);
  /// Asks for the job's status. @return seconds of the coordinator
  double tell_status();

  /// Seconds of decisions, by their cause: "Progress", "clock".
  [[nodiscard]] const std::map<std::string, std::vector<double>>& decisions() const {
    return decisions_;
  }
  [[nodiscard]] const std::map<std::string, Traffic>& to_workers() const { return to_workers_; }
  [[nodiscard]] const std::map<std::string, Traffic>& from_workers() const { return from_workers_; }
  [[nodiscard]] const std::optional<RunEnd>& run_end() const { return end_; }
  /// Returns the steps that all workers have done.
  [[nodiscard]] std::int64_t step() const { return step_; }

 private:
  void say(int rank, const messages::Message& message);
  void pass(std::chrono::microseconds time);
  void follow(const coordinator::Effects& effects);
  void send(const messages::Message& message, std::size_t receivers);
  void do_step(int rank, std::int64_t step);
  template <typename Decide>
  double decide(const std::string& what, const Decide& decide);

  int workers_;
  TimePoint now_{};
  std::unique_ptr<coordinator::RunCore> core_;
  std::map<std::string, std::vector<double>> decisions_;
  std::map<std::string, Traffic> to_workers_;
  std::map<std::string, Traffic> from_workers_;
  std::optional<coordinator::ResumePoint> point_;
  std::vector<std::int64_t> snapshots_;  // that leases requested
  std::optional<std::int64_t> saving_;
  std::optional<std::int64_t> to_commit_;
  std::int64_t step_ = 0;
  std::int64_t granted_ = 0;
  std::mt19937 random_{17};
  std::optional<RunEnd> end_;
};

}  // namespace gangway::bench
