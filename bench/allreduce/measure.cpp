// SPDX-License-Identifier: MIT
#include "bench/allreduce/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmupRuns = 3;
constexpr int kWarmup = -2;  // rounds that do not count
constexpr int kRehearsal = -1;
constexpr int kMostRunsOfATurn = 200;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns an integer from 0 to 255 made of all three: sums of up to 2^16 of them are exact.
std::uint32_t value_at(std::size_t index, int worker, int round) {
  const auto key = static_cast<std::uint32_t>(worker) * 0x85ebca6bU +
                   static_cast<std::uint32_t>(round + 2) * 0xc2b2ae35U;
  return (static_cast<std::uint32_t>(index) * 0x9e3779b1U + key) >> 24U;
}

int size_of(MPI_Comm workers) {
  int size = 0;
  MPI_Comm_size(workers, &size);
  return size;
}

int rank_in(MPI_Comm workers) {
  int rank = 0;
  MPI_Comm_rank(workers, &rank);
  return rank;
}

class Turn {
 public:
  Turn(Contestant& row, const Measurement& how, int round)
      : row_(row), measurement_(how), round_(round), worker_(rank_in(how.workers)) {}

  /// Returns the times of this worker in `count` runs.
  [[nodiscard]] std::vector<double> runs(int count) {
    std::vector<double> seconds;
    for (int i = 0; i < count; ++i) {
      fill();
      MPI_Barrier(measurement_.workers);
      const Clock::time_point begin = Clock::now();
      row_.run();
      seconds.push_back(seconds_since(begin));
      // Workers may share a core: wait, so that none delays another's clock.
      MPI_Barrier(measurement_.workers);
    }
    check();
    MPI_Barrier(measurement_.workers);  // another worker may still read the result
    return seconds;
  }

 private:
  void fill() {
    const std::span<float> input = row_.input();
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = static_cast<float>(value_at(i, worker_, round_));
    }
    if (round_ == measurement_.corrupt_round && worker_ + 1 == size_of(measurement_.workers)) {
      input[input.size() / 2] += 1.0F;
    }
  }

  void check() const {
    const std::span<const float> result = row_.result();
    const int num_workers = size_of(measurement_.workers);
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::uint32_t sum = 0;
      for (int worker = 0; worker < num_workers; ++worker) {
        sum += value_at(i, worker, round_);
      }
      const float expected = static_cast<float>(sum) * row_.scale();
      if (result[i] != expected) {
        throw InvariantError(fmt::format(
            "{}: round {}, rank {}: value {} is {} instead of {}; its times mean nothing, please "
            "report this",
            row_.name(), round_, worker_ + 1, i, result[i], expected));
      }
    }
  }

  Contestant& row_;
  const Measurement& measurement_;
  int round_;
  int worker_;
};

/// Returns how many runs fill a turn of the requested length; equal on all workers.
int runs_of_a_turn(Contestant& row, const Measurement& how) {
  (void)Turn(row, how, kWarmup).runs(kWarmupRuns);
  const Clock::time_point begin = Clock::now();
  (void)Turn(row, how, kRehearsal).runs(kWarmupRuns);
  const double one = seconds_since(begin) / kWarmupRuns;
  int runs = static_cast<int>(
      std::clamp(how.seconds / how.num_rounds / one, 1.0, static_cast<double>(kMostRunsOfATurn)));
  MPI_Allreduce(MPI_IN_PLACE, &runs, 1, MPI_INT, MPI_MIN, how.workers);
  return runs;
}

}  // namespace

std::vector<Samples> measure(const std::vector<std::unique_ptr<Contestant>>& rows,
                             const Measurement& how) {
  std::vector<int> runs;
  for (const std::unique_ptr<Contestant>& row : rows) {
    runs.push_back(runs_of_a_turn(*row, how));
  }
  std::vector<Samples> samples(rows.size());
  for (int round = 1; round <= how.num_rounds; ++round) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t index = (static_cast<std::size_t>(round) + i) % rows.size();
      std::vector<double> times = Turn(*rows[index], how, round).runs(runs[index]);
      MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX,
                    how.workers);
      samples[index].seconds.insert(samples[index].seconds.end(), times.begin(), times.end());
    }
  }
  return samples;
}

}  // namespace gangway::bench
