// SPDX-License-Identifier: MIT
#include "comm/host/host_group.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/host/host_control.hpp"
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

struct HostGroup::State {
  /// What this process sees of a member.
  struct Member {
    MappedMemory control_memory;
    Control* control = nullptr;  // read-only unless it is the own or the first member's
    std::vector<MappedMemory> own_memory;
    std::vector<const float*> own;
    std::vector<std::size_t> own_sizes;
  };

  Setup setup;
  std::size_t position = 0;
  std::vector<Member> members;
  std::vector<SharedSegment> names;  // of what this worker has made, until all have mapped it
  std::uint64_t num_shared = 0;
  std::atomic<std::uint32_t>* bell = nullptr;  // the own one until all are connected
  std::atomic<std::uint32_t>* waiters = nullptr;

  explicit State(Setup given);

  [[nodiscard]] bool is_alone() const { return members.size() == 1; }
  [[nodiscard]] Member& self() { return members[position]; }
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

HostGroup::State::State(Setup given) : setup(std::move(given)), members(setup.members.size()) {
  const auto found = std::ranges::find(setup.members, setup.worker);
  const auto unordered = std::ranges::adjacent_find(setup.members, std::greater_equal<>());
  if (found == setup.members.end() || unordered != setup.members.end()) {
    throw InvariantError(fmt::format(
        "worker {} is not among the workers of its host, or these do not ascend", setup.worker));
  }
  if (!is_alone() &&
      (setup.token.empty() || !std::ranges::all_of(setup.token, is_letter_or_digit))) {
    throw InvariantError(
        fmt::format("'{}' cannot name shared memory: letters and digits only", setup.token));
  }
  position = static_cast<std::size_t>(found - setup.members.begin());
  start_control();
}

void HostGroup::State::start_control() {
  const std::size_t bytes = control_bytes(setup.num_flags);
  // The mapping outlives the claim on the name; a lone worker needs neither file nor name.
  self().control_memory = is_alone() ? map_private(bytes) : make("control", bytes);
  Control* control = static_cast<Control*>(self().control_memory.get().data);
  control->magic = kMagic;
  control->epoch = setup.epoch;
  control->worker = setup.worker;
  self().control = control;
  bell = &control->bell;
  waiters = &control->waiters;
}

MappedMemory HostGroup::State::make(std::string_view what, std::size_t bytes) {
  return names.emplace_back(path(setup.worker, what), bytes).map();
}

/// A member that waits under another epoch explains its silence better than the time that passed.
std::optional<std::int64_t> HostGroup::State::other_epoch_of(int worker) const {
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

void HostGroup::State::fail_silent(int worker, const Deadline& deadline) const {
  const std::optional<std::int64_t> epoch = other_epoch_of(worker);
  if (epoch && *epoch != setup.epoch) {
    throw CommError(fmt::format(
        "worker {} on this host shares memory in epoch {}, worker {} in epoch {}: one of them was "
        "given up; start the run again from its last checkpoint",
        worker, *epoch, setup.worker, setup.epoch));
  }
  throw PeerError(worker,
                  fmt::format("worker {}: worker {} on this host shared no memory within {:.1f} s "
                              "(epoch {}): it died or "
                              "stopped; its log file says more",
                              setup.worker, worker, deadline.allowed_seconds(), setup.epoch));
}

MappedMemory HostGroup::State::await_name(int worker, std::string_view what, SegmentAccess access,
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

void HostGroup::State::fail_layout(int worker) const {
  throw CommError(
      fmt::format("worker {} on this host lays out shared memory unlike worker {}: do all run the "
                  "same build of "
                  "gangway and the same job?",
                  worker, setup.worker));
}

void HostGroup::State::report(Progress progress) {
  self().control->progress.store(progress, std::memory_order_release);
}

void HostGroup::State::await_progress(Progress progress, const Deadline& deadline) const {
  for (std::size_t m = 0; m < members.size(); ++m) {
    while (members[m].control->progress.load(std::memory_order_acquire) < progress) {
      if (deadline.expired()) {
        fail_silent(setup.members[m], deadline);
      }
      rest(kPollPeriod);
    }
  }
}

void HostGroup::State::open_controls(const Deadline& deadline) {
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (m == position) {
      continue;
    }
    const SegmentAccess access = m == 0 ? SegmentAccess::kReadWrite : SegmentAccess::kRead;
    members[m].control_memory = await_name(setup.members[m], "control", access, deadline);
    const MappedRange range = members[m].control_memory.get();
    if (range.bytes != control_bytes(setup.num_flags)) {
      fail_layout(setup.members[m]);
    }
    members[m].control = static_cast<Control*>(range.data);
  }
}

void HostGroup::State::compare_controls() const {
  const Control& first = *members.front().control;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Control& other = *members[m].control;
    if (other.magic != kMagic || other.worker != setup.members[m] || other.epoch != setup.epoch) {
      fail_layout(setup.members[m]);
    }
    if (other.fingerprint != first.fingerprint || other.num_own != first.num_own ||
        other.num_shared != first.num_shared) {
      throw CommError(fmt::format(
          "worker {} on this host has plan {:016x} with {} segments, worker {} has plan {:016x} "
          "with {}: were the workers built from one job?",
          other.worker, other.fingerprint, other.num_own + other.num_shared, first.worker,
          first.fingerprint, first.num_own + first.num_shared));
    }
  }
}

void HostGroup::State::map_own_memory_of(std::size_t m) {
  Member& member = members[m];
  const int worker = setup.members[m];
  for (std::size_t i = 0; i < member.control->num_own; ++i) {
    const std::size_t size = member.control->own_sizes[i];
    MappedMemory mapping;
    if (size > 0) {
      mapping = map_segment(path(worker, fmt::format("own{}", i)), SegmentAccess::kRead);
      if (mapping.get().bytes != size * sizeof(float)) {
        throw PeerError(worker, fmt::format("worker {}: memory {} of worker {} on this host is "
                                            "gone: it died or gave up; its log "
                                            "file says more",
                                            setup.worker, i, worker));
      }
    }
    member.own.push_back(static_cast<const float*>(mapping.get().data));
    member.own_sizes.push_back(size);
    member.own_memory.push_back(std::move(mapping));
  }
}

HostGroup::HostGroup(Setup setup) : state_(std::make_unique<State>(std::move(setup))) {}
HostGroup::HostGroup(HostGroup&&) noexcept = default;
HostGroup::~HostGroup() = default;

HostGroup HostGroup::alone(int worker, std::size_t num_flags) {
  return HostGroup({.members = {worker}, .worker = worker, .num_flags = num_flags});
}

const std::vector<int>& HostGroup::members() const { return state_->setup.members; }
std::size_t HostGroup::position() const { return state_->position; }

Arena HostGroup::allocate_own(std::size_t elements) {
  State::Member& self = state_->self();
  const std::size_t index = self.own.size();
  if (index == kMostAllocations) {
    throw InvariantError(fmt::format("a worker shares at most {} segments", kMostAllocations));
  }
  Arena arena = elements == 0 || state_->is_alone()
                    ? Arena(elements)
                    : adopted(state_->make(fmt::format("own{}", index), elements * sizeof(float)));
  self.own.push_back(arena.data());
  self.own_sizes.push_back(elements);
  self.control->own_sizes[index] = elements;
  return arena;
}

Arena HostGroup::allocate_shared(std::size_t elements, const Deadline& deadline) {
  const std::string name = fmt::format("shared{}", state_->num_shared++);
  if (elements == 0 || state_->is_alone()) {
    return Arena(elements);
  }
  const std::size_t bytes = elements * sizeof(float);
  if (state_->position == 0) {
    return adopted(state_->make(name, bytes));
  }
  const int first = members().front();
  MappedMemory memory = state_->await_name(first, name, SegmentAccess::kReadWrite, deadline);
  if (memory.get().bytes != bytes) {
    throw CommError(fmt::format(
        "worker {} shares {} bytes on this host where worker {} expects {}: were the workers built "
        "from one job?",
        first, memory.get().bytes, state_->setup.worker, bytes));
  }
  return adopted(std::move(memory));
}

void HostGroup::connect(std::uint64_t fingerprint, const Deadline& deadline) {
  State& state = *state_;
  Control& control = *state.self().control;
  control.fingerprint = fingerprint;
  control.num_own = state.self().own.size();
  control.num_shared = state.num_shared;
  if (state.is_alone()) {
    return;
  }
  state.report(kAllocated);
  state.open_controls(deadline);
  state.await_progress(kAllocated, deadline);
  state.report(kSeenAll);  // whoever finds a difference now leaves nobody behind who cannot see it
  state.await_progress(kSeenAll, deadline);
  state.compare_controls();
  for (std::size_t m = 0; m < state.members.size(); ++m) {
    if (m != state.position) {
      state.map_own_memory_of(m);
    }
  }
  state.report(kMappedAll);
  state.await_progress(kMappedAll, deadline);
  state.names.clear();
  state.bell = &state.members.front().control->bell;
  state.waiters = &state.members.front().control->waiters;
}

std::size_t HostGroup::num_own() const { return state_->self().own.size(); }

const float* HostGroup::own_memory(std::size_t member, std::size_t index) const {
  return state_->members.at(member).own.at(index);
}

std::size_t HostGroup::own_size(std::size_t member, std::size_t index) const {
  return state_->members.at(member).own_sizes.at(index);
}

void HostGroup::publish(std::size_t flag, std::uint64_t value) {
  state_->self().control->flags()[flag].value.store(value, std::memory_order_release);
  ring();
}

void HostGroup::ring() const {
  state_->bell->fetch_add(1, std::memory_order_seq_cst);
  // Whoever counts itself in after this sees the new bell and does not sleep.
  if (state_->waiters->load(std::memory_order_seq_cst) > 0) {
    futex_wake_all(*state_->bell);
  }
}

std::uint64_t HostGroup::published(std::size_t member, std::size_t flag) const {
  return state_->members[member].control->flags()[flag].value.load(std::memory_order_acquire);
}

bool HostGroup::all_published(std::size_t flag, std::uint64_t value) const {
  return first_below(flag, value) < 0;
}

int HostGroup::first_below(std::size_t flag, std::uint64_t value) const {
  for (std::size_t m = 0; m < state_->members.size(); ++m) {
    if (published(m, flag) < value) {
      return state_->setup.members[m];
    }
  }
  return -1;
}

std::uint32_t HostGroup::bell() const { return state_->bell->load(std::memory_order_seq_cst); }

void HostGroup::wait_for_bell(std::uint32_t seen, std::chrono::microseconds limit) const {
  state_->waiters->fetch_add(1, std::memory_order_seq_cst);
  if (bell() == seen) {
    futex_wait(*state_->bell, seen, limit);
  }
  state_->waiters->fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace gangway::comm
