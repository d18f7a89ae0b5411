// SPDX-License-Identifier: MIT
#include "launch/hosts/compare_hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gangway::launch {
namespace {

using std::chrono::duration;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AskedHost host(const std::string& name) {
  return {.name = name,
          .facts = HostFacts{.build = "0123456789abcdef",
                             .mpi = "4.1.4",
                             .libtorch = "2.11.0+cu130",
                             .nccl = "2.28.9",
                             .processor = "GenuineIntel avx512",
                             .driver = "580.82.07",
                             .interface = "eth0 10.0.0.1",
                             .gpus = 8,
                             .cores = 64,
                             .memory_gib = 500.5,
                             .shared_memory_gib = 250},
          .clock = ClockDifference{duration<double>(0.002), duration<double>(0.001)},
          .complaint = {}};
}

std::vector<AskedHost> three_hosts() { return {host("a"), host("b"), host("c")}; }

auto finding(const std::string& item, Health health, const std::string& detail) {
  return AllOf(Field(&Finding::item, item), Field(&Finding::health, health),
               Field(&Finding::detail, HasSubstr(detail)));
}

TEST(HostFacts, AreReadBackFromTheirLine) {
  const HostFacts facts = *host("a").facts;
  EXPECT_EQ(parse_facts(facts_line(facts)), facts);
  EXPECT_FALSE(parse_facts("{\"build\": 7}"));
  EXPECT_FALSE(parse_facts("Warning: Permanently added 'b' to the list of known hosts."));
}

TEST(CompareHosts, FindsNothingInEqualOnes) {
  EXPECT_THAT(compare_hosts(three_hosts()), IsEmpty());
}

TEST(CompareHosts, NamesTheOddOneAndWhatTheOthersHave) {
  auto hosts = three_hosts();
  hosts[0].facts->build = "fedcba9876543210";
  hosts[2].facts->driver = "570.1";
  EXPECT_THAT(compare_hosts(hosts),
              ElementsAre(finding("build", Health::kBad,
                                  "a has fedcba9876543210, others 0123456789abcdef: install one"),
                          finding("driver", Health::kNote, "c has 570.1, others 580.82.07")));
  EXPECT_FALSE(is_healthy(compare_hosts(hosts)));
  EXPECT_THAT(hosts_table(hosts), AllOf(HasSubstr("fedcba9876543210 !"), HasSubstr("570.1 *")));
}

TEST(CompareHosts, SaysWhatUnlikeProcessorsMean) {
  auto hosts = three_hosts();
  hosts[1].facts->processor = "AuthenticAMD avx2";
  EXPECT_THAT(compare_hosts(hosts),
              ElementsAre(AllOf(finding("processor", Health::kNote,
                                        "b has AuthenticAMD avx2, others GenuineIntel avx512"),
                                Field(&Finding::detail, HasSubstr("numerics.processor")))));
  EXPECT_THAT(hosts_table(hosts), HasSubstr("AuthenticAMD avx2 *"));
}

TEST(CompareHosts, TakesTheFirstForUsualWhereTwoDiffer) {
  std::vector<AskedHost> hosts{host("a"), host("b")};
  hosts[0].facts->mpi = "5.0.1";
  EXPECT_THAT(compare_hosts(hosts),
              ElementsAre(finding("Open MPI", Health::kBad, "b has 4.1.4, others 5.0.1")));
}

TEST(CompareHosts, NotesLittleRoomAndClocksThatAreOff) {
  auto hosts = three_hosts();
  hosts[1].facts->shared_memory_gib = 100;
  hosts[2].clock = ClockDifference{duration<double>(-7.25), duration<double>(0.001)};
  EXPECT_THAT(compare_hosts(hosts),
              ElementsAre(finding("/dev/shm", Health::kNote, "b has 100.0 GiB, another 250.0"),
                          finding("clock", Health::kNote, "c is -7.2 s from this host")));
  EXPECT_TRUE(is_healthy(compare_hosts(hosts)));
}

TEST(CompareHosts, BlamesNoClockOfWhichTooLittleIsKnown) {
  auto hosts = three_hosts();
  hosts[1].clock = ClockDifference{duration<double>(0.9), duration<double>(0.8)};
  EXPECT_THAT(compare_hosts(hosts), IsEmpty());
}

TEST(CompareHosts, SaysWhoDidNotAnswer) {
  auto hosts = three_hosts();
  hosts[1] = {.name = "b", .facts = {}, .clock = {}, .complaint = "ssh: no route to host"};
  EXPECT_THAT(compare_hosts(hosts),
              ElementsAre(finding("host", Health::kBad, "b gave no answer (ssh: no route")));
  EXPECT_THAT(hosts_table(hosts), HasSubstr("\nb\n"));
  const auto json = nlohmann::json::parse(hosts_json(hosts));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["hosts"][1].size(), 1U);
  EXPECT_EQ(json["hosts"][2]["gpus"], 8);
}

}  // namespace
}  // namespace gangway::launch
