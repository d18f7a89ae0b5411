// SPDX-License-Identifier: MIT
#include "comm/host/host_group.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "comm/host/host_view.hpp"

namespace gangway::comm {

HostGroup::HostGroup(HostView view)
    : view_(std::make_shared<HostView>(std::move(view))),
      names_(view_->workers),
      places_(names_.size()),
      position_(view_->position) {
  std::iota(places_.begin(), places_.end(), std::size_t{0});
}

HostGroup HostGroup::among(const std::vector<int>& workers) const {
  HostGroup group(view_);
  for (std::size_t name = 0; name < workers.size(); ++name) {
    const auto found = std::ranges::find(names_, workers[name]);
    if (found == names_.end()) {
      continue;  // on another host
    }
    const std::size_t place = places_[static_cast<std::size_t>(found - names_.begin())];
    if (place == view_->position) {
      group.position_ = group.names_.size();
    }
    group.names_.push_back(static_cast<int>(name));
    group.places_.push_back(place);
  }
  return group;
}

const float* HostGroup::own_memory(std::size_t member, std::size_t index) const {
  return view_->members.at(places_.at(member)).own.at(index);
}

void HostGroup::publish(std::size_t flag, std::uint64_t value) {
  view_->members[view_->position].control->flags()[flag].value.store(value,
                                                                     std::memory_order_release);
  ring();
}

void HostGroup::ring() const {
  view_->bell->fetch_add(1, std::memory_order_seq_cst);
  // A waiter counted after this load sees the new bell and does not sleep.
  if (view_->waiters->load(std::memory_order_seq_cst) > 0) {
    futex_wake_all(*view_->bell);
  }
}

std::uint64_t HostGroup::published(std::size_t member, std::size_t flag) const {
  return view_->members[places_[member]].control->flags()[flag].value.load(
      std::memory_order_acquire);
}

bool HostGroup::all_published(std::size_t flag, std::uint64_t value) const {
  return first_below(flag, value) < 0;
}

int HostGroup::first_below(std::size_t flag, std::uint64_t value) const {
  for (std::size_t m = 0; m < names_.size(); ++m) {
    if (published(m, flag) < value) {
      return names_[m];
    }
  }
  return -1;
}

std::uint32_t HostGroup::bell() const { return view_->bell->load(std::memory_order_seq_cst); }

void HostGroup::wait_for_bell(std::uint32_t seen, std::chrono::microseconds limit) const {
  view_->waiters->fetch_add(1, std::memory_order_seq_cst);
  if (bell() == seen) {
    futex_wait(*view_->bell, seen, limit);
  }
  view_->waiters->fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace gangway::comm
