// SPDX-License-Identifier: MIT
// Writes checkpoints endlessly, or checks existing ones, for the campaigns checkpoint_*.py. Every
// value follows from the step, so that a torn or mixed state cannot count as complete. Three
// tensors: net.0 whole, net.1 in pieces, net.2 in pieces with channels last.
//
//   checkpoint_writer write DIR [STEPS [ELEMENTS]]   prints "begin N" and "committed N"; STEPS 0 or
//                                                    absent: for ever; ELEMENTS a tensor: 12000
//   checkpoint_writer check DIR    loads the newest valid one; prints "step N" or "none", warnings
//                                  on stderr
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"

namespace {

using namespace std::string_literals;
namespace store = gangway::checkpoint;

constexpr int kNumWorkers = 2;
constexpr int kKeep = 2;
constexpr std::int64_t kPixels = 25;  // of a channel of net.2: 5 × 5

std::string tensor_name(int index) { return fmt::format("net.{}", index); }

std::vector<std::int64_t> shape_of(int index, std::int64_t elements) {
  return index == 2 ? std::vector<std::int64_t>{4, elements / 4 / kPixels, 5, 5}
                    : std::vector<std::int64_t>{elements + index};
}

store::StoredTensor tensor_of(int index, std::int64_t elements) {
  return {.name = tensor_name(index),
          .type = store::ElementType::kF32,
          .shape = shape_of(index, elements),
          .order = index == 2 ? store::StoredOrder::kChannelsLast : store::StoredOrder::kRowMajor};
}

/// Returns values in stored order; a value depends on its element's row-major index.
std::vector<float> values_of(const store::StoredTensor& tensor, std::int64_t step, int index) {
  std::vector<float> values(tensor.num_elements());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t mixed = static_cast<std::uint64_t>(step) * 31 +
                                static_cast<std::uint64_t>(index) * 7 +
                                store::row_major_index(tensor, i);
    values[i] = static_cast<float>(mixed % 1'000'003);
  }
  return values;
}

store::FileReport write_worker(const std::filesystem::path& temporary, std::int64_t step,
                               int worker, std::int64_t elements) {
  std::vector<std::vector<float>> kept;
  std::vector<store::PieceRecord> pieces;
  for (int index = 0; index < 3; ++index) {
    const store::StoredTensor tensor = tensor_of(index, elements);
    const std::uint64_t middle = index == 0 ? tensor.num_elements() : tensor.num_elements() / 3;
    const std::uint64_t begin = worker == 0 ? 0 : middle;
    const std::uint64_t end = worker == 0 ? middle : tensor.num_elements();
    if (begin == end) {
      continue;
    }
    kept.push_back(values_of(tensor, step, index));
    pieces.push_back({.of = {.name = tensor.name,
                             .type = tensor.type,
                             .order = tensor.order,
                             .shape = tensor.shape,
                             .begin = begin,
                             .end = end},
                      .bytes = std::as_bytes(std::span(kept.back()).subspan(begin, end - begin))});
  }
  return store::write_worker_pieces(
      temporary, {.step = step, .epoch = 1, .worker = worker, .num_workers = kNumWorkers}, pieces);
}

void save(const std::filesystem::path& directory, std::int64_t step, std::int64_t elements) {
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
      const store::FileReport report = write_worker(temporary, step, worker, elements);
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
  (void)store::remove_old(directory, {.keep = kKeep});
}

/// Prints one unbuffered line, so that it is out before the save's next system call.
void say(const std::string& line) {
  const std::string text = line + "\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

void complain(const std::string& line) { fmt::print(stderr, "{}\n", line); }

void write_for_ever(const std::filesystem::path& directory, std::int64_t steps,
                    std::int64_t elements) {
  (void)store::remove_stale_temporaries(directory);
  const std::optional<store::Found> found = store::newest_valid(directory, complain);
  const std::int64_t first = found ? found->step + 1 : 1;
  for (std::int64_t step = first; steps == 0 || step < first + steps; ++step) {
    say(fmt::format("begin {}", step));
    save(directory, step, elements);
    say(fmt::format("committed {}", step));
  }
}

void require_whole(const store::Found& found) {
  store::StoredState state(found.path);
  const std::uint64_t elements = state.require(tensor_name(0)).num_elements();
  for (int index = 0; index < 3; ++index) {
    const store::StoredTensor expected = tensor_of(index, static_cast<std::int64_t>(elements));
    const store::StoredTensor& tensor = state.require(expected.name);
    std::vector<std::byte> bytes(tensor.num_bytes());
    state.read_elements(tensor, 0, tensor.num_elements(), bytes);
    const std::vector<float> values = values_of(expected, found.step, index);
    if (tensor.shape != expected.shape ||
        std::memcmp(bytes.data(), values.data(), bytes.size()) != 0) {
      throw gangway::CheckpointError(fmt::format("{}: tensor '{}' is not that of step {}",
                                                 found.path.string(), tensor.name, found.step));
    }
  }
}

void check(const std::filesystem::path& directory) {
  const std::optional<store::Found> found = store::newest_valid(directory, complain);
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
      write_for_ever(arguments[1], arguments.size() > 2 ? std::stoll(arguments[2]) : 0,
                     arguments.size() > 3 ? std::stoll(arguments[3]) : 12'000);
      return 0;
    }
    if (arguments.size() == 2 && arguments[0] == "check") {
      check(arguments[1]);
      return 0;
    }
    fmt::print(stderr, "usage: checkpoint_writer write DIR [STEPS [ELEMENTS]] | check DIR\n");
    return static_cast<int>(gangway::ExitCode::kUsage);
  } catch (const gangway::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
