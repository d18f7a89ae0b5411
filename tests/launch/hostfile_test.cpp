// SPDX-License-Identifier: MIT
#include "launch/mpirun/hostfile.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

using ::testing::ElementsAre;

bool nowhere(const std::string& /*name*/) { return false; }

TEST(Hostfile, CountsTheSlotsForWorkers) {
  EXPECT_EQ(count_slots(parse_hostfile("# c\nnode-a slots=8\nnode-b\n")), 9);
}

TEST(Hostfile, ReadsWhatOpenMpiReads) {
  EXPECT_THAT(
      parse_hostfile("# ours\n\n  node-a\tslots=8 max_slots=9  # new\nann@node-b max_slots=4 "
                     "slots = 2\r\nnode-c # slots=7"),
      ElementsAre(Host{.name = "node-a", .slots = 8}, Host{.name = "ann@node-b", .slots = 2},
                  Host{.name = "node-c", .slots = 1}));
}

TEST(Hostfile, CountsAHostAsOftenAsItIsNamed) {
  EXPECT_THAT(parse_hostfile("a\na\nb slots=2\na slots=3"),
              ElementsAre(Host{.name = "a", .slots = 5}, Host{.name = "b", .slots = 2}));
}

TEST(Hostfile, RefusesOneWithoutHostsOrWithBadSlots) {
  EXPECT_THROW((void)parse_hostfile("# nothing\n"), ConfigError);
  EXPECT_THROW((void)parse_hostfile(""), ConfigError);
  EXPECT_THROW((void)parse_hostfile("node-a slots=none"), ConfigError);
  EXPECT_THROW((void)parse_hostfile("node-a slots=0"), ConfigError);
  EXPECT_THROW((void)parse_hostfile("node-a slots="), ConfigError);
}

TEST(HostfileWithCoordinator, GivesTheFirstHostOneSlotMoreAndEachItsNumber) {
  EXPECT_EQ(hostfile_with_coordinator(parse_hostfile("node-a slots=8\nnode-b\n"), nowhere),
            "node-a slots=9\nnode-b slots=1\n")
      << "without a number Open MPI would take as many as the host has cores";
}

TEST(HostfileWithCoordinator, LetsAHostWithoutSlotsHoldTheCoordinatorOrNothing) {
  const auto is_a = [](const std::string& name) { return name == "a"; };
  EXPECT_EQ(hostfile_with_coordinator(parse_hostfile("a slots=0\nb slots=2\nc slots=0"), is_a),
            "a slots=1\nb slots=2\n");
}

TEST(HostfileWithCoordinator, PutsItsOwnHostFirstAsMpirunDoes) {
  const auto is_c = [](const std::string& name) { return name == "c"; };
  EXPECT_EQ(
      hostfile_with_coordinator(parse_hostfile("a slots=2\nb slots=2\nc slots=2\nd slots=2"), is_c),
      "c slots=3\na slots=2\nb slots=2\nd slots=2\n");
}

TEST(HostsWithout, TakesASlotForEachWorkerAndTheWholeHostThatHasNoneLeft) {
  const auto is_b = [](const std::string& name) { return name == "b"; };
  const auto hosts = parse_hostfile("a slots=2\nb slots=2\nc slots=3");
  // Ranks 1 and 2 are on b, 3 and 4 on a, 5 on c.
  EXPECT_EQ(hosts_without(hosts, 5, {Rank(3)}, is_b),
            (std::vector<Host>{{"b", 2}, {"a", 1}, {"c", 3}}));
  EXPECT_EQ(hosts_without(hosts, 5, {Rank(5)}, is_b),
            (std::vector<Host>{{"b", 2}, {"a", 2}, {"c", 0}}));
  EXPECT_EQ(hosts_without(hosts, 5, {Rank(1), Rank(2), Rank(4)}, is_b),
            (std::vector<Host>{{"b", 0}, {"a", 1}, {"c", 3}}));
}

TEST(HostsOfWorkers, FollowTheFileBehindTheCoordinatorsHost) {
  const auto is_b = [](const std::string& name) { return name == "b"; };
  const auto hosts = parse_hostfile("a slots=2\nb slots=1\nc slots=3");
  EXPECT_EQ(hosts_of_workers(hosts, 4, is_b), (std::vector<std::string>{"b", "a", "a", "c"}));
  EXPECT_EQ(hosts_of_workers(hosts, 9, is_b).size(), 6U) << "who is beyond the slots, nobody knows";
}

TEST(IsThisHost, KnowsItsNamesAndAddresses) {
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  EXPECT_TRUE(is_this_host(name.data()));
  EXPECT_TRUE(is_this_host("ann@localhost"));
  EXPECT_TRUE(is_this_host("127.0.0.1"));
  EXPECT_FALSE(is_this_host("192.0.2.1")) << "an address for documentation, nobody's";
}

}  // namespace
}  // namespace gangway::launch
