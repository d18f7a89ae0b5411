// SPDX-License-Identifier: MIT
#include "comm/host_group.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include "job/errors.hpp"

namespace gangway::comm {
namespace {

constexpr std::uint64_t kMagic = 0x3153594157474e47;  // "GNGWAYS1": the layout below
constexpr std::size_t kMostAllocations = 64;          // own ones of a member
constexpr std::size_t kCacheLine = 64;
constexpr auto kPollPeriod = std::chrono::microseconds(200);  // while a name is awaited

/// How far a member has come. Only grows.
enum Progress : std::uint32_t { kMade = 0, kAllocated = 1, kSeenAll = 2, kMappedAll = 3 };

struct alignas(kCacheLine) Flag {
  std::atomic<std::uint64_t> value;
};
/// At the start of a member's control segment; as many flags follow as all have agreed on. Read by
/// the others; the bell of the first member is written by all.
struct alignas(kCacheLine) Control {
  std::uint64_t magic;
  std::int64_t epoch;
  std::int64_t process;
  std::int32_t worker;
  std::uint64_t num_flags;
  std::uint64_t fingerprint;  // this and the following: from kAllocated on
  std::uint64_t num_own;
  std::uint64_t num_shared;
  std::array<std::uint64_t, kMostAllocations> own_sizes;  // floats
  std::atomic<std::uint32_t> progress;
  alignas(kCacheLine) std::atomic<std::uint32_t> bell;
  alignas(kCacheLine) std::atomic<std::uint32_t> waiters;

  [[nodiscard]] Flag* flags() { return reinterpret_cast<Flag*>(this + 1); }
  [[nodiscard]] const Flag* flags() const { return reinterpret_cast<const Flag*>(this + 1); }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "works between processes");
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "works between processes");
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "is a futex word");

std::size_t control_bytes(std::size_t num_flags) {
  return sizeof(Control) + num_flags * sizeof(Flag);
}

/// Not FUTEX_PRIVATE: the word is known by another address in another process.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                std::chrono::microseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec duration{
      .tv_sec = seconds.count(),
      .tv_nsec = std::chrono::nanoseconds(limit - seconds).count(),
  };
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &duration, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) {
  (void)::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
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
  [[nodiscard]] std::string prefix(std::int64_t epoch, int worker) const {
    return fmt::format("{}{}-{}-w{}-", kSegmentPrefix, setup.token, epoch, worker);
  }
  [[nodiscard]] std::filesystem::path path(int worker, std::string_view what) const {
    return setup.directory / (prefix(setup.epoch, worker) + std::string(what));
  }

  void start_control();
  [[nodiscard]] MappedMemory make(std::string_view what, std::size_t bytes);
  [[nodiscard]] MappedMemory await_name(int worker, std::string_view what, SegmentAccess access,
                                        const Deadline& deadline) const;
  [[nodiscard]] std::optional<std::int64_t> other_epoch_of(int worker) const;
  [[noreturn]] void fail_silent(int worker, const Deadline& deadline) const;
  void report(Progress progress);
  void await_progress(Progress progress, const Deadline& deadline) const;
  void open_controls(const Deadline& deadline);
  void compare_controls() const;
  void map_own_memory_of(std::size_t member);
};

HostGroup::State::State(Setup given) : setup(std::move(given)), members(setup.members.size()) {
  const auto found = std::ranges::find(setup.members, setup.worker);
  if (found == setup.members.end() || !std::ranges::is_sorted(setup.members)) {
    throw InvariantError(fmt::format(
        "worker {} is not among the workers of its host, or these are not sorted", setup.worker));
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
  control->process = ::getpid();
  control->worker = setup.worker;
  control->num_flags = setup.num_flags;
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
    if (name.starts_with(start) && name.ends_with(end) && name.size() > start.size() + end.size()) {
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
  throw CommError(fmt::format(
      "worker {}: worker {} on this host shared no memory within {:.1f} s (epoch {}): it died or "
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

void HostGroup::State::report(Progress progress) {
  self().control->progress.store(progress, std::memory_order_release);
}

void HostGroup::State::await_progress(Progress progress, const Deadline& deadline) const {
  for (const Member& member : members) {
    while (member.control->progress.load(std::memory_order_acquire) < progress) {
      if (deadline.expired()) {
        fail_silent(member.control->worker, deadline);
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
    Member& member = members[m];
    const int worker = setup.members[m];
    member.control_memory = await_name(
        worker, "control", m == 0 ? SegmentAccess::kReadWrite : SegmentAccess::kRead, deadline);
    const MappedRange range = member.control_memory.get();
    member.control = static_cast<Control*>(range.data);
    if (range.bytes != control_bytes(setup.num_flags) || member.control->magic != kMagic ||
        member.control->worker != worker || member.control->epoch != setup.epoch) {
      throw CommError(fmt::format(
          "worker {} on this host shares memory of another layout than worker {}: do all run the "
          "same build of gangway and the same job?",
          worker, setup.worker));
    }
  }
}

void HostGroup::State::compare_controls() const {
  const Control& first = *members.front().control;
  for (const Member& member : members) {
    const Control& other = *member.control;
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
        throw CommError(fmt::format(
            "worker {}: memory {} of worker {} on this host is gone: it died or gave up; its log "
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

const float* HostGroup::own_memory(std::size_t member, std::size_t index) const {
  return state_->members.at(member).own.at(index);
}

std::size_t HostGroup::own_size(std::size_t member, std::size_t index) const {
  return state_->members.at(member).own_sizes.at(index);
}

void HostGroup::publish(std::size_t flag, std::uint64_t value) {
  state_->self().control->flags()[flag].value.store(value, std::memory_order_release);
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

std::uint64_t shared_memory_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string identity((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  struct stat status {};
  if (::stat(kSharedMemoryFolder, &status) == 0) {
    identity += std::to_string(status.st_dev);
  }
  return XXH3_64bits(identity.data(), identity.size());
}

}  // namespace gangway::comm
