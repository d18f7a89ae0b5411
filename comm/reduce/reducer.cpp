// SPDX-License-Identifier: MIT
#include "comm/reduce/reducer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

// The two stages of a bucket that a host's workers publish to each other.
constexpr std::size_t kPartialsThere = 0;
constexpr std::size_t kWeightsThere = 1;

/// @throws InvariantError unless plan and ranges are for this many workers and the ranges join to
/// all micro-batches.
void check_setup(const ReducerSetup& setup, int num_workers) {
  if (setup.plan->num_workers() != num_workers ||
      setup.ranges.size() != static_cast<std::size_t>(num_workers) ||
      setup.hosts.size() != static_cast<std::size_t>(num_workers)) {
    throw InvariantError(fmt::format(
        "network {}: a plan for {} workers and ranges of {} among {} workers; please report this",
        setup.network, setup.plan->num_workers(), setup.ranges.size(), num_workers));
  }
  if (covered_from_start(setup.ranges) != setup.num_microbatches) {
    throw InvariantError(
        fmt::format("network {}: the workers' ranges do not join to [0, {}); please report this",
                    setup.network, setup.num_microbatches));
  }
}

/// Returns `setup` with its default fields filled in.
ReducerSetup completed(ReducerSetup setup, Transport& transport) {
  const int num_workers = transport.num_workers();
  if (setup.hosts.empty()) {
    setup.hosts = each_its_own(num_workers);
  }
  if (setup.norm.workers.empty()) {
    setup.norm = {
        .transport = &transport, .plan = setup.plan, .workers = each_its_own(num_workers)};
  }
  check_setup(setup, num_workers);
  return setup;
}

}  // namespace

Reducer::Reducer(Transport& transport, ReducerSetup setup)
    : transport_(transport),
      setup_(completed(std::move(setup), transport)),
      routes_(routes_of(transport.worker(), setup_.hosts, setup_.ranges, setup_.num_microbatches)),
      messages_(transport, {.network = setup_.network,
                            .plan = setup_.plan,
                            .routes = &routes_,
                            .weights = setup_.weights,
                            .wire = setup_.wire,
                            .partials = host_partials()}),
      ready_(setup_.plan->num_buckets()),
      buckets_(setup_.plan->num_buckets()),
      mean_(setup_.layout->size()),
      norm_(setup_.norm, *setup_.layout, setup_.network),
      finished_at_(setup_.plan->num_buckets()) {
  sources_ = host_partials();
  sources_.insert(sources_.end(), messages_.sums().begin(), messages_.sums().end());
  std::ranges::sort(sources_, {},
                    [](const TreeSummand& source) { return source.microbatches.begin; });
}

std::vector<TreeSummand> Reducer::host_partials() const {
  const HostGroup& host = *setup_.host;
  const auto own = static_cast<std::size_t>(transport_.worker());
  if (setup_.partials->partials() != whole_subtrees(setup_.ranges[own], setup_.num_microbatches) ||
      host.members() != routes_.host_members) {
    throw InvariantError(fmt::format(
        "network {}: rank {} has the partials of another range or the group of another host; "
        "please report this",
        setup_.network, rank_of(transport_.own_number())));
  }
  const std::size_t arena = setup_.layout->size();
  std::vector<TreeSummand> partials;
  for (std::size_t member = 0; member < host.size(); ++member) {
    const auto worker = static_cast<std::size_t>(host.members()[member]);
    const float* const memory = host.own_memory(member, setup_.partials->host_index());
    std::size_t part = 0;
    for (const MicrobatchRange& range :
         whole_subtrees(setup_.ranges[worker], setup_.num_microbatches)) {
      partials.push_back({range, memory + arena * part++});
    }
  }
  std::ranges::sort(partials, {},
                    [](const TreeSummand& partial) { return partial.microbatches.begin; });
  return partials;
}

std::size_t Reducer::flag(std::size_t stage, std::size_t bucket) const {
  return static_cast<std::size_t>(setup_.network) * kFlagsPerNetwork + stage * kMaxBuckets + bucket;
}

void Reducer::open(const Agreement& agreement) {
  if (needs() != Need::kNothing) {
    throw InvariantError(fmt::format(
        "network {}: an exchange began before the last one was awaited; please report this",
        setup_.network));
  }
  agreement_ = agreement;
  for (std::atomic<bool>& ready : ready_) {
    ready.store(false, std::memory_order_relaxed);
  }
  need_.store(Need::kCompute, std::memory_order_relaxed);
  opened_.fetch_add(1, std::memory_order_release);
}

void Reducer::bucket_ready(std::size_t bucket) {
  ready_[bucket].store(true, std::memory_order_release);
}

