// SPDX-License-Identifier: MIT
#include "worker/buddies/buddy_copies.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::worker {
namespace {

checkpoint::SnapshotPlace place_of(const BuddyCopiesSetup& setup, int ward) {
  checkpoint::SnapshotPlace place = setup.place;
  place.worker = ward;
  place.replica = 1;
  return place;
}

}  // namespace

BuddyCopies::HeldCopy::HeldCopy(const BuddyCopiesSetup& setup, const CopiedWorker& ward)
    : memory(place_of(setup, ward.worker), ward.pieces, kNumSlots),
      receiver(setup.transport, ward.worker, memory) {}

BuddyCopies::BuddyCopies(BuddyCopiesSetup setup)
    : setup_(std::move(setup)), sender_(setup_.transport, setup_.buddy, setup_.memory, setup_.say) {
  for (const CopiedWorker& ward : setup_.wards) {
    held_.push_back(std::make_unique<HeldCopy>(setup_, ward));
  }
  setup_.lane.attach(*this);
}

BuddyCopies::~BuddyCopies() { setup_.lane.detach(*this); }

void BuddyCopies::want(std::int64_t step) {
  const MutexLock lock(mutex_);
  wanted_.insert(step);
}

void BuddyCopies::snapshot_ended(std::int64_t step, bool taken) {
  {
    const MutexLock lock(mutex_);
    if (wanted_.erase(step) == 0) {
      return;
    }
  }
  if (taken) {
    sender_.want(step);
  } else {
    tried_.set(step);
  }
}

void BuddyCopies::protect(std::int64_t step) {
  protected_.set(step);
  for (const auto& held : held_) {
    held->memory.protect(step);
  }
}

bool BuddyCopies::advance(bool is_quiet) {
  if (const auto step = protected_.get()) {
    sender_.release(*step);
  }
  bool moved = sender_.advance(is_quiet);
  copied_.set(sender_.copied());
  tried_.set(std::max(tried(), sender_.tried()));
  for (const auto& held : held_) {
    moved = held->receiver.advance() || moved;
  }
  return moved;
}

bool BuddyCopies::has_ended() const {
  return sender_.has_ended() &&
         std::ranges::all_of(held_, [](const auto& held) { return held->receiver.has_ended(); });
}

void BuddyCopies::finish() {
  setup_.lane.wait(setup_.lane.submit([this] {
    sender_.close();
    comm::Deadline deadline(setup_.timeout);
    while (!has_ended()) {
      if (advance(/*is_quiet=*/true)) {
        deadline = comm::Deadline(setup_.timeout);
      } else if (deadline.expired()) {
        const WorkerIndex buddy = setup_.transport.number_of(setup_.buddy);
        throw comm::PeerError(
            buddy, comm::silence_text(setup_.transport.own_number(), deadline.allowed_seconds(),
                                      buddy, "the end of the snapshots' copies"));
      } else {
        setup_.transport.idle();
      }
    }
  }));
}

}  // namespace gangway::worker
