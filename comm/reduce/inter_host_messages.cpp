// SPDX-License-Identifier: MIT
#include "comm/reduce/inter_host_messages.hpp"

#include <algorithm>

#include "base/system/time_ledger.hpp"
#include "comm/lane.hpp"

namespace gangway::comm {
namespace {

// Buckets whose sums are in transit to other hosts at a time. If all were in transit, they would
// share the link and arrive together at the end. In sequence, the first buckets' new weights come
// back while the last buckets' sums still leave.
constexpr std::size_t kBucketsInFlight = 2;

/// Counts the scope's time as messages, because the transport copies data inside its calls.
PartScope carrying() { return PartScope(static_cast<std::size_t>(LanePart::kMessages)); }

bool poll_pending(Transport& transport, std::vector<PendingRequest>& pending) {
  if (pending.empty()) {
    return true;
  }
  const PartScope part = carrying();
  return poll_all(transport, pending);
}

}  // namespace

InterHostMessages::Rounding::Rounding(WireFormat format, std::size_t elements,
                                      const ReductionRoutes& routes)
    : weights_out(format, elements),
      lost_weights(elements),
      weights_in(format, elements),
      base(kPieceElements) {
  for (std::size_t i = 0; i < routes.host_subtrees.size(); ++i) {
    sums_out.emplace_back(format, elements);
    lost_sums.emplace_back(elements);
  }
  for (std::size_t i = 0; i < routes.incoming.size(); ++i) {
    sums_in.emplace_back(format, elements);
  }
}

InterHostMessages::InterHostMessages(Transport& transport, InterHostMessagesSetup setup)
    : transport_(transport),
      setup_(std::move(setup)),
      routes_(*setup_.routes),
      buckets_(setup_.plan->num_buckets()) {
  const std::size_t arena = setup_.weights->size();
  const bool has_one_member = routes_.host_members.size() == 1;
  for (std::size_t i = 0; i < routes_.host_subtrees.size(); ++i) {
    host_sums_.push_back(has_one_member ? setup_.partials[i].values
                                        : staged_.emplace_back(arena).data());
  }
  for (const ReductionRoutes::Incoming& incoming : routes_.incoming) {
    sums_.push_back({incoming.microbatches, received_.emplace_back(arena).data()});
  }
  if (setup_.wire != WireFormat::kFp32 && !routes_.delegates.empty()) {
    rounding_.emplace(setup_.wire, arena, routes_);
  }
  // Reserve an exchange's memory, so that no exchange allocates.
  for (Bucket& bucket : buckets_) {
    bucket.sums_in.reserve(routes_.incoming.size());
    bucket.weights_in.reserve(routes_.served.size());
  }
  sums_out_.reserve(kBucketsInFlight * routes_.served.size() * host_sums_.size());
  weights_out_.reserve(buckets_.size() * routes_.delegates.size());
}

MessageTag InterHostMessages::tag(MessageKind kind, std::size_t bucket, std::size_t part) const {
  return {transport_.epoch(), setup_.network, kind, static_cast<int>(bucket),
          static_cast<int>(part)};
}

void InterHostMessages::begin() {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    // Receive before any worker can send, so that early messages arrive in place.
    const ElementRange mine = own_slice(i);
    for (std::size_t k = 0; k < routes_.incoming.size() && !mine.empty(); ++k) {
      const ReductionRoutes::Incoming& incoming = routes_.incoming[k];
      const std::span<std::byte> place =
          rounding_ ? std::as_writable_bytes(rounding_->sums_in[k].range(mine))
                    : std::as_writable_bytes(received_[k].range(mine));
      const PartScope part = carrying();
      buckets_[i].sums_in.push_back(
          {transport_.start_receive(incoming.peer, tag(MessageKind::kPartial, i, incoming.part),
                                    place),
           incoming.peer});
    }
  }
}

bool InterHostMessages::may_send_sums() const {
  return sums_out_.size() <= (kBucketsInFlight - 1) * routes_.served.size() * host_sums_.size();
}

