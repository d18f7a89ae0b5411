// SPDX-License-Identifier: MIT
// gangway-bench-workers: simulates a job of many workers and prints the cost for its coordinator:
// decision times, messages, bytes and memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "bench/run_bench.hpp"
#include "bench/workers/simulated_job.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/names.hpp"

namespace gangway::bench {
namespace {

void print_decisions(const SimulatedJob& job) {
  fmt::print("{:<16}{:>10}{:>12}{:>12}{:>12}{:>12}\n", "decision", "times", "p50 us", "p99 us",
             "max us", "sum ms");
  for (const auto& [what, seconds] : job.decisions()) {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    double sum = 0.0;
    for (const double one : sorted) {
      sum += one;
    }
    fmt::print("{:<16}{:>10}{:>12.1f}{:>12.1f}{:>12.1f}{:>12.1f}\n", what, sorted.size(),
               1e6 * sorted[sorted.size() / 2], 1e6 * sorted[sorted.size() * 99 / 100],
               1e6 * sorted.back(), 1e3 * sum);
  }
}

void print_traffic(const char* way, const std::map<std::string, Traffic>& traffic) {
  for (const auto& [kind, of] : traffic) {
    fmt::print("{:<16}{:<16}{:>10} messages{:>12.1f} KB{:>12.1f} MB in all{:>10} encoded\n", way,
               kind, of.messages,
               1e-3 * static_cast<double>(of.bytes) / static_cast<double>(of.messages),
               1e-6 * static_cast<double>(of.bytes), of.encodings);
  }
}

std::size_t most_memory_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) / 1000;
}

/// Measures the manifest of one network with Adam and an average, in pieces for all workers.
void print_manifest(int workers, std::int64_t blocks) {
  constexpr int kBuckets = 30;
  constexpr std::int64_t kBlock = 4096;
  constexpr std::int64_t kTensors = 100;
  const std::int64_t pieces = std::min<std::int64_t>(blocks, kBuckets * workers) / kTensors;
  const std::int64_t length = blocks / (pieces * kTensors) * kBlock;
  checkpoint::Manifest manifest{.checkpoint_id = std::string(32, '0'),
                                .created = "2026-01-01T00:00:00Z"};
  for (int worker = 0; worker < workers; ++worker) {
    manifest.files.push_back(
        {.name = checkpoint::worker_file_name(worker, workers), .worker = worker});
  }
  for (const char* kind : {"weights", "average", "moment", "square"}) {
    for (std::int64_t t = 0; t < kTensors; ++t) {
      checkpoint::StoredTensor tensor{.name = fmt::format("generator/{}/{:03}", kind, t),
                                      .shape = {pieces * length}};
      for (std::int64_t i = 0; i < pieces; ++i) {
        tensor.pieces.push_back({.file = static_cast<int>((t * pieces + i) % workers),
                                 .begin = static_cast<std::uint64_t>(i * length),
                                 .end = static_cast<std::uint64_t>((i + 1) * length),
                                 .xxh3_128 = std::string(32, 'a')});
      }
      manifest.tensors.push_back(std::move(tensor));
    }
  }
  std::ranges::sort(manifest.tensors, {}, &checkpoint::StoredTensor::name);
  manifest.tensor_count = static_cast<std::int64_t>(manifest.tensors.size());
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = checkpoint::to_json(manifest);
  const auto written = std::chrono::steady_clock::now();
  (void)checkpoint::parse_manifest(text, "manifest");
  const std::chrono::duration<double> writing = written - begin;
  const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - written;
  fmt::print(
      "manifest of {:.0f} million parameters: {} pieces, {:.1f} MB, written in {:.2f} s, read in "
      "{:.2f} s\n",
      1e-6 * static_cast<double>(blocks * kBlock), 4 * kTensors * pieces,
      1e-6 * static_cast<double>(text.size()), writing.count(), reading.count());
}

int run(int workers, int steps) {
  SimulatedJob job(workers);
  job.start();
  fmt::print("{} workers, to the first lease:\n", workers);
  print_decisions(job);
  job.train(steps);
  job.save();
  const double status = job.tell_status();
  const double loss = job.lose(workers / 2);
  fmt::print("and with {} steps, a checkpoint and a loss:\n", steps);
  print_decisions(job);
  print_traffic("to workers", job.to_workers());
  print_traffic("from workers", job.from_workers());
  fmt::print("a status {:.2f} ms, a loss {:.2f} ms\n", 1e3 * status, 1e3 * loss);
  SimulatedJob blamed(workers);
  blamed.start();
  fmt::print("all complain {:.1f} ms\n", 1e3 * blamed.complain(workers / 3));
  fmt::print("most memory {} MB\n", most_memory_mb());
  for (const std::int64_t blocks : {7'500, 25'000, 125'000, 250'000}) {
    print_manifest(workers, blocks);
  }
  fmt::print("most memory with that {} MB\n", most_memory_mb());
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main(int argc, char** argv) {
  int workers = 4096;
  int steps = 30;
  CLI::App app("Simulates the cost of many workers for a coordinator");
  app.add_option("--workers", workers, "Workers")->check(CLI::Range(8, 65'536));
  app.add_option("--steps", steps, "Steps that they train")->check(CLI::Range(1, 500));
  CLI11_PARSE(app, argc, argv);
  return gangway::bench::run_bench("gangway-bench-workers",
                                   [&] { return gangway::bench::run(workers, steps); });
}
