// SPDX-License-Identifier: MIT
#include "comm/host/host_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/host/host_view.hpp"
#include "comm/transport/peer_error.hpp"

namespace gangway::comm {
namespace {

constexpr auto kPollPeriod = std::chrono::microseconds(200);  // while a name is awaited

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void rest(std::chrono::microseconds duration) {
  const timespec period{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(duration).count()};
  (void)::nanosleep(&period, nullptr);
}

Arena adopted(MappedMemory memory) {
  const MappedRange range = memory.release();
  return Arena::adopt(range.data, range.bytes / sizeof(float));
}

}  // namespace

struct HostMemory::State {
  HostMemorySetup setup;
  HostView view;
  std::vector<SharedSegment> names;  // own segments' names, until all members have mapped them
  std::uint64_t num_shared = 0;

  explicit State(HostMemorySetup given);

  [[nodiscard]] bool has_one_member() const { return view.members.size() == 1; }
  [[nodiscard]] HostView::Member& self() { return view.members[view.position]; }
  [[nodiscard]] std::filesystem::path path(int worker, std::string_view what) const {
    return setup.directory /
           fmt::format("{}{}-{}-w{}-{}", kSegmentPrefix, setup.token, setup.epoch, worker, what);
  }

  void start_control();
  [[nodiscard]] MappedMemory make(std::string_view what, std::size_t bytes);
  [[nodiscard]] MappedMemory await_name(int worker, std::string_view what, SegmentAccess access,
                                        const Deadline& deadline) const;
  [[nodiscard]] std::optional<std::int64_t> other_epoch_of(int worker) const;
  [[noreturn]] void fail_silent(int worker, const Deadline& deadline) const;
  [[noreturn]] void fail_layout(int worker) const;
  void report(Progress progress);
  void await_progress(Progress progress, const Deadline& deadline) const;
  void open_controls(const Deadline& deadline);
  void compare_controls() const;
  void map_own_memory_of(std::size_t member);
};

HostMemory::State::State(HostMemorySetup given) : setup(std::move(given)) {
  const auto found = std::ranges::find(setup.members, setup.worker);
  const auto unordered = std::ranges::adjacent_find(setup.members, std::greater_equal<>());
  if (found == setup.members.end() || unordered != setup.members.end()) {
    throw InvariantError(fmt::format(
        "rank {} is not among its host's ranks, or these do not ascend", rank_of(setup.worker)));
  }
  if (setup.members.size() > 1 &&
      (setup.token.empty() || !std::ranges::all_of(setup.token, is_letter_or_digit))) {
    throw InvariantError(
        fmt::format("'{}' cannot name shared memory: letters and digits only", setup.token));
  }
  view.position = static_cast<std::size_t>(found - setup.members.begin());
  view.workers = setup.members;
  view.members.resize(setup.members.size());
  start_control();
}

void HostMemory::State::start_control() {
  const std::size_t bytes = control_bytes(setup.num_flags);
  // The mapping outlives the name. A lone worker needs neither file nor name.
  self().control_memory = has_one_member() ? map_private(bytes) : make("control", bytes);
  Control* control = static_cast<Control*>(self().control_memory.get().data);
  control->magic = kMagic;
  control->epoch = setup.epoch;
  control->worker = setup.worker;
  self().control = control;
}

MappedMemory HostMemory::State::make(std::string_view what, std::size_t bytes) {
  return names.emplace_back(path(setup.worker, what), bytes).map();
}

/// Finds a member that waits under another epoch, because that explains its silence.
std::optional<std::int64_t> HostMemory::State::other_epoch_of(int worker) const {
  const std::string start = fmt::format("{}{}-", kSegmentPrefix, setup.token);
  const std::string end = fmt::format("-w{}-control", worker);
  std::error_code failure;
  for (auto entry = std::filesystem::directory_iterator(setup.directory, failure);
       !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(start) && name.ends_with(end) && is_segment_in_use(entry->path())) {
      return std::atoll(name.c_str() + start.size());
    }
  }
  return std::nullopt;
}