std::size_t Reducer::all_ready() {
  std::size_t late = 0;
  for (std::atomic<bool>& ready : ready_) {
    late += ready.exchange(true, std::memory_order_release) ? 0U : 1U;
  }
  return late;
}

bool Reducer::advance() {
  bool moved = false;
  if (opened_.load(std::memory_order_acquire) != exchange_) {
    begin();
    moved = true;
  } else if (!in_hand_) {  // not needs(): `open` changes it before it is done
    return false;
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    moved = (!buckets_[i].done && advance_bucket(i)) || moved;
  }
  if (awaits_norm()) {
    moved = advance_agreement() || moved;
  }
  moved = messages_.poll_sends() || moved;
  if (moved) {
    last_progress_ = Clock::now();
  } else {
    check_deadline();
  }
  set_need();
  return moved;
}

void Reducer::begin() {
  ++exchange_;
  for (Bucket& bucket : buckets_) {
    bucket.left = bucket.forwarded = bucket.offered = bucket.done = false;
    bucket.summed = bucket.updated = 0;
  }
  messages_.begin();
  in_hand_ = true;
  norm_.begin();
  stall_reported_ = false;
  scale_ = 1.0F;
  skips_ = false;
  last_progress_ = Clock::now();
}

bool Reducer::advance_bucket(std::size_t index) {
  Bucket& bucket = buckets_[index];
  const auto work = [&](LaneWork kind, const auto& part) {
    return traced(setup_.trace, event(kind, index), part);
  };
  if (!bucket.left) {
    if (!ready_[index].load(std::memory_order_acquire)) {
      return false;
    }
    return work(LaneWork::kLeave, [&] {
      leave(index);
      return true;
    });
  }
  bool moved = false;
  if (!bucket.forwarded) {
    moved = work(LaneWork::kForward, [&] { return forward(index); });
  }
  moved = work(LaneWork::kSum, [&] { return sum(index); }) || moved;
  if (bucket.updated != bucket.summed) {
    const PartScope part(static_cast<std::size_t>(LanePart::kUpdate));
    moved = work(LaneWork::kUpdate, [&] { return update(index); }) || moved;
  }
  if (!bucket.offered) {
    moved = work(LaneWork::kOffer, [&] { return offer(index); }) || moved;
  }
  if (bucket.offered && setup_.host->all_published(flag(kWeightsThere, index), exchange_)) {
    bucket.done = true;
    finished_at_[index] = Clock::now();
    return work(LaneWork::kDone, [] { return true; });
  }
  return moved;
}

void Reducer::leave(std::size_t index) {
  setup_.partials->fold(setup_.plan->bucket(index));
  setup_.host->publish(flag(kPartialsThere, index), exchange_);
  buckets_[index].left = true;
  messages_.expect_weights(index);
}

bool Reducer::forward(std::size_t index) {
  if (!messages_.may_send_sums() ||
      !setup_.host->all_published(flag(kPartialsThere, index), exchange_)) {
    return false;
  }
  messages_.send_sums(index);
  buckets_[index].forwarded = true;
  return true;
}

std::span<float> Reducer::mean_of(ElementRange piece) {
  // If no update waits for the norm, each piece is updated before the next is summed. One buffer,
  // which stays in the cache, then serves all pieces.
  return agreement_.is_needed ? mean_.range(piece) : mean_.range({0, piece.size()});
}

bool Reducer::sum(std::size_t index) {
  Bucket& bucket = buckets_[index];
  const ElementRange mine = own_slice(index);
  if (bucket.summed == mine.size() || !bucket.forwarded || !messages_.sums_are_here(index)) {
    return false;
  }
  const std::size_t begin = mine.begin + bucket.summed;
  const ElementRange piece{begin, std::min(mine.end, begin + kPieceElements)};
  messages_.unpack_sums(piece);
  tree_sum(sources_, {0, setup_.num_microbatches},
           1.0F / static_cast<float>(setup_.num_microbatches), mean_of(piece), piece.begin);
  bucket.summed += piece.size();
  return true;
}

bool Reducer::update(std::size_t index) {
  Bucket& bucket = buckets_[index];
  if (bucket.updated == bucket.summed || awaits_norm()) {
    return false;
  }
  const ElementRange mine = own_slice(index);
  const std::size_t begin = mine.begin + bucket.updated;
  const ElementRange piece{begin, std::min(mine.begin + bucket.summed, begin + kPieceElements)};
  const std::span<float> mean = mean_of(piece);
  if (scale_ != 1.0F && !skips_) {
    const ElementRange parameters = intersect(piece, setup_.layout->parameter_range());
    for (float& value : mean.first(parameters.size())) {
      value *= scale_;
    }
  }
  messages_.before_update(piece);
  if (skips_) {
    setup_.updater->skip(piece, mean);
  } else {
    setup_.updater->update(piece, mean);
  }
  messages_.after_update(piece);
  bucket.updated += piece.size();
  if (bucket.updated == mine.size()) {
    messages_.send_weights(index);
  }
  return true;
}

