// SPDX-License-Identifier: MIT
// A job of thousands of workers in one process: the coordinator's Conductor, driven with the
// messages of a real job, encoded and decoded, by workers that consist of a few numbers. Counts
// what goes to and fro, and takes the time of each decision, effects included as far as they are
// messages. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "coordinator/mind/conductor.hpp"

namespace gangway::bench {

/// Of one kind, and one way.
struct Traffic {
  std::size_t messages = 0;
  std::size_t bytes = 0;
  std::size_t encodings = 0;  ///< a message to all may be encoded once
};

class SimulatedJob {
 public:
  static constexpr int kWorkersPerHost = 8;

  explicit SimulatedJob(int workers, std::int64_t total_steps = 1000);
  ~SimulatedJob();

  /// From the first Hello to the first leases. All go on from a snapshot that each host has of
  /// itself and of the host before.
  void start();
  /// All workers do so many steps, each in its own time.
  void train(int steps);
  /// A checkpoint is asked for, written and committed.
  void save();
  /// A worker dies. @return seconds from its lifeline's end to the last message of the job's
  double lose(int rank);
  /// All but `silent` complain of their neighbours. @return seconds that took the coordinator
  double complain(int silent);
  /// Has its status told. @return seconds that took
  double tell_status();

  /// Seconds by what was decided upon: "Progress", "clock".
  [[nodiscard]] const std::map<std::string, std::vector<double>>& decisions() const {
    return decisions_;
  }
  [[nodiscard]] const std::map<std::string, Traffic>& to_workers() const { return to_workers_; }
  [[nodiscard]] const std::map<std::string, Traffic>& from_workers() const { return from_workers_; }
  [[nodiscard]] const std::optional<coordinator::Outcome>& outcome() const { return outcome_; }
  /// Steps done by all.
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
  std::unique_ptr<coordinator::Conductor> conductor_;
  std::map<std::string, std::vector<double>> decisions_;
  std::map<std::string, Traffic> to_workers_;
  std::map<std::string, Traffic> from_workers_;
  std::optional<coordinator::ResumePoint> point_;
  std::vector<std::int64_t> snapshots_;  // that leases asked for
  std::optional<std::int64_t> saving_;
  std::optional<std::int64_t> to_commit_;
  std::int64_t step_ = 0;
  std::int64_t granted_ = 0;
  std::mt19937 random_{17};
  std::optional<coordinator::Outcome> outcome_;
};

}  // namespace gangway::bench