void InterHostMessages::send_sums(std::size_t bucket) {
  for (const int owner : routes_.served) {
    const ElementRange theirs = setup_.plan->slice(bucket, owner);
    if (theirs.empty()) {
      continue;
    }
    for (std::size_t part = 0; part < host_sums_.size(); ++part) {
      const MicrobatchRange subtree = routes_.host_subtrees[part];
      if (!staged_.empty()) {
        tree_sum(within(subtree, setup_.partials), subtree, 1.0F, staged_[part].range(theirs),
                 theirs.begin);
      }
      const std::span<const float> values(host_sums_[part] + theirs.begin, theirs.size());
      if (rounding_) {
        encode_sum(setup_.wire, values, rounding_->lost_sums[part].range(theirs),
                   rounding_->sums_out[part].range(theirs));
      }
      const std::span<const std::byte> bytes =
          rounding_ ? std::as_bytes(rounding_->sums_out[part].range(theirs))
                    : std::as_bytes(values);
      const PartScope carried = carrying();
      sums_out_.push_back(
          {transport_.start_send(owner, tag(MessageKind::kPartial, bucket, part), bytes), owner});
    }
  }
}

bool InterHostMessages::sums_are_here(std::size_t bucket) {
  return poll_pending(transport_, buckets_[bucket].sums_in);
}

void InterHostMessages::unpack_sums(ElementRange piece) {
  for (std::size_t k = 0; rounding_ && k < received_.size(); ++k) {
    decode(setup_.wire, rounding_->sums_in[k].range(piece), received_[k].range(piece));
  }
}

void InterHostMessages::before_update(ElementRange piece) {
  if (!rounding_) {
    return;
  }
  const std::span<float> weights = setup_.weights->range(piece);
  std::ranges::copy(weights, rounding_->base.begin());
  add_in_place(weights.data(), rounding_->lost_weights.range(piece).data(), piece.size());
}

void InterHostMessages::after_update(ElementRange piece) {
  if (!rounding_) {
    return;
  }
  encode_update(setup_.wire, std::span(rounding_->base).first(piece.size()),
                setup_.weights->range(piece), rounding_->lost_weights.range(piece),
                rounding_->weights_out.range(piece));
}

void InterHostMessages::send_weights(std::size_t bucket) {
  const ElementRange mine = own_slice(bucket);
  const std::span<const std::byte> bytes = rounding_
                                               ? std::as_bytes(rounding_->weights_out.range(mine))
                                               : std::as_bytes(setup_.weights->range(mine));
  for (const int delegate : routes_.delegates) {
    const PartScope part = carrying();
    weights_out_.push_back(
        {transport_.start_send(delegate, tag(MessageKind::kWeights, bucket, 0), bytes), delegate});
  }
}

void InterHostMessages::expect_weights(std::size_t bucket) {
  for (const int owner : routes_.served) {
    const ElementRange theirs = setup_.plan->slice(bucket, owner);
    if (!theirs.empty()) {
      const PartScope part = carrying();
      buckets_[bucket].weights_in.push_back(
          {transport_.start_receive(
               owner, tag(MessageKind::kWeights, bucket, 0),
               rounding_ ? std::as_writable_bytes(rounding_->weights_in.range(theirs))
                         : std::as_writable_bytes(setup_.weights->range(theirs))),
           owner});
    }
  }
  buckets_[bucket].weights_added = !rounding_;
}

bool InterHostMessages::weights_are_here(std::size_t bucket) {
  if (!poll_pending(transport_, buckets_[bucket].weights_in)) {
    return false;
  }
  if (!buckets_[bucket].weights_added) {
    for (const int owner : routes_.served) {
      const ElementRange theirs = setup_.plan->slice(bucket, owner);
      add_decoded(setup_.wire, rounding_->weights_in.range(theirs), setup_.weights->range(theirs));
    }
    buckets_[bucket].weights_added = true;
  }
  return true;
}

bool InterHostMessages::poll_sends() {
  const std::size_t before = sums_out_.size() + weights_out_.size();
  (void)poll_pending(transport_, sums_out_);
  (void)poll_pending(transport_, weights_out_);
  return sums_out_.size() + weights_out_.size() != before;
}

int InterHostMessages::send_under_way() const {
  const std::vector<PendingRequest>& sends = sums_out_.empty() ? weights_out_ : sums_out_;
  return sends.empty() ? -1 : sends.front().peer;
}

}  // namespace gangway::comm
