// SPDX-License-Identifier: MIT
#include "worker/state/snapshot_service.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"
#include "run/control_protocol.hpp"
#include "worker/buddies/buddies.hpp"

namespace gangway::worker {
namespace {

namespace fs = std::filesystem;

/// Returns 3 slots: one that all workers have, one that some have, one to fill. Returns 2 if
/// snapshots serve checkpoints alone: one to write from, one to fill.
int num_slots(const RunOptions& options) { return options.checkpoint.snapshot_steps == 0 ? 2 : 3; }

/// Longest wait for a disk to take a state from before the divergence.
constexpr std::chrono::milliseconds kHealthyFilesPatience{10'000};

std::size_t total_bytes(const std::vector<checkpoint::TensorStretch>& pieces) {
  std::size_t bytes = 0;
  for (const checkpoint::TensorStretch& piece : pieces) {
    bytes += piece.bytes();
  }
  return bytes;
}

}  // namespace

/// Location of a worker's snapshots, and its buddies.
struct SnapshotService::Room {
  checkpoint::SnapshotPlace place;
  std::vector<checkpoint::TensorStretch> pieces;  ///< of its own snapshots
  std::vector<CopiedWorker> wards;
  std::optional<int> buddy;  ///< holds the copies of its own
};

/// Chooses host memory if all that the host's workers keep there fits.
SnapshotService::Room SnapshotService::find_room(const StateSetup& setup, const BegunState& begun) {
  const int worker = setup.transport.worker();
  const int num_workers = setup.transport.num_workers();
  const std::vector<int> buddies =
      setup.options.checkpoint.snapshot_steps == 0 ? std::vector<int>() : buddies_of(setup.hosts);
  Room room;
  room.pieces = snapshot_pieces(setup.networks, worker);
  if (!buddies.empty()) {
    room.buddy = buddies[static_cast<std::size_t>(worker)];
  }
  std::size_t bytes = total_bytes(room.pieces) * static_cast<std::size_t>(num_slots(setup.options));
  for (int owner = 0; owner < static_cast<int>(buddies.size()); ++owner) {
    if (buddies[static_cast<std::size_t>(owner)] == worker) {
      room.wards.push_back({owner, snapshot_pieces(setup.networks, owner)});
      bytes += total_bytes(room.wards.back().pieces) * BuddyCopies::kNumSlots;
    }
  }
  const auto choose = [&] {
    return checkpoint::choose_snapshot_folder(
        bytes * static_cast<std::size_t>(setup.workers_on_machine), setup.shared_memory,
        setup.run_directory / checkpoint::kSnapshotsFolder,
        checkpoint::bytes_of_slots(setup.shared_memory, begun.store.key, num_workers));
  };
  checkpoint::SnapshotFolder folder = choose();
  if (begun.step_aside && !folder.reason.empty()) {
    // Snapshots of this start are worth more than those set aside for returning hosts.
    (void)checkpoint::remove_snapshots(begun.store.folders, begun.store.key);
    folder = choose();
  }
  if (!folder.reason.empty()) {
    setup.say("snapshots lie in " + folder.path.string() + ": " + folder.reason);
  }
  room.place = {.folder = folder.path,
                .run_directory = setup.run_directory,
                .job_fingerprint = setup.job_fingerprint,
                .run_id = setup.run_id,
                .worker = worker,
                .num_workers = num_workers};
  return room;
}

SnapshotService::SnapshotService(const StateSetup& setup, const BegunState& begun)
    : SnapshotService(setup, begun, find_room(setup, begun)) {}

SnapshotService::SnapshotService(StateSetup setup, const BegunState& begun, Room room)
    : setup_(std::move(setup)),
      store_(begun.store),
      memory_(room.place, std::move(room.pieces), num_slots(setup_.options)),
      writer_({.identity = {.epoch = setup_.transport.epoch(),
                            .worker = setup_.transport.worker(),
                            .num_workers = setup_.transport.num_workers()},
               .memory = memory_,
               .report = [&link = setup_.link](
                             const messages::CheckpointPart& part) { link.send(part); }}),
      taker_({.networks = setup_.networks,
              .worker = setup_.transport.worker(),
              .num_workers = setup_.transport.num_workers(),
              .incarnation = setup_.incarnation,
              .epoch = setup_.transport.epoch(),
              .on_end = [this](std::int64_t step, bool taken) { snapshot_ended(step, taken); }},
             memory_),
      old_until_(begun.begin.snapshot && !begun.step_aside ? std::optional<std::int64_t>(0)
                                                           : begun.step_aside) {
  if (room.buddy) {
    copies_.emplace(BuddyCopiesSetup{.transport = setup_.transport,
                                     .lane = setup_.lane,
                                     .memory = memory_,
                                     .place = room.place,
                                     .buddy = *room.buddy,
                                     .wards = std::move(room.wards),
                                     .say = setup_.say,
                                     .timeout = setup_.timeout});
  }
  if (begun.begin.snapshot) {
    protect_all(begun.begin.step);  // reused if the layout is the same
  }
  setup_.lane.attach(taker_);
}

SnapshotService::~SnapshotService() { setup_.lane.detach(taker_); }

void SnapshotService::snapshot_ended(std::int64_t step, bool taken) {
  writer_.snapshot_ended(step, taken);
  if (copies_) {
    copies_->snapshot_ended(step, taken);
  }
}

void SnapshotService::write_behind(std::int64_t step, const std::string& directory) {
  writer_.want(step, directory);
}

void SnapshotService::take_now(std::int64_t step, std::chrono::steady_clock::time_point since) {
  setup_.lane.wait(setup_.lane.submit([this, step, since] { taker_.copy_all(step, since); }));
}

void SnapshotService::copy_behind(std::int64_t step) {
  if (copies_) {
    copies_->want(step);
  }
}

void SnapshotService::keep_on_disk(const std::function<void()>& progress) const noexcept {
  try {
    (void)checkpoint::copy_snapshots({.shared_memory = setup_.shared_memory,
                                      .folder = setup_.run_directory / checkpoint::kSnapshotsFolder,
                                      .key = store_.key,
                                      .from_step = protected_.get().value_or(0),
                                      .begin_with = setup_.transport.worker(),
                                      .progress = progress});
  } catch (const std::exception& error) {
    setup_.say(error.what());  // other workers, or a checkpoint, may suffice
  }
}

void SnapshotService::protect_all(std::int64_t step) {
  protected_.set(step);
  memory_.protect(step);
  if (copies_) {
    copies_->protect(step);
  }
}

void SnapshotService::protect(std::int64_t step) {
  protect_all(step);
  if (old_until_ && step >= *old_until_) {
    old_until_.reset();
    // Those whose processes are gone.
    (void)checkpoint::remove_snapshots(store_.folders, store_.key);
  }
}

void SnapshotService::finish_taking() {
  setup_.lane.wait(setup_.lane.submit([this] { taker_.copy_rest(); }));
  taker_.require_finite_before(std::numeric_limits<std::int64_t>::max());
}

void SnapshotService::finish_writing() {
  finish_taking();
  const std::chrono::milliseconds patience = kTimeoutsToWrite * setup_.timeout;
  if (!writer_.wait_idle(patience)) {
    throw EnvironmentError(fmt::format(
        "the disk of {} has taken no checkpoint data for {:.0f} s: check it, then start the same "
        "command again",
        setup_.run_directory.string(), std::chrono::duration<double>(patience).count()));
  }
}

void SnapshotService::finish_healthy_files() noexcept {
  writer_.wait_taken(std::min(kHealthyFilesPatience, setup_.timeout / 2));
}

void SnapshotService::finish_copying() {
  if (copies_) {
    finish_taking();
    copies_->finish();
  }
}

}  // namespace gangway::worker
