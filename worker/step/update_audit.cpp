// SPDX-License-Identifier: MIT
#include "worker/step/update_audit.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::worker {
namespace {

// Elements that are audited at most: a few tens of microseconds for the auditor's lane.
constexpr std::size_t kMostElements = 4 * comm::kBlockElements;

// The parts of a record. What an update changes is there twice: as it was, and as it became.
constexpr std::size_t kMean = 0;
constexpr std::size_t kBefore = 1;
constexpr std::size_t kAfter = 5;
constexpr std::size_t kParts = 9;
constexpr std::array kChanged{"weights", "first moment", "second moment", "average of the weights"};

/// The state's arenas in the order of kChanged; null where there is none.
std::array<comm::Arena*, kChanged.size()> arenas_of(NetworkState& state) {
  return {&state.weights(), &state.first_moment(), &state.second_moment(), state.average()};
}

}  // namespace

UpdateAudit::UpdateAudit(comm::Transport& transport, NetworkState& state, const Setup& setup)
    : transport_(transport), state_(state), setup_(setup), record_(kParts * kMostElements) {
  pending_.reserve(1);
}

UpdateAudit::Choice UpdateAudit::choose(std::int64_t step) const {
  const std::array<std::uint64_t, 2> key{static_cast<std::uint64_t>(setup_.network),
                                         static_cast<std::uint64_t>(step)};
  const XXH128_hash_t random = XXH3_128bits_withSeed(key.data(), sizeof key, setup_.seed);
  const comm::BucketPlan& plan = state_.plan();
  const std::size_t first = random.low64 % state_.layout().num_blocks() * comm::kBlockElements;
  const auto others = static_cast<std::uint64_t>(plan.num_workers() - 1);
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    for (int owner = 0; owner < plan.num_workers(); ++owner) {
      const comm::ElementRange slice = plan.slice(bucket, owner);
      if (slice.begin <= first && first < slice.end) {
        const int after = 1 + static_cast<int>(random.high64 % std::max<std::uint64_t>(1, others));
        return {.range = {first, std::min(slice.end, first + kMostElements)},
                .owner = owner,
                .auditor = (owner + after) % plan.num_workers()};
      }
    }
  }
  throw InvariantError(
      fmt::format("network {}: nobody owns element {}; please report this", setup_.network, first));
}

void UpdateAudit::begin(std::int64_t step, const UpdatePlan& plan) {
  if (needs() != Need::kNothing) {
    throw InvariantError(
        fmt::format("network {}: an audit began before the last one was over; please report this",
                    setup_.network));
  }
  step_ = step;
  plan_ = plan;
  choice_ = choose(step);
  recorded_ = 0;
  if (choice_.owner == transport_.worker()) {
    need_.store(Need::kCompute, std::memory_order_release);
  } else if (choice_.auditor == transport_.worker()) {
    need_.store(Need::kMessages, std::memory_order_release);
  }
}

std::span<float> UpdateAudit::part(std::size_t index) {
  const std::size_t size = choice_.range.size();
  return std::span(record_).subspan(index * size, size);
}

void UpdateAudit::before_update(comm::ElementRange range, std::span<const float> mean) {
  const comm::ElementRange common = comm::intersect(range, choice_.range);
  if (needs() != Need::kCompute || common.empty()) {
    return;
  }
  const std::size_t to = common.begin - choice_.range.begin;
  std::ranges::copy(mean.subspan(common.begin - range.begin, common.size()),
                    part(kMean).subspan(to).begin());
  const auto arenas = arenas_of(state_);
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    if (arenas[i] != nullptr) {
      std::ranges::copy(arenas[i]->range(common), part(kBefore + i).subspan(to).begin());
    }
  }
}

void UpdateAudit::after_update(comm::ElementRange range, const UpdatePlan& /*plan*/) {
  const comm::ElementRange common = comm::intersect(range, choice_.range);
  if (needs() != Need::kCompute || common.empty()) {
    return;
  }
  const auto arenas = arenas_of(state_);
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    if (arenas[i] != nullptr) {
      std::ranges::copy(arenas[i]->range(common),
                        part(kAfter + i).subspan(common.begin - choice_.range.begin).begin());
    }
  }
  recorded_ += common.size();
  if (recorded_ == choice_.range.size()) {
    need_.store(Need::kMessages, std::memory_order_release);
  }
}

void UpdateAudit::start() {
  const comm::MessageTag tag{transport_.epoch(), setup_.network, comm::MessageKind::kCheck, 0, 1};
  const std::span<float> record = std::span(record_).first(kParts * choice_.range.size());
  if (choice_.owner == transport_.worker()) {
    pending_.push_back(
        {transport_.start_send(choice_.auditor, tag, std::as_bytes(record)), choice_.auditor});
  } else {
    pending_.push_back(
        {transport_.start_receive(choice_.owner, tag, std::as_writable_bytes(record)),
         choice_.owner});
  }
  deadline_ = comm::Deadline(setup_.timeout);
  started_ = true;
}

bool UpdateAudit::advance() {
  if (needs() != Need::kMessages) {
    return false;
  }
  if (!started_) {
    start();
    return true;
  }
  if (!comm::poll_all(transport_, pending_)) {
    if (deadline_.expired()) {
      throw comm::PeerError(
          pending_.front().peer,
          fmt::format(
              "worker {} waited {:.0f} s for worker {} (audit of an update of network {}); is it "
              "alive, and is the network up? The limit is layout.timeout_seconds",
              transport_.worker(), deadline_.allowed_seconds(), pending_.front().peer,
              setup_.network));
    }
    return false;
  }
  started_ = false;
  if (choice_.auditor == transport_.worker()) {
    judge();
  }
  need_.store(Need::kNothing, std::memory_order_release);
  return true;
}

void UpdateAudit::judge() {
  const bool has_average = state_.average() != nullptr;
  update_slice(plan_, state_.layout(),
               {.range = choice_.range,
                .mean = part(kMean),
                .weights = part(kBefore),
                .first_moment = part(kBefore + 1),
                .second_moment = part(kBefore + 2),
                .average = has_average ? part(kBefore + 3) : std::span<float>{}});
  for (std::size_t i = 0; i < kChanged.size(); ++i) {
    const std::span<const float> mine = part(kBefore + i);
    const std::span<const float> theirs = part(kAfter + i);
    if (std::memcmp(mine.data(), theirs.data(), mine.size_bytes()) == 0) {
      continue;
    }
    std::size_t at = 0;
    while (std::memcmp(&mine[at], &theirs[at], sizeof(float)) == 0) {
      ++at;
    }
    throw InvariantError(fmt::format(
        "step {}: worker {} updated {} ({}) to other bits than worker {}, which recomputed it: bad "
        "memory or arithmetic on one of the two, or a mistake of ours (if it happens again on "
        "other machines, please report it); go on from the last checkpoint",
        step_, choice_.owner, place_of(choice_.range.begin + at), kChanged[i], choice_.auditor));
  }
}

std::string UpdateAudit::place_of(std::size_t element) const {
  for (const NetworkState::Place& place : state_.places()) {
    if (place.range.begin <= element && element < place.range.end) {
      return fmt::format("'{}'", place.name);
    }
  }
  return fmt::format("the padding of '{}'", state_.network().name());
}

}  // namespace gangway::worker