void HostMemory::State::fail_silent(int worker, const Deadline& deadline) const {
  const std::optional<std::int64_t> epoch = other_epoch_of(worker);
  if (epoch && *epoch != setup.epoch) {
    throw CommError(fmt::format(
        "rank {} on this host shares memory in epoch {}, rank {} in epoch {}: one of them was "
        "given up; start the run again from its last checkpoint",
        rank_of(WorkerIndex(worker)), *epoch, rank_of(WorkerIndex(setup.worker)), setup.epoch));
  }
  throw PeerError(
      WorkerIndex(worker),
      fmt::format(
          "rank {}: rank {} on this host shared no memory within {:.1f} s (epoch {}): it died or "
          "stopped; its log file says more",
          rank_of(WorkerIndex(setup.worker)), rank_of(WorkerIndex(worker)),
          deadline.allowed_seconds(), setup.epoch));
}

MappedMemory HostMemory::State::await_name(int worker, std::string_view what, SegmentAccess access,
                                           const Deadline& deadline) const {
  const std::filesystem::path name = path(worker, what);
  while (true) {
    MappedMemory mapping = map_segment(name, access);
    if (mapping) {
      return mapping;
    }
    if (deadline.expired()) {
      fail_silent(worker, deadline);
    }
    rest(kPollPeriod);
  }
}

void HostMemory::State::fail_layout(int worker) const {
  throw CommError(
      fmt::format("rank {} on this host lays out shared memory unlike rank {}: do all run the "
                  "same build of gangway and the same job?",
                  rank_of(WorkerIndex(worker)), rank_of(WorkerIndex(setup.worker))));
}

void HostMemory::State::report(Progress progress) {
  self().control->progress.store(progress, std::memory_order_release);
}

void HostMemory::State::await_progress(Progress progress, const Deadline& deadline) const {
  for (std::size_t m = 0; m < view.members.size(); ++m) {
    while (view.members[m].control->progress.load(std::memory_order_acquire) < progress) {
      if (deadline.expired()) {
        fail_silent(view.workers[m], deadline);
      }
      rest(kPollPeriod);
    }
  }
}

void HostMemory::State::open_controls(const Deadline& deadline) {
  for (std::size_t m = 0; m < view.members.size(); ++m) {
    if (m == view.position) {
      continue;
    }
    HostView::Member& member = view.members[m];
    const SegmentAccess access = m == 0 ? SegmentAccess::kReadWrite : SegmentAccess::kRead;
    member.control_memory = await_name(view.workers[m], "control", access, deadline);
    const MappedRange range = member.control_memory.get();
    if (range.bytes != control_bytes(setup.num_flags)) {
      fail_layout(view.workers[m]);
    }
    member.control = static_cast<Control*>(range.data);
  }
}

void HostMemory::State::compare_controls() const {
  const Control& first = *view.members.front().control;
  for (std::size_t m = 0; m < view.members.size(); ++m) {
    const Control& other = *view.members[m].control;
    if (other.magic != kMagic || other.worker != view.workers[m] || other.epoch != setup.epoch) {
      fail_layout(view.workers[m]);
    }
    if (other.fingerprint != first.fingerprint || other.num_own != first.num_own ||
        other.num_shared != first.num_shared) {
      throw CommError(fmt::format(
          "rank {} on this host has plan {:016x} with {} segments, rank {} has plan {:016x} "
          "with {}: were the workers built from one job?",
          rank_of(WorkerIndex(other.worker)), other.fingerprint, other.num_own + other.num_shared,
          rank_of(WorkerIndex(first.worker)), first.fingerprint, first.num_own + first.num_shared));
    }
  }
}

