// SPDX-License-Identifier: MIT
#include "worker/state/snapshot_taker.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::worker {
namespace {

using Clock = std::chrono::steady_clock;

/// Elements copied at once, each a weight, its moments and its average: about 50 us.
constexpr std::size_t kElementsAtOnce = std::size_t{1} << 14U;
/// Longest copying between two polls of idle exchanges. Each poll may cost a whole time slice,
/// because MPI yields when it shares its cores.
constexpr double kQuietSeconds = 1e-3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns whether all are finite: an infinity or NaN has all exponent bits set.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t bad = 0;
  for (const float value : values) {
    bad |= (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  }
  return bad == 0;
}

}  // namespace

std::vector<checkpoint::TensorStretch> snapshot_pieces(std::span<NetworkState* const> networks,
                                                       int worker) {
  std::vector<checkpoint::TensorStretch> pieces;
  for (const OwnedPiece& piece : owned_pieces(networks, worker)) {
    pieces.push_back(piece.stored);
  }
  for (NetworkState* network : networks) {
    if (network->plan().last_owner() != worker) {
      continue;
    }
    for (const CountsPiece& piece : counts_pieces(*network, network->counts)) {
      pieces.push_back(piece.stored);
    }
  }
  return pieces;
}

SnapshotTaker::SnapshotTaker(SnapshotTakerSetup setup, checkpoint::SnapshotMemory& memory)
    : setup_(std::move(setup)),
      memory_(memory),
      pieces_(owned_pieces(setup_.networks, setup_.worker)),
      counts_(setup_.networks.size()) {
  for (const OwnedPiece& piece : pieces_) {
    total_ += piece.range.size();
    sees_updates_ = sees_updates_ || !setup_.networks[piece.network]->is_frozen();
  }
  for (std::size_t network = 0; network < setup_.networks.size(); ++network) {
    watchers_.add(Watcher(*this, network));
  }
}

void SnapshotTaker::begin(std::int64_t step) {
  step_ = step;
  copied_ = 0;
  spent_ = 0.0;
  waited_ = 0.0;
  has_room_ = memory_.begin({.step = step,
                             .incarnation = setup_.incarnation,
                             .epoch = setup_.epoch,
                             .num_workers = setup_.num_workers});
  if (!has_room_ && setup_.on_end) {
    setup_.on_end(step, false);
  }
}

void SnapshotTaker::put_off(std::size_t network, comm::ElementRange range, std::int64_t step,
                            const comm::UpdateCounts& counts) {
  if (step != step_) {
    copy_rest();  // of the previous snapshot
    begin(step);
    put_off_frozen();
  }
  if (!has_room_) {
    return;
  }
  counts_[network] = counts;
  const bool goes_on = !deferred_copies_.empty() && deferred_copies_.back().network == network &&
                       deferred_copies_.back().range.end == range.begin;
  if (goes_on) {
    deferred_copies_.back().range.end = range.end;
  } else {
    deferred_copies_.push_back({network, range});
  }
}

void SnapshotTaker::put_off_frozen() {
  for (std::size_t network = 0; has_room_ && network < setup_.networks.size(); ++network) {
    if (setup_.networks[network]->is_frozen()) {
      deferred_copies_.push_back({network, {0, setup_.networks[network]->layout().size()}});
    }
  }
}

void SnapshotTaker::copy_before_update(std::size_t network, comm::ElementRange range) {
  const auto is_hit = [&](const DeferredCopy& one) {
    return one.network == network && !comm::intersect(one.range, range).empty();
  };
  while (std::ranges::any_of(deferred_copies_, is_hit)) {
    waited_ += copy_next(deferred_copies_.front().range.size());
    finish_if_whole();
  }
}

bool SnapshotTaker::advance(bool is_quiet) {
  if (deferred_copies_.empty()) {
    return false;
  }
  double seconds = copy_next(kElementsAtOnce);
  while (is_quiet && seconds < kQuietSeconds && !deferred_copies_.empty()) {
    seconds += copy_next(kElementsAtOnce);
  }
  finish_if_whole();
  return true;
}

void SnapshotTaker::copy_rest() {
  while (!deferred_copies_.empty()) {
    (void)copy_next(deferred_copies_.front().range.size());
  }
  finish_if_whole();
}

double SnapshotTaker::copy_next(std::size_t most) {
  const auto start = Clock::now();
  const DeferredCopy first = deferred_copies_.front();
  const comm::ElementRange part{first.range.begin,
                                first.range.begin + std::min(most, first.range.size())};
  copy_range(first.network, part);
  if (part.end == first.range.end && !deferred_copies_.empty()) {  // empty after give_up()
    deferred_copies_.erase(deferred_copies_.begin());
  } else if (!deferred_copies_.empty()) {
    deferred_copies_.front().range.begin = part.end;
  }
  const double seconds = seconds_since(start);
  spent_ += seconds;
  return seconds;
}

void SnapshotTaker::copy_range(std::size_t network, comm::ElementRange range) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].network == network) {
      copy_piece(i, comm::intersect(pieces_[i].range, range));
    }
  }
}

void SnapshotTaker::copy_piece(std::size_t index, comm::ElementRange range) {
  if (range.empty() || !has_room_) {
    return;
  }
  const OwnedPiece& piece = pieces_[index];
  const std::span<const float> values = piece.arena->range(range);
  if (!all_finite(values)) {
    return give_up(piece.stored.name);
  }
  memory_.copy(index, std::as_bytes(values));
  copied_ += range.size();
}

void SnapshotTaker::give_up(const std::string& poison) {
  has_room_ = false;  // until the next begins
  deferred_copies_.clear();
  if (!poisoned_.get()) {
    bad_value_ = poison;
    poisoned_.set(step_);
  }
}

void SnapshotTaker::require_finite_before(std::int64_t step) const {
  if (const auto poisoned = poisoned_.get(); poisoned && *poisoned < step) {
    throw DivergedError(
        fmt::format("step {}: '{}' is not finite; nothing was saved. Lower the learning rate, clip "
                    "(clip_norm) or add a penalty, and resume from the last checkpoint",
                    *poisoned, bad_value_),
        *poisoned + 1);
  }
}

void SnapshotTaker::finish_if_whole() {
  if (!has_room_ || copied_ != total_) {
    return;
  }
  std::size_t piece = pieces_.size();
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (setup_.networks[i]->plan().last_owner() != setup_.worker) {
      continue;
    }
    for (const CountsPiece& one : counts_pieces(*setup_.networks[i], counts_[i])) {
      memory_.copy(piece++, std::as_bytes(one.values));
    }
  }
  memory_.complete();
  has_room_ = false;  // until the next begins
  seconds_.store(spent_, std::memory_order_relaxed);
  wait_seconds_.store(waited_, std::memory_order_relaxed);
  newest_.set(step_);
  if (setup_.on_end) {
    setup_.on_end(*step_, true);
  }
}

void SnapshotTaker::copy_all(std::int64_t step, Clock::time_point since) {
  copy_rest();
  begin(step);
  if (!has_room_) {
    return;
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    copy_piece(i, pieces_[i].range);
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] = setup_.networks[i]->counts;
  }
  spent_ = seconds_since(since);
  waited_ = spent_;
  finish_if_whole();
}

}  // namespace gangway::worker
