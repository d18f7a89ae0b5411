// SPDX-License-Identifier: MIT
#include "comm/reduce/replica_check.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

// One megabyte: small enough to split one large tensor among the workers of a host.
constexpr std::size_t kMostElements = 64 * kBlockElements;

/// Returns the workers of each memory; both ascending.
std::vector<std::vector<int>> replicas_of(const std::vector<int>& hosts) {
  std::map<int, std::vector<int>> by_host;
  for (std::size_t worker = 0; worker < hosts.size(); ++worker) {
    by_host[hosts[worker]].push_back(static_cast<int>(worker));
  }
  std::vector<std::vector<int>> replicas;
  for (auto& [host, workers] : by_host) {
    replicas.push_back(std::move(workers));
  }
  return replicas;
}

}  // namespace

ReplicaCheck::ReplicaCheck(Transport& transport, ReplicaCheckSetup setup)
    : transport_(transport),
      setup_(std::move(setup)),
      replicas_(replicas_of(setup_.hosts)),
      tree_(transport) {
  if (setup_.hosts.size() != static_cast<std::size_t>(transport.num_workers())) {
    throw InvariantError(fmt::format("network {}: hosts of {} workers among {}; please report this",
                                     setup_.network, setup_.hosts.size(), transport.num_workers()));
  }
  make_pieces();
  make_shares();
}

void ReplicaCheck::make_pieces() {
  for (const auto* entries : {&setup_.layout->parameters(), &setup_.layout->statistics()}) {
    for (const ArenaEntry& entry : *entries) {
      const std::size_t end = entry.offset + entry.elements;
      const ElementRange whole{entry.offset, end};
      const bool is_compared =
          setup_.parts.empty() || std::ranges::any_of(setup_.parts, [&](ElementRange part) {
            return intersect(part, whole) == whole;
          });
      for (std::size_t begin = entry.offset; is_compared && begin < end; begin += kMostElements) {
        pieces_.push_back({names_.size(), {begin, std::min(end, begin + kMostElements)}});
      }
      names_.push_back(entry.name);
    }
  }
}

void ReplicaCheck::make_shares() {
  shares_.resize(setup_.hosts.size());
  for (const std::vector<int>& workers : replicas_) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::size_t position = pieces_[i].range.begin * workers.size() / setup_.layout->size();
      shares_[static_cast<std::size_t>(workers[position])].pieces.push_back(i);
    }
  }
  std::size_t begin = 0;
  for (Share& share : shares_) {
    share.begin = begin;
    begins_.push_back(begin * sizeof(hashes_[0]));
    begin += share.size();
  }
  begins_.push_back(begin * sizeof(hashes_[0]));
  hashes_.resize(begin);
  for (const std::vector<int>& workers : replicas_) {
    std::vector<std::size_t>& where = where_.emplace_back(pieces_.size());
    for (const int worker : workers) {
      const Share& share = shares_[static_cast<std::size_t>(worker)];
      for (std::size_t i = 0; i < share.pieces.size(); ++i) {
        where[share.pieces[i]] = share.begin + 1 + i;
      }
    }
  }
}

std::span<std::uint64_t> ReplicaCheck::hashes_of(int worker) {
  const Share& share = shares_[static_cast<std::size_t>(worker)];
  return std::span(hashes_).subspan(share.begin, share.size());
}

void ReplicaCheck::begin(std::int64_t step) {
  if (needs() != Need::kNothing) {
    throw InvariantError(fmt::format(
        "network {}: a comparison of weights began before the last one was over; please report "
        "this",
        setup_.network));
  }
  const std::span<std::uint64_t> own = hashes_of(transport_.worker());
  own.front() = static_cast<std::uint64_t>(step);
  const Share& share = shares_[static_cast<std::size_t>(transport_.worker())];
  for (std::size_t i = 0; i < share.pieces.size(); ++i) {
    const std::span<const float> values = setup_.weights->range(pieces_[share.pieces[i]].range);
    own[1 + i] = XXH3_64bits(values.data(), values.size_bytes());
  }
  step_ = step;
  need_.store(Need::kMessages, std::memory_order_release);
}

