// SPDX-License-Identifier: MIT
#include "comm/reducer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "job/errors.hpp"

namespace gangway::comm {
namespace {

// Elements that are summed and updated in one go: a quarter of a megabyte, some tens of
// microseconds, so that messages keep moving in between.
constexpr std::size_t kPiece = 16 * kBlockElements;
// Buckets whose sums are on their way to other hosts at a time. All at once they would share the link
// and arrive together at the end; one after another, the first come back as new weights while the
// last still go.
constexpr std::size_t kBucketsInFlight = 2;
// The two stages of a bucket that the workers of a host tell each other.
constexpr std::size_t kPartialsThere = 0;
constexpr std::size_t kWeightsThere = 1;

/// @throws InvariantError unless plan and ranges are for this many workers and the ranges join to
/// all micro-batches.
void check_setup(const Reducer::Setup& setup, int num_workers) {
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

Reducer::Setup with_hosts(Reducer::Setup setup, int num_workers) {
  if (setup.hosts.empty()) {
    setup.hosts.resize(static_cast<std::size_t>(num_workers));
    std::iota(setup.hosts.begin(), setup.hosts.end(), 0);
  }
  check_setup(setup, num_workers);
  return setup;
}

}  // namespace

Reducer::Reducer(Transport& transport, Setup setup)
    : transport_(transport),
      setup_(with_hosts(std::move(setup), transport.num_workers())),
      routes_(routes_of(transport.worker(), setup_.hosts, setup_.ranges, setup_.num_microbatches)),
      ready_(setup_.plan->num_buckets()),
      buckets_(setup_.plan->num_buckets()),
      mean_(setup_.layout->size()),
      norm_(transport, *setup_.layout, *setup_.plan, setup_.network),
      finished_at_(setup_.plan->num_buckets()) {
  const auto own = static_cast<std::size_t>(transport.worker());
  if (setup_.partials->partials() != whole_subtrees(setup_.ranges[own], setup_.num_microbatches) ||
      setup_.host->members() != routes_.host_members) {
    throw InvariantError(fmt::format(
        "network {}: worker {} has the partials of another range or the group of another host; "
        "please report this",
        setup_.network, own));
  }
  set_up_sources();
  // What an exchange needs, so that none allocates.
  for (Bucket& bucket : buckets_) {
    bucket.sums_in.reserve(routes_.incoming.size());
    bucket.weights_in.reserve(routes_.served.size());
  }
  const std::size_t others = static_cast<std::size_t>(transport_.num_workers());
  sums_out_.reserve((kBucketsInFlight + 1) * others * host_sums_.size());
  weights_out_.reserve(buckets_.size() * others);
}

void Reducer::set_up_sources() {
  const HostGroup& host = *setup_.host;
  const std::size_t arena = setup_.layout->size();
  for (std::size_t member = 0; member < host.size(); ++member) {
    const auto worker = static_cast<std::size_t>(host.members()[member]);
    const float* const partials = host.own_memory(member, setup_.partials->host_index());
    std::size_t part = 0;
    for (const MicrobatchRange& range :
         whole_subtrees(setup_.ranges[worker], setup_.num_microbatches)) {
      host_sources_.push_back({range, partials + arena * part++});
    }
  }
  sources_ = host_sources_;
  for (const ReductionRoutes::Incoming& incoming : routes_.incoming) {
    sources_.push_back({incoming.microbatches, received_.emplace_back(arena).data()});
  }
  const auto begin_of = [](const TreeSummand& source) { return source.microbatches.begin; };
  std::ranges::sort(host_sources_, {}, begin_of);
  std::ranges::sort(sources_, {}, begin_of);
  for (std::size_t i = 0; i < routes_.host_subtrees.size(); ++i) {
    host_sums_.push_back(host.size() == 1 ? setup_.partials->partial(i)
                                          : staged_.emplace_back(arena).data());
  }
}

MessageTag Reducer::tag(MessageKind kind, std::size_t bucket, std::size_t part) const {
  return {transport_.epoch(), setup_.network, kind, static_cast<int>(bucket),
          static_cast<int>(part)};
}

std::size_t Reducer::flag(std::size_t stage, std::size_t bucket) const {
  return static_cast<std::size_t>(setup_.network) * kFlagsPerNetwork + stage * kMaxBuckets + bucket;
}

void Reducer::open(double clip_norm) {
  if (needs() != Need::kNothing) {
    throw InvariantError(fmt::format(
        "network {}: an exchange began before the last one was awaited; please report this",
        setup_.network));
  }
  clip_norm_ = clip_norm;
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
  } else if (!in_hand_) {  // not needs(): `open` changes that before it is done
    return false;
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    moved = (!buckets_[i].done && advance_bucket(i)) || moved;
  }
  if (awaits_norm()) {
    moved = advance_agreement() || moved;
  }
  const std::size_t sends = sums_out_.size() + weights_out_.size();
  (void)poll_all(transport_, sums_out_);
  (void)poll_all(transport_, weights_out_);
  moved = moved || sends != sums_out_.size() + weights_out_.size();
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
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    bucket.left = bucket.forwarded = bucket.offered = bucket.done = false;
    bucket.summed = bucket.updated = 0;
    // Posted before anybody can send: what comes early lands where it belongs.
    const ElementRange mine = own_slice(i);
    for (std::size_t k = 0; k < routes_.incoming.size() && !mine.empty(); ++k) {
      const ReductionRoutes::Incoming& incoming = routes_.incoming[k];
      bucket.sums_in.push_back(
          {transport_.start_receive(incoming.peer, tag(MessageKind::kPartial, i, incoming.part),
                                    std::as_writable_bytes(received_[k].range(mine))),
           incoming.peer});
    }
  }
  in_hand_ = true;
  norm_.begin();
  stall_told_ = false;
  scale_ = 1.0F;
  last_progress_ = Clock::now();
}

