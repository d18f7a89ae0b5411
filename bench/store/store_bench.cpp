// SPDX-License-Identifier: MIT
#include "bench/store/store_bench.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <latch>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/shared_segment.hpp"
#include "bench/store/plain_disk.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/stored_tensor.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"
#include "checkpoint/store/commit.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<checkpoint::TensorStretch> pieces_of(const checkpoint::StoredState& state, int file) {
  std::vector<checkpoint::TensorStretch> pieces;
  for (const checkpoint::StoredTensor& tensor : state.tensors()) {
    for (const checkpoint::TensorPiece& piece : tensor.pieces) {
      if (piece.file == file) {
        pieces.push_back({.name = tensor.name,
                          .type = tensor.type,
                          .order = tensor.order,
                          .shape = tensor.shape,
                          .begin = piece.begin,
                          .end = piece.end});
      }
    }
  }
  return pieces;
}

}  // namespace

/// The state, buffers and file of one worker.
struct StoreBench::Worker {
  /// @param snapshots  folder of the snapshot memory
  Worker(checkpoint::StoredState& state, int index, const checkpoint::SnapshotPlace& place,
         const fs::path& plain_file)
      : pieces(pieces_of(state, index)),
        memory(place, pieces),
        source(memory.data_bytes()),
        target(memory.data_bytes()),
        file(plain_file, state.manifest().files.at(static_cast<std::size_t>(index)).bytes) {
    std::size_t at = 0;
    for (const checkpoint::TensorStretch& piece : pieces) {
      state.read_elements(state.require(piece.name), piece.begin, piece.end,
                          std::span(source).subspan(at, piece.bytes()));
      at += piece.bytes();
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { memory.remove(); }

  void take(SnapshotId id) {
    if (!memory.begin(id)) {
      throw InvariantError("a benchmark's snapshot finds no room");
    }
    std::size_t at = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      memory.copy(i, std::span(source).subspan(at, pieces[i].bytes()));
      at += pieces[i].bytes();
    }
    memory.complete();
  }

  std::vector<checkpoint::TensorStretch> pieces;
  checkpoint::SnapshotMemory memory;
  std::vector<std::byte> source;  ///< the state, piece after piece
  std::vector<std::byte> target;
  PlainFile file;
  checkpoint::FileReport report;  ///< of the save under way
};

StoreBench::StoreBench(const fs::path& checkpoint, fs::path folder) : folder_(std::move(folder)) {
  checkpoint::StoredState state(checkpoint);
  manifest_ = state.manifest();
  step_ = manifest_.step;
  fs::create_directories(folder_);
  const auto num_workers = static_cast<int>(manifest_.files.size());
  std::uint64_t bytes = 0;
  for (const checkpoint::ManifestFile& file : manifest_.files) {
    bytes += file.bytes;
  }
  const fs::path memory =
      checkpoint::choose_snapshot_folder(bytes * checkpoint::SnapshotMemory::kMinSlots,
                                         kSharedMemoryFolder, folder_ / "snapshots")
          .path;
  for (int worker = 0; worker < num_workers; ++worker) {
    workers_.push_back(std::make_unique<Worker>(
        state, worker,
        checkpoint::SnapshotPlace{.folder = memory,
                                  .run_directory = folder_,
                                  .job_fingerprint = manifest_.job_fingerprint,
                                  .worker = worker,
                                  .num_workers = num_workers},
        folder_ / fmt::format("plain-{}", worker)));
  }
}

StoreBench::~StoreBench() {
  workers_.clear();
  std::error_code ignored;  // leftover files do no harm
  fs::remove_all(folder_, ignored);
}

double StoreBench::at_once(const std::function<void(std::size_t)>& work) const {
  std::vector<double> seconds(workers_.size());
  std::vector<std::exception_ptr> failures(workers_.size());
  std::latch start(static_cast<std::ptrdiff_t>(workers_.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        try {
          seconds[i] = seconds_of([&] { work(i); });
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  return *std::ranges::max_element(seconds);
}

fs::path StoreBench::save() {
  checkpoint::Manifest manifest = manifest_;
  manifest.step = step_;
  manifest.checkpoint_id.clear();
  manifest.files.clear();
  manifest.tensors.clear();
  const fs::path temporary = checkpoint::begin_checkpoint(folder_ / "checkpoints", step_);
  const auto num_workers = static_cast<int>(workers_.size());
  (void)at_once([&](std::size_t i) {
    const auto snapshot = workers_[i]->memory.pin(step_);
    if (!snapshot) {
      throw InvariantError("a benchmark saves before it has copied");
    }
    workers_[i]->report = checkpoint::write_worker_pieces(temporary,
                                                          {.step = step_,
                                                           .epoch = manifest_.epoch,
                                                           .worker = static_cast<int>(i),
                                                           .num_workers = num_workers},
                                                          snapshot->records());
  });
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const checkpoint::FileReport& report = workers_[i]->report;
    manifest.files.push_back({.name = report.name,
                              .worker = static_cast<int>(i),
                              .bytes = report.bytes,
                              .xxh3_128 = report.xxh3_128});
  }
  return checkpoint::commit_checkpoint(temporary, std::move(manifest));
}

void StoreBench::load(const fs::path& checkpoint) {
  (void)at_once([&](std::size_t i) {
    checkpoint::StoredState state(checkpoint);
    const std::vector<checkpoint::StoredChunk> chunks = state.chunks();
    const std::size_t begin = chunks.size() * i / workers_.size();
    const std::size_t end = chunks.size() * (i + 1) / workers_.size();
    std::vector<std::byte>& target = workers_[i]->target;
    std::size_t at = 0;
    state.read_chunks(
        std::span(chunks).subspan(begin, end - begin),
        [&](const checkpoint::StoredChunk& /*chunk*/, std::span<const std::byte> bytes) {
          // A share may end a chunk later than this worker's own file does.
          const std::size_t part = std::min(bytes.size(), target.size() - at);
          std::memcpy(target.data() + at, bytes.data(), part);
          at += part;
        });
  });
}

StoreTimes StoreBench::turn(bool plain_first) {
  ++step_;
  StoreTimes times;
  fs::path saved;
  const auto in_turn = [&](const std::function<void()>& plain, const std::function<void()>& real) {
    (plain_first ? plain : real)();
    (plain_first ? real : plain)();
  };
  in_turn(
      [&] {
        times.plain_copy = at_once([this](std::size_t i) {
          std::memcpy(workers_[i]->target.data(), workers_[i]->source.data(),
                      workers_[i]->source.size());
        });
      },
      [&] {
        times.snapshot = at_once([this](std::size_t i) {
          workers_[i]->take({.step = step_, .epoch = manifest_.epoch});
        });
      });
  in_turn(
      [&] { times.plain_write = at_once([this](std::size_t i) { workers_[i]->file.write(); }); },
      [&] { times.save = seconds_of([&] { saved = save(); }); });
  in_turn([&] { times.plain_read = at_once([this](std::size_t i) { workers_[i]->file.read(); }); },
          [&] { times.load = seconds_of([&] { load(saved); }); });
  fs::remove_all(saved);
  return times;
}

}  // namespace gangway::bench
