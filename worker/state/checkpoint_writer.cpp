// SPDX-License-Identifier: MIT
#include "worker/state/checkpoint_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "base/system/thread_name.hpp"

namespace gangway::worker {

CheckpointWriter::CheckpointWriter(CheckpointWriterSetup setup)
    : setup_(std::move(setup)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

CheckpointWriter::~CheckpointWriter() {
  thread_.request_stop();
  thread_.join();
}

void CheckpointWriter::want(std::int64_t step, const std::string& directory) {
  const MutexLock lock(mutex_);
  wanted_.push_back({.step = step, .directory = directory});
}

void CheckpointWriter::snapshot_ended(std::int64_t step, bool taken) {
  std::optional<Wanted> missed;
  {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(wanted_, step, &Wanted::step);
    if (found == wanted_.end()) {
      return;
    }
    auto snapshot = taken ? setup_.memory.pin(step) : std::nullopt;
    if (snapshot) {
      found->whole = std::chrono::steady_clock::now();
      ready_.emplace_back(std::move(*found), std::move(*snapshot));
    } else {
      missed = std::move(*found);
    }
    wanted_.erase(found);
    changed_.notify_all();
  }
  if (missed) {
    setup_.report({.step = step,
                   .error = "earlier checkpoints are still being written: the disk is too slow for "
                            "this checkpoint interval"});
  }
}

bool CheckpointWriter::wait_idle(std::chrono::milliseconds patience) {
  MutexLock lock(mutex_);
  progress_at_ = std::chrono::steady_clock::now();
  const auto is_idle = [this]() GANGWAY_REQUIRES(mutex_) {
    return wanted_.empty() && ready_.empty() && !is_writing_;
  };
  while (!changed_.wait_until(lock, progress_at_ + patience, is_idle)) {
    if (std::chrono::steady_clock::now() >= progress_at_ + patience) {
      return false;
    }
  }
  return true;
}

void CheckpointWriter::wait_taken(std::chrono::milliseconds most) {
  MutexLock lock(mutex_);
  (void)changed_.wait_for(
      lock, most, [this]() GANGWAY_REQUIRES(mutex_) { return ready_.empty() && !is_writing_; });
}

void CheckpointWriter::got_on(std::int64_t step) {
  constexpr std::chrono::seconds kBetweenReports{1};
  {
    const MutexLock lock(mutex_);
    progress_at_ = std::chrono::steady_clock::now();
    if (progress_at_ - reported_at_ < kBetweenReports) {
      return;
    }
    reported_at_ = progress_at_;
  }
  setup_.report({.step = step, .under_way = true});
}

void CheckpointWriter::run(const std::stop_token& stop) {
  name_this_thread("writer");
  MutexLock lock(mutex_);
  while (changed_.wait(lock, stop, [this]() GANGWAY_REQUIRES(mutex_) { return !ready_.empty(); })) {
    {
      const auto [wanted, snapshot] = std::move(ready_.front());
      ready_.pop_front();
      is_writing_ = true;
      lock.unlock();
      setup_.report(write(wanted, snapshot));
    }  // the snapshot's memory is free again
    lock.lock();
    progress_at_ = std::chrono::steady_clock::now();
    is_writing_ = false;
    changed_.notify_all();
  }
}

messages::CheckpointPart CheckpointWriter::write(const Wanted& wanted,
                                                 const checkpoint::PinnedSnapshot& snapshot) {
  messages::CheckpointPart part{.step = wanted.step};
  checkpoint::FileIdentity identity = setup_.identity;
  identity.step = wanted.step;
  try {
    const checkpoint::FileReport report = checkpoint::write_worker_pieces(
        wanted.directory, identity, snapshot.records(), [this, &wanted] { got_on(wanted.step); });
    part.file = report.name;
    part.bytes = report.bytes;
    part.xxh3_128 = report.xxh3_128;
  } catch (const std::exception& error) {
    part.error = error.what();  // only this save fails; the coordinator reports it
  }
  part.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - wanted.whole).count();
  return part;
}

}  // namespace gangway::worker