bool Reducer::advance_bucket(std::size_t index) {
  Bucket& bucket = buckets_[index];
  if (!bucket.left) {
    if (!ready_[index].load(std::memory_order_acquire)) {
      return false;
    }
    leave(index);
    return true;
  }
  bool moved = false;
  if (!bucket.forwarded) {
    moved = forward(index);
  }
  moved = sum(index) || moved;
  moved = update(index) || moved;
  if (!bucket.offered) {
    moved = offer(index) || moved;
  }
  if (bucket.offered && setup_.host->all_published(flag(kWeightsThere, index), exchange_)) {
    bucket.done = true;
    finished_at_[index] = Clock::now();
    return true;
  }
  return moved;
}

void Reducer::leave(std::size_t index) {
  setup_.partials->fold(setup_.plan->bucket(index));
  setup_.host->publish(flag(kPartialsThere, index), exchange_);
  Bucket& bucket = buckets_[index];
  bucket.left = true;
  for (const int owner : routes_.served) {
    const ElementRange theirs = setup_.plan->slice(index, owner);
    if (!theirs.empty()) {
      bucket.weights_in.push_back(
          {transport_.start_receive(owner, tag(MessageKind::kWeights, index, 0),
                                    std::as_writable_bytes(setup_.weights->range(theirs))),
           owner});
    }
  }
}

bool Reducer::forward(std::size_t index) {
  const std::size_t messages_a_bucket = routes_.served.size() * host_sums_.size();
  if (sums_out_.size() > (kBucketsInFlight - 1) * messages_a_bucket ||
      !setup_.host->all_published(flag(kPartialsThere, index), exchange_)) {
    return false;
  }
  for (const int owner : routes_.served) {
    const ElementRange theirs = setup_.plan->slice(index, owner);
    if (theirs.empty()) {
      continue;
    }
    for (std::size_t part = 0; part < host_sums_.size(); ++part) {
      const MicrobatchRange subtree = routes_.host_subtrees[part];
      if (!staged_.empty()) {
        tree_sum(within(subtree, host_sources_), subtree, 1.0F, staged_[part].range(theirs),
                 theirs.begin);
      }
      const std::span<const float> values(host_sums_[part] + theirs.begin, theirs.size());
      sums_out_.push_back({transport_.start_send(owner, tag(MessageKind::kPartial, index, part),
                                              std::as_bytes(values)),
                        owner});
    }
  }
  buckets_[index].forwarded = true;
  return true;
}

