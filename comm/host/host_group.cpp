// SPDX-License-Identifier: MIT
#include "comm/host/host_group.hpp"

#include <utility>

#include "comm/host/host_view.hpp"

namespace gangway::comm {

HostGroup::HostGroup(HostView view) : view_(std::make_unique<HostView>(std::move(view))) {}
HostGroup::HostGroup(HostGroup&&) noexcept = default;
HostGroup::~HostGroup() = default;

const std::vector<int>& HostGroup::members() const { return view_->workers; }
std::size_t HostGroup::position() const { return view_->position; }

const float* HostGroup::own_memory(std::size_t member, std::size_t index) const {
  return view_->members.at(member).own.at(index);
}

void HostGroup::publish(std::size_t flag, std::uint64_t value) {
  view_->members[view_->position].control->flags()[flag].value.store(value,
                                                                     std::memory_order_release);
  ring();
}

void HostGroup::ring() const {
  view_->bell->fetch_add(1, std::memory_order_seq_cst);
  // Whoever counts itself in after this sees the new bell and does not sleep.
  if (view_->waiters->load(std::memory_order_seq_cst) > 0) {
    futex_wake_all(*view_->bell);
  }
}

std::uint64_t HostGroup::published(std::size_t member, std::size_t flag) const {
  return view_->members[member].control->flags()[flag].value.load(std::memory_order_acquire);
}

bool HostGroup::all_published(std::size_t flag, std::uint64_t value) const {
  return first_below(flag, value) < 0;
}

int HostGroup::first_below(std::size_t flag, std::uint64_t value) const {
  for (std::size_t m = 0; m < view_->members.size(); ++m) {
    if (published(m, flag) < value) {
      return view_->workers[m];
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