void HostMemory::State::map_own_memory_of(std::size_t m) {
  HostView::Member& member = view.members[m];
  const int worker = view.workers[m];
  for (std::size_t i = 0; i < member.control->num_own; ++i) {
    const std::size_t size = member.control->own_sizes[i];
    MappedMemory mapping;
    if (size > 0) {
      mapping = map_segment(path(worker, fmt::format("own{}", i)), SegmentAccess::kRead);
      if (mapping.get().bytes != size * sizeof(float)) {
        throw PeerError(
            WorkerIndex(worker),
            fmt::format("rank {}: memory {} of rank {} on this host is "
                        "gone: it died or gave up; its log file says more",
                        rank_of(WorkerIndex(setup.worker)), i, rank_of(WorkerIndex(worker))));
      }
    }
    member.own.push_back(static_cast<const float*>(mapping.get().data));
    member.own_memory.push_back(std::move(mapping));
  }
}

HostMemory::HostMemory(HostMemorySetup setup) : state_(std::make_unique<State>(std::move(setup))) {}
HostMemory::HostMemory(HostMemory&&) noexcept = default;
HostMemory::~HostMemory() = default;

HostMemory HostMemory::alone(int worker, std::size_t num_flags) {
  return HostMemory({.members = {worker}, .worker = worker, .num_flags = num_flags});
}

std::size_t HostMemory::num_own() const { return state_->self().own.size(); }

Arena HostMemory::allocate_own(std::size_t elements) {
  HostView::Member& self = state_->self();
  const std::size_t index = self.own.size();
  if (index == kMostAllocations) {
    throw InvariantError(fmt::format("a worker shares at most {} segments", kMostAllocations));
  }
  Arena arena = elements == 0 || state_->has_one_member()
                    ? Arena(elements)
                    : adopted(state_->make(fmt::format("own{}", index), elements * sizeof(float)));
  self.own.push_back(arena.data());
  self.control->own_sizes[index] = elements;
  return arena;
}

Arena HostMemory::allocate_shared(std::size_t elements, const Deadline& deadline) {
  const std::string name = fmt::format("shared{}", state_->num_shared++);
  if (elements == 0 || state_->has_one_member()) {
    return Arena(elements);
  }
  const std::size_t bytes = elements * sizeof(float);
  if (state_->view.position == 0) {
    return adopted(state_->make(name, bytes));
  }
  const int first = state_->setup.members.front();
  MappedMemory memory = state_->await_name(first, name, SegmentAccess::kReadWrite, deadline);
  if (memory.get().bytes != bytes) {
    throw CommError(fmt::format(
        "rank {} shares {} bytes on this host where rank {} expects {}: were the workers built "
        "from one job?",
        rank_of(WorkerIndex(first)), memory.get().bytes, rank_of(WorkerIndex(state_->setup.worker)),
        bytes));
  }
  return adopted(std::move(memory));
}

HostGroup HostMemory::connect(std::uint64_t fingerprint, const Deadline& deadline) && {
  const std::unique_ptr<State> state = std::move(state_);
  HostView& view = state->view;
  Control& control = *state->self().control;
  control.fingerprint = fingerprint;
  control.num_own = state->self().own.size();
  control.num_shared = state->num_shared;
  if (!state->has_one_member()) {
    state->report(kAllocated);
    state->open_controls(deadline);
    state->await_progress(kAllocated, deadline);
    state->report(kSeenAll);  // before any comparison throws, so that every member sees it
    state->await_progress(kSeenAll, deadline);
    state->compare_controls();
    for (std::size_t m = 0; m < view.members.size(); ++m) {
      if (m != view.position) {
        state->map_own_memory_of(m);
      }
    }
    state->report(kMappedAll);
    state->await_progress(kMappedAll, deadline);
  }
  view.bell = &view.members.front().control->bell;
  view.waiters = &view.members.front().control->waiters;
  return HostGroup(std::move(view));
}

}  // namespace gangway::comm