bool Reducer::sum(std::size_t index) {
  Bucket& bucket = buckets_[index];
  const ElementRange mine = own_slice(index);
  if (bucket.summed == mine.size() || !bucket.forwarded || !poll_all(transport_, bucket.sums_in)) {
    return false;
  }
  const std::size_t begin = mine.begin + bucket.summed;
  const ElementRange piece{begin, std::min(mine.end, begin + kPiece)};
  tree_sum(sources_, {0, setup_.num_microbatches},
           1.0F / static_cast<float>(setup_.num_microbatches), mean_.range(piece), piece.begin);
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
  const ElementRange piece{begin, std::min(mine.begin + bucket.summed, begin + kPiece)};
  const std::span<float> mean = mean_.range(piece);
  if (scale_ != 1.0F) {
    const ElementRange parameters = intersect(piece, setup_.layout->parameter_range());
    for (float& value : mean.first(parameters.size())) {
      value *= scale_;
    }
  }
  setup_.updater->update(piece, mean);
  bucket.updated += piece.size();
  if (bucket.updated == mine.size()) {
    for (const int delegate : routes_.delegates) {
      weights_out_.push_back({transport_.start_send(
                            delegate, tag(MessageKind::kWeights, index, 0),
                            std::as_bytes(std::span<const float>(setup_.weights->range(mine)))),
                        delegate});
    }
  }
  return true;
}

bool Reducer::offer(std::size_t index) {
  Bucket& bucket = buckets_[index];
  if (!bucket.forwarded || bucket.updated < own_slice(index).size() ||
      !poll_all(transport_, bucket.weights_in)) {
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
    // The usual clipping by global norm (Pascanu et al., 2013), the floor as in PyTorch's
    // clip_grad_norm_.
    scale_ =
        static_cast<float>(std::min(1.0, clip_norm_ / (std::sqrt(norm_.squared_norm()) + 1e-6)));
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

bool Reducer::all_done() const {
  // A worker that owns no slice can have all weights before it knows the norm.
  return !awaits_norm() && sums_out_.empty() && weights_out_.empty() &&
         std::ranges::all_of(buckets_, &Bucket::done);
}

void Reducer::set_need() {
  in_hand_ = !all_done();
  Need need = Need::kNothing;
  if (in_hand_) {
    need = Need::kCompute;
    for (const Bucket& bucket : buckets_) {
      if (bucket.left && !bucket.done) {
        const bool messages = !bucket.sums_in.empty() || !bucket.weights_in.empty();
        need = std::max(need, messages ? Need::kMessages : Need::kHost);
      }
    }
    if (!sums_out_.empty() || !weights_out_.empty() || !norm_.pending().empty()) {
      need = Need::kMessages;
    }
  }
  need_.store(need, std::memory_order_release);
}

void Reducer::check_deadline() {
  if (!std::ranges::all_of(buckets_, &Bucket::left)) {
    last_progress_ = Clock::now();  // the others wait for this worker
    return;
  }
  const auto waited = Clock::now() - last_progress_;
  if (waited < setup_.timeout / 4 || (stall_told_ && waited < setup_.timeout)) {
    return;
  }
  const Missing lacking = missing();
  const std::string text = fmt::format(
      "worker {} waited {:.1f} s for worker {} ({}); is it alive, and is the network up? The limit "
      "is layout.timeout_seconds",
      transport_.worker(), std::chrono::duration<double>(waited).count(), lacking.worker,
      lacking.what);
  if (waited >= setup_.timeout) {
    throw CommError(text);
  }
  stall_told_ = true;
  if (setup_.on_stall) {
    setup_.on_stall(text);
  }
}

Reducer::Missing Reducer::missing() const {
  const auto about = [this](const char* what, std::size_t bucket) {
    return fmt::format("{} of network {}, bucket {}", what, setup_.network, bucket);
  };
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (const int silent = setup_.host->first_below(flag(kPartialsThere, i), exchange_);
        silent >= 0) {
      return {silent, about("gradients", i)};
    }
    if (!bucket.sums_in.empty()) {
      return {bucket.sums_in.front().peer, about("gradients", i)};
    }
  }
  if (!norm_.pending().empty()) {
    return {norm_.pending().front().peer, fmt::format("norm of network {}", setup_.network)};
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (!buckets_[i].weights_in.empty()) {
      return {buckets_[i].weights_in.front().peer, about("new weights", i)};
    }
    if (const int silent = setup_.host->first_below(flag(kWeightsThere, i), exchange_);
        silent >= 0) {
      return {silent, about("new weights", i)};
    }
  }
  const std::vector<PendingRequest>& sends = sums_out_.empty() ? weights_out_ : sums_out_;
  return {sends.empty() ? -1 : sends.front().peer,
          fmt::format("sends of network {}", setup_.network)};
}

}  // namespace gangway::comm
