// SPDX-License-Identifier: MIT
#include "comm/host/tree_collective.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/errors.hpp"

namespace gangway::comm {
namespace {

std::vector<int> all_of(const Transport& transport) {
  std::vector<int> peers(static_cast<std::size_t>(transport.num_workers()));
  std::iota(peers.begin(), peers.end(), 0);
  return peers;
}

}  // namespace

TreeCollective::TreeCollective(Transport& transport, std::vector<int> peers)
    : transport_(transport), peers_(std::move(peers)) {
  const auto own = std::ranges::find(peers_, transport.worker());
  if (own == peers_.end()) {
    throw InvariantError("a worker talks in a group that it is not in; please report this");
  }
  place_ = static_cast<std::size_t>(own - peers_.begin());
  pending_.reserve(static_cast<std::size_t>(std::bit_width(peers_.size())) + 1);
}

TreeCollective::TreeCollective(Transport& transport)
    : TreeCollective(transport, all_of(transport)) {}

std::size_t TreeCollective::end_below(std::size_t place) const {
  return place == 0 ? peers_.size() : std::min(peers_.size(), place + (place & (~place + 1)));
}

template <typename Visit>
void TreeCollective::for_children(const Visit& visit) const {
  const std::size_t end = end_below(place_);
  for (std::size_t step = 1; place_ + step < end; step *= 2) {
    visit(place_ + step);
  }
}

void TreeCollective::send(std::size_t place, std::span<const std::byte> bytes) {
  if (!bytes.empty()) {
    pending_.push_back({transport_.start_send(peers_[place], tag_, bytes), peers_[place]});
  }
}

void TreeCollective::receive(std::size_t place, std::span<std::byte> bytes) {
  if (!bytes.empty()) {
    pending_.push_back({transport_.start_receive(peers_[place], tag_, bytes), peers_[place]});
  }
}

void TreeCollective::gather(MessageTag tag, std::span<std::byte> all,
                            std::span<const std::size_t> begins) {
  tag_ = tag;
  const auto below = [&](std::size_t place) {
    return all.subspan(begins[place], begins[end_below(place)] - begins[place]);
  };
  for_children([&](std::size_t child) { receive(child, below(child)); });
  if (!is_root()) {
    to_parent_ = below(place_);
  }
}

void TreeCollective::broadcast(MessageTag tag, std::span<std::byte> what) {
  tag_ = tag;
  to_children_ = what;
  if (!is_root()) {
    receive(parent(), what);
  }
}

bool TreeCollective::advance() {
  if (!poll_all(transport_, pending_)) {
    return false;
  }
  send(parent(), std::exchange(to_parent_, {}));
  const std::span<const std::byte> word = std::exchange(to_children_, {});
  for_children([&](std::size_t child) { send(child, word); });
  return poll_all(transport_, pending_);
}

void TreeCollective::finish(const Deadline& deadline, std::string_view what) {
  do {
    wait_all(transport_, pending_, deadline, what);
  } while (!advance());
}

}  // namespace gangway::comm