bool Reducer::offer(std::size_t index) {
  Bucket& bucket = buckets_[index];
  if (!bucket.forwarded || bucket.updated < own_slice(index).size() ||
      !messages_.weights_are_here(index)) {
    return false;
  }
  bucket.offered = true;
  setup_.host->publish(flag(kWeightsThere, index), exchange_);
  return true;
}

bool Reducer::advance_agreement() {
  if (norm_.is_offered()) {
    if (!norm_.advance()) {
      return false;
    }
    decide();
    return true;
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (!buckets_[i].left || buckets_[i].summed < own_slice(i).size()) {
      return false;
    }
  }
  norm_.offer(mean_);
  return true;
}

void Reducer::decide() {
  const double unscale = std::ldexp(1.0, -static_cast<int>(agreement_.scale_exponent));
  agreed_norm_ = std::sqrt(norm_.squared_norm()) * unscale;
  skips_ = agreement_.may_skip && !std::isfinite(norm_.squared_norm());
  if (skips_) {
    return;
  }
  double scale = unscale;
  if (agreement_.clip_norm > 0.0) {
    // Clip by global norm (Pascanu et al., 2013), with the epsilon of PyTorch's clip_grad_norm_.
    scale *= std::min(1.0, agreement_.clip_norm / (agreed_norm_ + 1e-6));
  }
  scale_ = static_cast<float>(scale);
}

bool Reducer::all_done() const {
  // A worker without a slice can have all weights before it knows the norm.
  return !awaits_norm() && messages_.send_under_way() < 0 &&
         std::ranges::all_of(buckets_, &Bucket::done);
}

void Reducer::set_need() {
  in_hand_ = !all_done();
  Need need = Need::kNothing;
  if (in_hand_) {
    need = Need::kCompute;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i].left && !buckets_[i].done) {
        const bool messages = !messages_.sums_in(i).empty() || !messages_.weights_in(i).empty();
        need = std::max(need, messages ? Need::kMessages : Need::kHost);
      }
    }
    if (messages_.send_under_way() >= 0 || (norm_.is_offered() && !norm_.is_known())) {
      need = Need::kMessages;
    }
  }
  need_.store(need, std::memory_order_release);
}

void Reducer::check_deadline() {
  if (!std::ranges::all_of(buckets_, &Bucket::left)) {
    last_progress_ = Clock::now();  // the other workers wait for this worker
    return;
  }
  const auto waited = Clock::now() - last_progress_;
  if (waited < setup_.timeout / 4 || (stall_reported_ && waited < setup_.timeout)) {
    return;
  }
  const Missing lacking = missing();
  const std::string text =
      silence_text(transport_.own_number(), std::chrono::duration<double>(waited).count(),
                   lacking.worker, lacking.what);
  if (waited >= setup_.timeout) {
    throw PeerError(lacking.worker, text);
  }
  stall_reported_ = true;
  if (setup_.on_stall) {
    setup_.on_stall(text);
  }
}

Reducer::Missing Reducer::missing() const {
  const auto about = [this](int worker, const char* what, std::size_t bucket) {
    return Missing{transport_.number_of(worker),
                   fmt::format("{} of network {}, bucket {}", what, setup_.network, bucket)};
  };
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (const int silent = setup_.host->first_below(flag(kPartialsThere, i), exchange_);
        silent >= 0) {
      return about(silent, "gradients", i);
    }
    if (!messages_.sums_in(i).empty()) {
      return about(messages_.sums_in(i).front().peer, "gradients", i);
    }
  }
  if (!norm_.pending().empty()) {
    return {norm_.awaited(), fmt::format("norm of network {}", setup_.network)};
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (!messages_.weights_in(i).empty()) {
      return about(messages_.weights_in(i).front().peer, "new weights", i);
    }
    if (const int silent = setup_.host->first_below(flag(kWeightsThere, i), exchange_);
        silent >= 0) {
      return about(silent, "new weights", i);
    }
  }
  const int taker = messages_.send_under_way();
  return {taker < 0 ? WorkerIndex(-1) : transport_.number_of(taker),
          fmt::format("sends of network {}", setup_.network)};
}

}  // namespace gangway::comm
