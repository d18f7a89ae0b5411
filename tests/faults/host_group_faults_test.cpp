// SPDX-License-Identifier: MIT
// Workers of one host as real processes, which are killed, stopped and woken again.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/errors.hpp"
#include "comm/host/host_memory.hpp"
#include "tests/faults/child_process.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::comm {
namespace {

using namespace std::chrono_literals;
using gangway::testing::Child;
using gangway::testing::Line;
using gangway::testing::SharedFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint64_t kPlan = 0xabc;
constexpr auto kPatience = 20s;
constexpr std::size_t kElements = 20'000;

struct Host {
  SharedFolder folder;

  [[nodiscard]] HostMemorySetup setup(std::vector<int> members, int worker,
                                      std::int64_t epoch) const {
    return {.members = std::move(members),
            .worker = worker,
            .epoch = epoch,
            .token = "test",
            .num_flags = 3,
            .directory = folder.path()};
  }
};

/// A worker's memory of one epoch.
struct Memory {
  HostMemory host;  // empty after the connection
  Arena own;
  Arena shared;
  HostGroup group;

  Memory(HostMemorySetup setup, std::chrono::milliseconds patience)
      : host(std::move(setup)),
        own(host.allocate_own(kElements)),
        shared(host.allocate_shared(kElements, Deadline(patience))),
        group(std::move(host).connect(kPlan, Deadline(patience))) {}
  /// Waits, at most as long as patience allows. @returns the missing worker; -1: none
  [[nodiscard]] int await(std::size_t flag, std::uint64_t value,
                          std::chrono::milliseconds patience = kPatience) const {
    const Deadline deadline(patience);
    while (true) {
      const std::uint32_t seen = group.bell();
      const int missing = group.first_below(flag, value);
      if (missing < 0 || deadline.expired()) {
        return missing;
      }
      group.wait_for_bell(seen, 5ms);
    }
  }
  void write_all_over(float value) {
    std::fill_n(own.data(), kElements, value);
    std::fill_n(shared.data(), kElements, value);
    for (std::size_t flag = 0; flag < 3; ++flag) {
      group.publish(flag, 1'000'000);
    }
  }
};

/// Checks that the members find their own values: only living workers may have written.
std::string check_untouched(const Memory& memory, float shared_value) {
  for (std::size_t member = 0; member < memory.group.size(); ++member) {
    const float* own = memory.group.own_memory(member, 0);
    const auto value = static_cast<float>(member + 1);
    if (!std::all_of(own, own + kElements, [&](float x) { return x == value; })) {
      return "own memory was overwritten";
    }
    if (memory.group.published(member, 2) != 0) {
      return "a flag was overwritten";
    }
  }
  const float* shared = memory.shared.data();
  return std::all_of(shared, shared + kElements, [&](float x) { return x == shared_value; })
             ? "untouched"
             : "shared memory was overwritten";
}

TEST(HostGroupFaults, NamesAMemberThatWasKilledBeforeItConnected) {
  const Host host;
  const std::vector<int> members{0, 1, 2};
  const auto survive = [&](int worker) {
    return [&, worker](const Line&) { const Memory memory(host.setup(members, worker, 1), 300ms); };
  };
  const Child killed([&](const Line& line) {
    HostMemory memory(host.setup(members, 1, 1));
    const Arena own = memory.allocate_own(kElements);
    line.say("allocated");
    (void)line.hear();
  });
  ASSERT_EQ(killed.line().hear(), "allocated");
  killed.signal(SIGKILL);
  ASSERT_EQ(killed.line().hear(), "(end)");
  const Child first(survive(0));
  const Child third(survive(2));
  EXPECT_THAT(first.line().hear(), AllOf(StartsWith("CommError: rank 1"), HasSubstr("rank 2")));
  EXPECT_THAT(third.line().hear(), AllOf(StartsWith("CommError: rank 3"), HasSubstr("rank 2")));
  EXPECT_EQ(first.line().hear(), "(end)");
  EXPECT_EQ(third.line().hear(), "(end)");
  EXPECT_THAT(host.folder.names(), Not(IsEmpty()));
  EXPECT_EQ(reap_segments(host.folder.path()), 2U);
  EXPECT_THAT(host.folder.names(), IsEmpty());
}

TEST(HostGroupFaults, LeavesNothingBehindWhateverDiesOnceAllAreConnected) {
  const Host host;
  const auto body = [&](int worker) {
    return [&, worker](const Line& line) {
      const Memory memory(host.setup({0, 1}, worker, 1), kPatience);
      line.say("connected");
      (void)line.hear();
    };
  };
  const Child first(body(0));
  const Child second(body(1));
  ASSERT_EQ(first.line().hear(), "connected");
  ASSERT_EQ(second.line().hear(), "connected");
  first.signal(SIGKILL);
  second.signal(SIGKILL);
  EXPECT_THAT(host.folder.names(), IsEmpty());
}

TEST(HostGroupFaults, DoesNotReapWhatAStoppedMemberHolds) {
  const Host host;
  const Child child([&](const Line& line) {
    const HostMemory memory(host.setup({0, 1}, 0, 1));
    line.say("made");
    (void)line.hear();
  });
  ASSERT_EQ(child.line().hear(), "made");
  child.stop();
  EXPECT_EQ(reap_segments(host.folder.path()), 0U);
  child.signal(SIGKILL);
  EXPECT_EQ(child.line().hear(), "(end)");
  EXPECT_EQ(reap_segments(host.folder.path()), 1U);
}

TEST(HostGroupFaults, NamesAMemberThatStopped) {
  const Host host;
  const Child stopped([&](const Line& line) {
    Memory memory(host.setup({0, 1}, 1, 1), kPatience);
    line.say("connected");
    (void)line.hear();
    memory.group.publish(0, 1);
    (void)line.hear();
  });
  const Child waiting([&](const Line& line) {
    Memory memory(host.setup({0, 1}, 0, 1), kPatience);
    memory.group.publish(0, 1);
    (void)line.hear();
    line.say(fmt::format("missing {}", memory.await(0, 1, 50ms)));
    line.say(fmt::format("missing {}", memory.await(0, 1)));
  });
  ASSERT_EQ(stopped.line().hear(), "connected");
  stopped.stop();
  stopped.line().say("go on");
  waiting.line().say("wait");
  EXPECT_EQ(waiting.line().hear(), "missing 1");
  stopped.signal(SIGCONT);
  EXPECT_EQ(waiting.line().hear(), "missing -1");
}

/// Takes part in epoch 1 as far as possible, and keeps writing to it.
void haunt(const Host& host, const Line& line, std::chrono::milliseconds patience) {
  Memory memory(host.setup({0, 1, 2}, 2, 1), patience);
  line.say("connected");
  for (float value = 100.0F;; value += 1.0F) {
    memory.write_all_over(value);
    line.say("wrote");
  }
}

/// Loses worker 2 in epoch 1, and continues with worker `1 - worker` in epoch 2.
void go_on_without(const Host& host, const Line& line, int worker,
                   std::chrono::milliseconds patience) {
  std::unique_ptr<Memory> old;
  try {
    old = std::make_unique<Memory>(host.setup({0, 1, 2}, worker, 1), patience);
  } catch (const CommError&) {
    // it was stopped before it had connected
  }
  line.say("epoch 1");
  (void)line.hear();
  Memory memory(host.setup({0, 1}, worker, 2), kPatience);
  std::fill_n(memory.own.data(), kElements, static_cast<float>(worker + 1));
  if (worker == 0) {
    std::fill_n(memory.shared.data(), kElements, 7.0F);
  }
  memory.group.publish(0, 1);
  const float before = old ? old->shared.data()[kElements - 1] : 0.0F;
  line.say(memory.await(0, 1) < 0 ? "epoch 2" : "alone in epoch 2");
  (void)line.hear();  // lets the zombie run
  const bool haunted = !old || old->shared.data()[kElements - 1] > before;
  line.say(haunted ? check_untouched(memory, 7.0F) : "the zombie wrote nothing");
  memory.group.publish(1, 1);
  (void)memory.await(1, 1);
}

/// @param stop_it  returns when worker 2 is stopped
void survive_a_zombie(std::chrono::milliseconds patience,
                      const std::function<void(const Child&)>& stop_it) {
  const Host host;
  const Child zombie([&](const Line& line) { haunt(host, line, patience); });
  const Child first([&](const Line& line) { go_on_without(host, line, 0, patience); });
  const Child second([&](const Line& line) { go_on_without(host, line, 1, patience); });
  stop_it(zombie);
  for (const Child* child : {&first, &second}) {
    ASSERT_EQ(child->line().hear(), "epoch 1");
  }
  first.line().say("go on");
  second.line().say("go on");
  for (const Child* child : {&first, &second}) {
    ASSERT_EQ(child->line().hear(), "epoch 2");
  }
  std::string said;  // before its stop; without peers it has ended by itself
  while (said != "(silence)" && said != "(end)") {
    said = zombie.line().hear(0ms);
  }
  zombie.signal(SIGCONT);
  for (int line = 0; line < 3; ++line) {  // a whole round since its wake-up, or its end
    const std::string heard = zombie.line().hear();
    ASSERT_NE(heard, "(silence)");
  }
  first.line().say("look");
  second.line().say("look");
  for (const Child* child : {&first, &second}) {
    ASSERT_EQ(child->line().hear(), "untouched");
    ASSERT_EQ(child->line().hear(), "(end)");
  }
  zombie.signal(SIGKILL);
  while (zombie.line().hear() != "(end)") {
  }
  reap_segments(host.folder.path());
  ASSERT_THAT(host.folder.names(), IsEmpty());
}

TEST(HostGroupFaults, KeepsAZombieOutOfTheNextEpoch) {
  for (int attempt = 0; attempt < 50 && !HasFatalFailure(); ++attempt) {
    SCOPED_TRACE(attempt);
    survive_a_zombie(kPatience, [](const Child& zombie) {
      ASSERT_EQ(zombie.line().hear(), "connected");
      ASSERT_EQ(zombie.line().hear(), "wrote");
      zombie.stop();
    });
  }
}

TEST(HostGroupFaults, KeepsAZombieOutThatWasStoppedAtAnyMoment) {
  std::mt19937 random(20240);  // NOLINT: the same moments in every run, as far as a clock can say
  std::uniform_int_distribution<long> nanoseconds(0, 2'000'000);
  for (int attempt = 0; attempt < 50 && !HasFatalFailure(); ++attempt) {
    SCOPED_TRACE(attempt);
    survive_a_zombie(40ms, [&](const Child& zombie) {
      const timespec moment{.tv_sec = 0, .tv_nsec = nanoseconds(random)};
      (void)::nanosleep(&moment, nullptr);
      zombie.stop();
    });
  }
}

TEST(HostGroupFaults, RefusesMemoryThatIsTooSmallBeforeAnybodyWritesToIt) {
  const Host host;
  const Child child([&](const Line& line) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      line.say("no namespace");
      return;
    }
    // Otherwise other processes would see the mount.
    (void)::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", host.folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      line.say("no mount");
      return;
    }
    HostMemory memory(host.setup({0, 1}, 0, 1));
    Arena fits = memory.allocate_own(150'000);
    std::fill_n(fits.data(), fits.size(), 1.0F);
    line.say("fits");
    const Arena fits_not = memory.allocate_own(150'000);
  });
  const std::string heard = child.line().hear();
  if (heard == "no namespace" || heard == "no mount") {
    GTEST_SKIP() << heard << " of its own for this user";
  }
  ASSERT_EQ(heard, "fits");
  EXPECT_THAT(child.line().hear(),
              AllOf(StartsWith("EnvironmentError"), HasSubstr("0.6 MiB of shared memory needed"),
                    HasSubstr("0.4 MiB free in"), HasSubstr("layout.transport=mpi")));
}

}  // namespace
}  // namespace gangway::comm
