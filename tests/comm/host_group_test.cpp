// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "comm/host/host_memory.hpp"
#include "tests/comm/lone_group.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::comm {
namespace {

using namespace std::chrono_literals;
using gangway::testing::SharedFolder;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kPlan = 0xabc;
constexpr auto kPatience = 20s;  // limit for events that must come at once
constexpr auto kSoon = 30ms;     // wait for events that must not come

struct Host {
  SharedFolder folder;
  std::vector<int> members;

  [[nodiscard]] HostMemorySetup setup(int worker, std::int64_t epoch = 1) const {
    return {.members = members,
            .worker = worker,
            .epoch = epoch,
            .token = "test",
            .num_flags = 4,
            .directory = folder.path()};
  }
  /// Runs `body(memory, position)` for all members at once, each on its own thread.
  void run(const std::function<void(HostMemory, std::size_t)>& body) const {
    spawn_ranks(static_cast<int>(members.size()), [&](int position) {
      body(HostMemory(setup(members[static_cast<std::size_t>(position)])),
           static_cast<std::size_t>(position));
    });
  }
};

void await_all(const HostGroup& group, std::size_t flag, std::uint64_t value) {
  const Deadline deadline(kPatience);
  for (std::uint32_t seen = group.bell(); !group.all_published(flag, value); seen = group.bell()) {
    ASSERT_FALSE(deadline.expired()) << "worker " << group.first_below(flag, value) << " is silent";
    group.wait_for_bell(seen, 10ms);
  }
}

/// Returns the message of the CommError that `body` throws; "" if it throws none.
template <typename Body>
std::string comm_error_of(Body body) {
  try {
    body();
  } catch (const CommError& error) {
    return error.what();
  }
  return "";
}

TEST(HostGroup, ShowsEveryMemberWhatTheOthersWroteInTheirOwnMemory) {
  const Host host{.members = {1, 4, 6}};
  host.run([](HostMemory memory, std::size_t position) {
    Arena small = memory.allocate_own(10 + position);
    Arena large = memory.allocate_own(100'000 * position);
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    EXPECT_EQ(group.position(), position);
    std::ranges::fill_n(small.data(), 10, static_cast<float>(position));
    group.publish(0, 1);
    await_all(group, 0, 1);
    for (std::size_t member = 0; member < 3; ++member) {
      EXPECT_THAT(std::span(group.own_memory(member, 0), 10), Each(static_cast<float>(member)));
    }
  });
}

TEST(HostGroup, SharesTheSamePagesWithEveryMember) {
  const Host host{.members = {0, 1, 2}};
  host.run([](HostMemory memory, std::size_t position) {
    Arena weights = memory.allocate_shared(3000, Deadline(kPatience));
    Arena averages = memory.allocate_shared(7, Deadline(kPatience));
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    std::fill_n(weights.data() + 1000 * position, 1000, static_cast<float>(position + 1));
    averages.data()[position] = 5.0F;
    group.publish(0, 1);
    await_all(group, 0, 1);
    for (std::size_t member = 0; member < 3; ++member) {
      EXPECT_EQ(weights.data()[1000 * member + 999], static_cast<float>(member + 1));
      EXPECT_EQ(averages.data()[member], 5.0F);
    }
  });
}

TEST(HostGroup, StartsWithZeroes) {
  const Host host{.members = {0, 1}};
  host.run([](HostMemory memory, std::size_t) {
    const Arena own = memory.allocate_own(5000);
    const Arena shared = memory.allocate_shared(5000, Deadline(kPatience));
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    EXPECT_THAT(std::span(own.data(), own.size()), Each(0.0F));
    EXPECT_THAT(std::span(shared.data(), shared.size()), Each(0.0F));
    EXPECT_EQ(group.published(1, 3), 0U);
  });
}

TEST(HostGroup, DoesNotLetAMemberWriteWhatIsAnothersOwn) {
  const Host host{.members = {0, 1}};
  host.run([](HostMemory memory, std::size_t position) {
    const Arena own = memory.allocate_own(16);
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    // A store there would end the process; the kernel's read() returns an error instead.
    auto* others = const_cast<float*>(group.own_memory(1 - position, 0));
    EXPECT_EQ(::read(pipe[0], others, 1), -1);
    EXPECT_EQ(errno, EFAULT);
    ::close(pipe[0]);
    ::close(pipe[1]);
  });
}

TEST(HostGroup, MakesVisibleWhatWasWrittenBeforeAFlag) {
  const Host host{.members = {0, 1}};
  constexpr int kRounds = 2000;
  host.run([](HostMemory memory, std::size_t position) {
    Arena own = memory.allocate_own(64);
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    for (int round = 1; round <= kRounds; ++round) {
      const auto value = static_cast<std::uint64_t>(round);
      own.data()[63] = static_cast<float>(round);
      group.publish(0, value);
      await_all(group, 0, value);
      ASSERT_EQ(group.own_memory(1 - position, 0)[63], static_cast<float>(round));
      group.publish(1, value);
      await_all(group, 1, value);
    }
  });
}

TEST(HostGroup, NamesTheFirstMemberWhoseFlagIsBehind) {
  const Host host{.members = {2, 5, 7}};
  host.run([](HostMemory memory, std::size_t position) {
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    if (position != 1) {
      group.publish(0, 9);
    }
    group.publish(1, 1);
    await_all(group, 1, 1);
    EXPECT_EQ(group.first_below(0, 9), 5);
    EXPECT_EQ(group.first_below(1, 1), -1);
    EXPECT_FALSE(group.all_published(0, 9));
    EXPECT_EQ(group.published(2, 0), 9U);
    group.publish(2, 1);
    await_all(group, 2, 1);
  });
}

TEST(HostGroup, WakesWhoSleepsWhenAFlagIsSet) {
  const Host host{.members = {0, 1, 2}};
  host.run([](HostMemory memory, std::size_t position) {
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    for (std::uint64_t round = 1; round <= 300; ++round) {  // a lost bell would cost an hour
      const std::size_t turn = round % 3;
      if (position == turn) {
        group.publish(0, round);
      }
      for (std::uint32_t seen = group.bell(); group.published(turn, 0) < round;
           seen = group.bell()) {
        group.wait_for_bell(seen, 1h);
      }
    }
  });
}

TEST(HostGroup, SleepsNoLongerThanTheLimit) {
  const HostGroup group = lone_group(1);
  const auto start = std::chrono::steady_clock::now();
  group.wait_for_bell(group.bell(), 2ms);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

TEST(HostGroup, DoesNotSleepOnceTheBellHasRung) {
  HostGroup group = lone_group(1);
  const std::uint32_t seen = group.bell();
  group.publish(0, 1);
  group.wait_for_bell(seen, 1h);
  EXPECT_NE(group.bell(), seen);
}

TEST(HostGroup, LeavesNoNamesOnceAllAreConnected) {
  const Host host{.members = {0, 1}};
  host.run([&](HostMemory memory, std::size_t) {
    const Arena own = memory.allocate_own(16);
    const Arena shared = memory.allocate_shared(16, Deadline(kPatience));
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    group.publish(0, 1);
    await_all(group, 0, 1);
    EXPECT_THAT(host.folder.names(), IsEmpty());
    group.publish(1, 1);
    await_all(group, 1, 1);
  });
}

TEST(HostGroup, TakesItsNamesAwayWhenItEndsUnconnected) {
  const Host host{.members = {0, 1}};
  {
    HostMemory memory(host.setup(0));
    const Arena own = memory.allocate_own(16);
    const Arena shared = memory.allocate_shared(16, Deadline(kSoon));
    const HostMemory moved = std::move(memory);
    EXPECT_EQ(host.folder.names().size(), 3U);
  }
  EXPECT_THAT(host.folder.names(), IsEmpty());
}

TEST(HostGroup, OutlivesTheMembersThatEndFirst) {
  const Host host{.members = {0, 1}};
  std::optional<HostGroup> survivor;
  std::optional<Arena> shared;
  host.run([&](HostMemory memory, std::size_t position) {
    Arena own = memory.allocate_own(16);
    Arena weights = memory.allocate_shared(16, Deadline(kPatience));
    own.data()[3] = 8.0F;
    weights.data()[position] = 9.0F;
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    if (position == 1) {
      survivor.emplace(std::move(group));
      shared.emplace(std::move(weights));
    }
  });
  EXPECT_EQ(survivor->own_memory(0, 0)[3], 8.0F);
  EXPECT_EQ(shared->data()[0], 9.0F);
  survivor->publish(0, 1);
  EXPECT_EQ(survivor->first_below(0, 1), 0);
}

TEST(HostGroup, KeepsTheMemoryOfTwoEpochsApart) {
  const Host host{.members = {0, 1}};
  spawn_ranks(2, [&](int worker) {
    HostMemory old_memory(host.setup(worker, 1));
    HostMemory memory(host.setup(worker, 2));
    Arena old_weights = old_memory.allocate_shared(16, Deadline(kPatience));
    Arena weights = memory.allocate_shared(16, Deadline(kPatience));
    HostGroup before = std::move(old_memory).connect(kPlan, Deadline(kPatience));
    const HostGroup after = std::move(memory).connect(kPlan, Deadline(kPatience));
    std::fill_n(old_weights.data(), 16, 1.0F);
    before.publish(0, 1);
    await_all(before, 0, 1);
    EXPECT_THAT(std::span(weights.data(), 16), Each(0.0F));
    EXPECT_EQ(after.published(0, 0), 0U);
  });
}

TEST(HostGroup, NamesBothPlansWhereTheyDiffer) {
  const Host host{.members = {0, 1, 2}};
  host.run([](HostMemory memory, std::size_t position) {
    EXPECT_THAT(comm_error_of([&] {
                  (void)std::move(memory).connect(position == 2 ? 0xbad : kPlan,
                                                  Deadline(kPatience));
                }),
                AllOf(HasSubstr("rank 3 on this host has plan 0000000000000bad"),
                      HasSubstr("rank 1 has plan 0000000000000abc")));
  });
}

TEST(HostGroup, NamesTheMemberThatAllocatedAnotherNumberOfSegments) {
  const Host host{.members = {0, 1}};
  host.run([](HostMemory memory, std::size_t position) {
    const Arena own = memory.allocate_own(16);
    const Arena more = memory.allocate_own(position);  // an arena without elements counts too
    std::optional<Arena> one_too_many;
    if (position == 1) {
      one_too_many.emplace(memory.allocate_own(4));
    }
    EXPECT_THAT(comm_error_of([&] { (void)std::move(memory).connect(kPlan, Deadline(kPatience)); }),
                AllOf(HasSubstr("rank 2"), HasSubstr("with 3 segments"), HasSubstr("with 2")));
  });
}

TEST(HostGroup, NamesTheMemberWhoseSharedMemoryHasAnotherSize) {
  const Host host{.members = {0, 1}};
  HostMemory first(host.setup(0));
  const Arena made = first.allocate_shared(16, Deadline(kSoon));
  HostMemory second(host.setup(1));
  EXPECT_THAT(comm_error_of([&] { (void)second.allocate_shared(17, Deadline(kSoon)); }),
              AllOf(HasSubstr("rank 1 shares 64 bytes"), HasSubstr("rank 2 expects 68")));
}

TEST(HostGroup, NamesTheMemberThatHasAnotherNumberOfFlags) {
  const Host host{.members = {0, 1}};
  const HostMemory first(host.setup(0));
  HostMemorySetup setup = host.setup(1);
  setup.num_flags = 5;
  HostMemory second(std::move(setup));
  EXPECT_THAT(comm_error_of([&] { (void)std::move(second).connect(kPlan, Deadline(kSoon)); }),
              AllOf(HasSubstr("rank 1"), HasSubstr("unlike rank 2")));
}

TEST(HostGroup, NamesTheMemberThatNeverComes) {
  const Host host{.members = {3, 4}};
  HostMemory memory(host.setup(4));
  EXPECT_THAT(comm_error_of([&] { (void)memory.allocate_shared(16, Deadline(kSoon)); }),
              AllOf(HasSubstr("rank 5: rank 4"), HasSubstr("within 0.0 s")));
  EXPECT_THAT(comm_error_of([&] { (void)std::move(memory).connect(kPlan, Deadline(kSoon)); }),
              HasSubstr("rank 4 on this host shared no memory"));
}

TEST(HostGroup, NamesTheMemberThatNeverConnects) {
  const Host host{.members = {3, 4}};
  const HostMemory silent(host.setup(3));
  HostMemory memory(host.setup(4));
  EXPECT_THAT(comm_error_of([&] { (void)std::move(memory).connect(kPlan, Deadline(kSoon)); }),
              HasSubstr("rank 4 on this host shared no memory"));
}

TEST(HostGroup, NamesTheEpochOfAMemberThatWaitsInAnother) {
  const Host host{.members = {0, 1}};
  const HostMemory old(host.setup(0, 4));
  HostMemory memory(host.setup(1, 5));
  EXPECT_THAT(comm_error_of([&] { (void)std::move(memory).connect(kPlan, Deadline(kSoon)); }),
              AllOf(HasSubstr("rank 1 on this host shares memory in epoch 4"),
                    HasSubstr("rank 2 in epoch 5")));
}

TEST(HostGroup, TakesTheNamesOverThatADeadMemberLeft) {
  const Host host{.members = {0, 1}};
  host.folder.leave_behind("gangway-test-1-w0-control");
  host.folder.leave_behind("gangway-test-1-w1-own0");
  host.run([](HostMemory memory, std::size_t) {
    const Arena own = memory.allocate_own(16);
    HostGroup group = std::move(memory).connect(kPlan, Deadline(kPatience));
    EXPECT_EQ(group.size(), 2U);
  });
  EXPECT_THAT(host.folder.names(), IsEmpty());
}

TEST(HostGroup, RefusesAWorkerThatIsNoMember) {
  EXPECT_THROW(HostMemory({.members = {0, 1}, .worker = 2, .token = "t"}), InvariantError);
  EXPECT_THROW(HostMemory({.members = {1, 0}, .worker = 0, .token = "t"}), InvariantError);
  EXPECT_THROW(HostMemory({.members = {0, 1}, .worker = 0, .token = "../t"}), InvariantError);
}

TEST(HostGroup, NeedsNoFilesForALoneWorker) {
  const SharedFolder folder;
  HostMemory memory({.members = {3}, .worker = 3, .num_flags = 2, .directory = folder.path()});
  Arena own = memory.allocate_own(16);
  Arena shared = memory.allocate_shared(16, Deadline(kSoon));
  HostGroup group = std::move(memory).connect(kPlan, Deadline(kSoon));
  own.data()[2] = 1.0F;
  shared.data()[2] = 2.0F;
  EXPECT_EQ(group.own_memory(0, 0), own.data());
  EXPECT_EQ(group.first_below(1, 7), 3);
  group.publish(1, 7);
  EXPECT_TRUE(group.all_published(1, 7));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(HostGroup, AmongSomeOfItsWorkersAsksThemAlone) {
  const Host host{.members = {2, 5, 6}};
  host.run([](HostMemory memory, std::size_t position) {
    Arena own = memory.allocate_own(1);
    own.data()[0] = static_cast<float>(position);
    HostGroup all = std::move(memory).connect(kPlan, Deadline(kPatience));
    if (position != 0) {
      HostGroup some = all.among({5, 6, 9});  // worker 9 is on another host
      EXPECT_EQ(some.members(), (std::vector{0, 1}));
      EXPECT_EQ(some.position(), position - 1);
      some.publish(0, 1);
      await_all(some, 0, 1);
      EXPECT_EQ(some.own_memory(1, 0)[0], 2.0F);
    }
    all.publish(1, 1);
    await_all(all, 1, 1);
    EXPECT_EQ(all.first_below(0, 1), 2);
  });
}

}  // namespace
}  // namespace gangway::comm
