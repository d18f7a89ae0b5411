// SPDX-License-Identifier: MIT
#include "worker/step/update_audit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::worker {

/// Weights, moments, average, in this order.
std::vector<std::string> UpdateAudit::changed_of(NetworkState& state) {
  std::vector<std::string> changed{"weights"};
  for (std::size_t i = 0; i < state.moments().size(); ++i) {
    std::string name(row_of(state.optimizer()).moments[i]);
    std::ranges::replace(name, '_', ' ');
    changed.push_back(std::move(name));
  }
  if (state.average() != nullptr) {
    changed.emplace_back("average of the weights");
  }
  return changed;
}

std::span<const float> UpdateAudit::changed(const UpdateSlice& slice, std::size_t i) const {
  if (i == 0) {
    return slice.weights;
  }
  return i <= state_.moments().size() ? slice.moments[i - 1] : slice.average;
}

UpdateAudit::UpdateAudit(comm::Transport& transport, NetworkState& state,
                         const UpdateAuditSetup& setup)
    : transport_(transport),
      state_(state),
      changed_(changed_of(state)),
      setup_(setup),
      record_(num_parts() * kMostShownElements) {
  pending_.reserve(1);
}

UpdateAudit::Choice UpdateAudit::choose(std::int64_t step) const {
  const std::array<std::uint64_t, 2> key{static_cast<std::uint64_t>(setup_.network),
                                         static_cast<std::uint64_t>(step)};
  const XXH128_hash_t random = XXH3_128bits_withSeed(key.data(), sizeof key, setup_.seed);
  const comm::BucketPlan& plan = state_.group_plan();
  std::size_t blocks = 0;
  for (const comm::ElementRange& part : state_.parts()) {
    blocks += part.size() / comm::kBlockElements;
  }
  // Chooses among the parts that this worker's group holds, one after the other.
  std::size_t first = random.low64 % blocks * comm::kBlockElements;
  for (const comm::ElementRange& part : state_.parts()) {
    if (first < part.size()) {
      first += part.begin;
      break;
    }
    first -= part.size();
  }
  const auto others = static_cast<std::uint64_t>(plan.num_workers() - 1);
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    for (int owner = 0; owner < plan.num_workers(); ++owner) {
      const comm::ElementRange slice = plan.slice(bucket, owner);
      if (slice.begin <= first && first < slice.end) {
        const int after = 1 + static_cast<int>(random.high64 % std::max<std::uint64_t>(1, others));
        return {.range = {first, std::min(slice.end, first + kMostShownElements)},
                .owner = owner,
                .auditor = (owner + after) % plan.num_workers()};
      }
    }
  }
  throw InvariantError(fmt::format("network {}: no worker owns element {}; please report this",
                                   setup_.network, first));
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

UpdateWish UpdateAudit::wish() const {
  return needs() == Need::kCompute ? UpdateWish{.elements = choice_.range} : UpdateWish{};
}

void UpdateAudit::before_update(const UpdateSlice& slice) {
  const comm::ElementRange common = comm::intersect(slice.range, choice_.range);
  if (needs() != Need::kCompute || common.empty()) {
    return;
  }
  const std::size_t from = common.begin - slice.range.begin;
  const std::size_t to = common.begin - choice_.range.begin;
  std::ranges::copy(slice.mean.subspan(from, common.size()), mean_part().subspan(to).begin());
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    std::ranges::copy(changed(slice, i).subspan(from, common.size()),
                      before(i).subspan(to).begin());
  }
}

void UpdateAudit::after_update(const UpdateSlice& slice, const UpdatePlan& plan) {
  const comm::ElementRange common = comm::intersect(slice.range, choice_.range);
  if (needs() != Need::kCompute || common.empty()) {
    return;
  }
  if (plan.was_skipped) {
    // Skipped: sends NaN, because the auditor's own part of the gradient may be finite.
    std::ranges::fill(mean_part(), std::numeric_limits<float>::quiet_NaN());
  }
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    std::ranges::copy(changed(slice, i).subspan(common.begin - slice.range.begin, common.size()),
                      after(i).subspan(common.begin - choice_.range.begin).begin());
  }
  recorded_ += common.size();
  if (recorded_ == choice_.range.size()) {
    need_.store(Need::kMessages, std::memory_order_release);
  }
}

void UpdateAudit::start() {
  const comm::MessageTag tag{transport_.epoch(), setup_.network, comm::MessageKind::kCheck, 0, 1};
  const std::span<float> record = std::span(record_).first(num_parts() * choice_.range.size());
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
      const WorkerIndex silent = transport_.number_of(pending_.front().peer);
      throw comm::PeerError(
          silent,
          comm::silence_text(transport_.own_number(), deadline_.allowed_seconds(), silent,
                             fmt::format("audit of an update of network {}", setup_.network)));
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
  UpdateSlice slice{.range = choice_.range, .mean = mean_part(), .weights = before(0)};
  const std::size_t moments = state_.moments().size();
  for (std::size_t i = 0; i < moments; ++i) {
    slice.moments[i] = before(1 + i);
  }
  if (state_.average() != nullptr) {
    slice.average = before(1 + moments);
  }
  const bool was_skipped =
      plan_.agreement.is_needed && plan_.agreement.may_skip && std::isnan(slice.mean.front());
  if (!was_skipped) {
    setup_.update(plan_, state_.layout(), slice);
  }
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const std::span<const float> mine = before(i);
    const std::span<const float> theirs = after(i);
    if (std::memcmp(mine.data(), theirs.data(), mine.size_bytes()) == 0) {
      continue;
    }
    std::size_t at = 0;
    // Bits are compared, not values. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    while (std::memcmp(&mine[at], &theirs[at], sizeof(float)) == 0) {
      ++at;
    }
    throw InvariantError(fmt::format(
        "step {}: rank {} updated {} ({}) to other bits than rank {}, which recomputed it: bad "
        "memory or arithmetic on one of the two, or a bug in Gangway (if it happens again on other "
        "machines, please report it); resume from the last checkpoint",
        step_, rank_of(transport_.number_of(choice_.owner)), place_of(choice_.range.begin + at),
        changed_[i], rank_of(transport_.number_of(choice_.auditor))));
  }
}

std::string UpdateAudit::place_of(std::size_t element) const {
  for (const NetworkState::TensorPlace& place : state_.places()) {
    if (place.range.begin <= element && element < place.range.end) {
      return fmt::format("'{}'", place.name);
    }
  }
  return fmt::format("the padding of '{}'", state_.network().name());
}

}  // namespace gangway::worker
