// SPDX-License-Identifier: MIT
#include "job/file/host_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ResolvedJob loaded(const std::string& text, const HostsOfWorkers& hosts,
                   const std::vector<std::string>& overrides = {}) {
  return load_job({.file = "job.yaml",
                   .text = text,
                   .overrides = overrides,
                   .environment = {},
                   .hosts = hosts});
}

std::string refusal(const std::string& text, const HostsOfWorkers& hosts) {
  try {
    (void)loaded(text, hosts);
  } catch (const JobFileError& error) {
    return error.what();
  }
  return "none";
}

const std::string kApart = "layout: {generator: [node-a], discriminator: [node-c, node-b]}";
const std::vector<std::string> kHosts{"node-a", "me@node-b.cluster", "node-b.cluster", "node-c"};

TEST(HostNames, StandForTheWorkersThatAreThere) {
  const ResolvedJob job = loaded(kApart + "\ntraining: {microbatches: 4}", kHosts);
  EXPECT_THAT(job.spec.layout.networks[job.spec.id_of("generator")].workers, ElementsAre(0));
  EXPECT_THAT(job.spec.layout.networks[job.spec.id_of("discriminator")].workers,
              ElementsAre(1, 2, 3));
  EXPECT_THAT(job.named_hosts, ElementsAre(R"(layout.generator=["node-a"])",
                                           R"(layout.discriminator=["node-c","node-b"])"));
  // The resolved job runs again as it is, anywhere.
  EXPECT_EQ(parse_job(job.yaml, "again"), job.spec);
}

TEST(HostNames, AreLeftOutWhileNobodyKnowsWhoIsWhere) {
  const ResolvedJob job = loaded(kApart, std::vector<std::string>());
  EXPECT_THAT(job.spec.layout.networks[job.spec.id_of("generator")].workers, IsEmpty());
  EXPECT_THAT(job.named_hosts, ElementsAre(R"(layout.generator=["node-a"])",
                                           R"(layout.discriminator=["node-c","node-b"])"));
}

TEST(HostNames, AreNotAskedForWhereWorkersAreNamedLater) {
  const ResolvedJob job =
      loaded(kApart, std::nullopt, {"layout.generator=[1]", "layout.discriminator=[0]"});
  EXPECT_THAT(job.spec.layout.networks[job.spec.id_of("generator")].workers, ElementsAre(1));
  EXPECT_THAT(job.named_hosts, IsEmpty());
}

TEST(HostNames, AreRefusedInOneLineWhereTheyCannotBeUnderstood) {
  EXPECT_EQ(
      refusal("layout: {generator: [node-x]}", kHosts),
      "job.yaml:1:10: layout.generator: no worker is on host 'node-x'; workers are on node-a, "
      "me@node-b.cluster, node-b.cluster, node-c");
  EXPECT_THAT(
      refusal("layout: {generator: [node-a]}", std::nullopt),
      HasSubstr("layout.generator: 'node-a' is a host, and hosts are known to `gangway run` "
                "alone; number workers"));
  EXPECT_THAT(refusal("layout: {generator: [node-a, 2]}", kHosts),
              HasSubstr("expected names of hosts alone, or numbers of workers alone"));
  EXPECT_THAT(refusal("layout: {generator: [node-a, node-a]}", kHosts),
              HasSubstr("host 'node-a' is named twice"));
  EXPECT_THAT(refusal("layout: {cuts: {generator: [node-a]}}", kHosts), HasSubstr("whole number"));
}

}  // namespace
}  // namespace gangway
