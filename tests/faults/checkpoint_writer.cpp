// SPDX-License-Identifier: MIT
// Writes small checkpoints for ever, or checks what is there: the victim of
// checkpoint_kill_campaign.py and the source of files for other tests. Every value follows from the
// step, so that a torn or mixed state cannot pass for a whole one.
//
//   checkpoint_writer write DIR [STEPS]   prints "begin N" and "committed N"; STEPS 0 or absent:
//   for ever checkpoint_writer check DIR           loads the newest valid one; prints "step N" or
//   "none", warnings on stderr
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint/directory.hpp"
#include "job/errors.hpp"

namespace {

using namespace std::string_literals;
namespace store = gangway::checkpoint;

constexpr int kNumWorkers = 2;
constexpr int kTensorsPerWorker = 3;
constexpr std::size_t kElements = 12'000;
constexpr int kKeep = 2;

std::string tensor_name(int worker, int index) {
  return fmt::format("net.{}.weight.{}", worker, index);
}

std::vector<float> values_of(std::int64_t step, int worker, int index) {
  std::vector<float> values(kElements + static_cast<std::size_t>(index));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto mixed = static_cast<std::uint64_t>(step) * 31 +
                       static_cast<std::uint64_t>(worker) * 7 + static_cast<std::uint64_t>(index) +
                       i;
    values[i] = static_cast<float>(mixed % 1'000'003);
  }
  return values;
}

store::FileReport write_worker(const std::filesystem::path& temporary, std::int64_t step,
                               int worker) {
  std::vector<std::vector<float>> values;
  std::vector<store::TensorRecord> tensors;
  for (int index = 0; index < kTensorsPerWorker; ++index) {
    values.push_back(values_of(step, worker, index));
    tensors.push_back({.name = tensor_name(worker, index),
                       .type = store::ElementType::kF32,
                       .shape = {static_cast<std::int64_t>(values.back().size())},
                       .bytes = std::as_bytes(std::span(values.back()))});
  }
  return store::write_worker_file(
      temporary, {.step = step, .epoch = 1, .worker = worker, .num_workers = kNumWorkers}, tensors);
}

void save(const std::filesystem::path& directory, std::int64_t step) {
  const std::filesystem::path temporary = store::begin_checkpoint(directory, step);
  try {
    store::Manifest manifest{.step = step,
                             .images = step * 64,
                             .epoch = 1,
                             .job_yaml = "training: {batch: 64}\n",
                             .job_fingerprint = "campaign",
                             .numerics = "threads=1",
                             .data_cursor = step * 64,
                             .created = store::rfc3339(std::chrono::system_clock::now())};
    for (int worker = 0; worker < kNumWorkers; ++worker) {
      const store::FileReport report = write_worker(temporary, step, worker);
      manifest.files.push_back({.name = report.name,
                                .worker = worker,
                                .bytes = report.bytes,
                                .xxh3_128 = report.xxh3_128});
    }
    (void)store::commit_checkpoint(temporary, manifest);
  } catch (...) {
    store::discard_temporary(temporary);
    throw;
  }
  (void)store::remove_old(directory, kKeep);
}

/// One unbuffered line, so that it is out before the next system call of a save.
void say(const std::string& line) {
  const std::string text = line + "\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

void write_for_ever(const std::filesystem::path& directory, std::int64_t steps) {
  (void)store::remove_stale_temporaries(directory);
  const auto warn = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const std::optional<store::Found> found = store::newest_valid(directory, warn);
  const std::int64_t first = found ? found->step + 1 : 1;
  for (std::int64_t step = first; steps == 0 || step < first + steps; ++step) {
    say(fmt::format("begin {}", step));
    save(directory, step);
    say(fmt::format("committed {}", step));
  }
}

void require_whole(const store::Found& found) {
  const store::CheckpointReader reader(found.path);
  for (int worker = 0; worker < kNumWorkers; ++worker) {
    for (int index = 0; index < kTensorsPerWorker; ++index) {
      const std::vector<float> expected = values_of(found.step, worker, index);
      const store::TensorRecord& tensor = reader.require(tensor_name(worker, index));
      if (tensor.bytes.size() != expected.size() * sizeof(float) ||
          std::memcmp(tensor.bytes.data(), expected.data(), tensor.bytes.size()) != 0) {
        throw gangway::CheckpointError(fmt::format("{}: tensor '{}' is not that of step {}",
                                                   found.path.string(), tensor.name, found.step));
      }
    }
  }
}

void check(const std::filesystem::path& directory) {
  const auto warn = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const std::optional<store::Found> found = store::newest_valid(directory, warn);
  if (found) {
    require_whole(*found);
  }
  say(found ? fmt::format("step {}", found->step) : "none"s);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() >= 2 && arguments[0] == "write") {
      write_for_ever(arguments[1], arguments.size() > 2 ? std::stoll(arguments[2]) : 0);
      return 0;
    }
    if (arguments.size() == 2 && arguments[0] == "check") {
      check(arguments[1]);
      return 0;
    }
    fmt::print(stderr, "usage: checkpoint_writer write DIR [STEPS] | check DIR\n");
    return static_cast<int>(gangway::ExitCode::kUsage);
  } catch (const gangway::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