bool ReplicaCheck::advance() {
  if (needs() == Need::kNothing) {
    return false;
  }
  const MessageTag tag{transport_.epoch(), setup_.network, MessageKind::kCheck, 0, 0};
  const std::span<std::byte> all = std::as_writable_bytes(std::span(hashes_));
  if (check_state_ == CheckState::kNotBegun) {
    deadline_ = Deadline(setup_.timeout);
    tree_.gather(tag, all, begins_);
    check_state_ = CheckState::kGathers;
    return true;
  }
  if (!tree_.advance()) {
    require_time();
    return false;
  }
  if (check_state_ == CheckState::kGathers) {
    tree_.broadcast(tag, all);
    check_state_ = CheckState::kBroadcasts;
    return true;
  }
  check_state_ = CheckState::kNotBegun;
  compare();
  need_.store(Need::kNothing, std::memory_order_release);
  return true;
}

void ReplicaCheck::require_time() const {
  if (deadline_.expired()) {
    const WorkerIndex silent = transport_.number_of(tree_.pending().front().peer);
    throw PeerError(
        silent, silence_text(transport_.own_number(), deadline_.allowed_seconds(), silent,
                             fmt::format("hashes of the weights of network {}", setup_.network)));
  }
}

void ReplicaCheck::compare() const {
  for (std::size_t worker = 0; worker < shares_.size(); ++worker) {
    if (const auto step = static_cast<std::int64_t>(hashes_[shares_[worker].begin]);
        step != step_) {
      throw InvariantError(fmt::format(
          "rank {} compares weights after step {}, rank {} after step {}; please report this",
          rank_of(transport_.own_number()), step_,
          rank_of(transport_.number_of(static_cast<int>(worker))), step));
    }
  }
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    const std::uint64_t first = hashes_[where_.front()[piece]];
    if (std::ranges::any_of(where_, [&](const std::vector<std::size_t>& where) {
          return hashes_[where[piece]] != first;
        })) {
      throw InvariantError(difference(piece));
    }
  }
}

std::string ReplicaCheck::describe(std::size_t replica) const {
  std::vector<Rank> ranks;
  for (const int worker : replicas_[replica]) {
    ranks.push_back(rank_of(transport_.number_of(worker)));
  }
  return ranks.size() == 1 ? fmt::format("rank {}", ranks.front())
                           : fmt::format("ranks {} (one memory)", fmt::join(ranks, ", "));
}

std::string ReplicaCheck::difference(std::size_t piece) const {
  std::map<std::uint64_t, std::vector<std::size_t>> holders;  // replicas by hash
  for (std::size_t replica = 0; replica < replicas_.size(); ++replica) {
    holders[hashes_[where_[replica][piece]]].push_back(replica);
  }
  const auto most = std::ranges::max_element(
      holders, {}, [](const auto& holder) { return holder.second.size(); });
  const bool is_majority = 2 * most->second.size() > replicas_.size();
  std::vector<std::string> named;
  for (std::size_t replica = 0; replica < replicas_.size(); ++replica) {
    if (!is_majority || hashes_[where_[replica][piece]] != most->first) {
      named.push_back(describe(replica));
    }
  }
  const std::string& tensor = names_[pieces_[piece].tensor];
  return fmt::format(
      "after step {}: '{}' has {}: bad memory, or a bug in Gangway (if it happens again on other "
      "machines, please report it); resume from the last checkpoint",
      step_, tensor,
      is_majority
          ? fmt::format("other bits on {} than on the other replicas", fmt::join(named, " and "))
          : fmt::format("different bits on {}, and no majority says which are right",
                        fmt::join(named, " and ")));
}

}  // namespace gangway::comm
