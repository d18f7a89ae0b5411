// SPDX-License-Identifier: MIT
#include "job/file/host_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ResolvedJob loaded(const std::string& text, const std::vector<std::string>& overrides = {},
                   bool may_name_hosts = true) {
  return load_job({.file = "job.yaml",
                   .text = text,
                   .overrides = overrides,
                   .environment = {},
                   .may_name_hosts = may_name_hosts});
}

const std::string kApart = "layout: {generator: [node-a], discriminator: [node-c, node-b]}";
const std::vector<std::string> kHosts{"node-a", "me@node-b.cluster", "node-b.cluster", "node-c"};

JobSpec placed(const ResolvedJob& job) {
  JobSpec spec = job.spec;
  place_on_hosts(spec, job.named_hosts, kHosts);
  return spec;
}

std::string refusal(const std::string& text, bool may_name_hosts = true) {
  try {
    (void)placed(loaded(text, {}, may_name_hosts));
  } catch (const JobFileError& error) {
    return error.what();
  }
  return "none";
}

TEST(HostNames, StandForTheWorkersThatAreThere) {
  const ResolvedJob job = loaded(kApart + "\ntraining: {microbatches: 4}");
  ASSERT_EQ(job.named_hosts.size(), 2U);
  EXPECT_EQ(job.named_hosts[1].network, "discriminator");
  EXPECT_THAT(job.named_hosts[1].hosts, ElementsAre("node-c", "node-b"));
  const LayoutChoice& read = job.spec.layout;
  EXPECT_THAT(read.networks[job.spec.id_of("generator")].workers, IsEmpty());
  JobSpec spec = placed(job);
  EXPECT_THAT(spec.placement("generator").workers, ElementsAre(0));
  EXPECT_THAT(spec.placement("discriminator").workers, ElementsAre(1, 2, 3));
  // The resolved job parses unchanged on any host.
  EXPECT_EQ(parse_job(to_yaml(spec), "again"), spec);
}

TEST(HostNames, AreNotAskedForWhereWorkersAreNamedLater) {
  ResolvedJob job = loaded(kApart, {"layout.generator=[2]", "layout.discriminator=[1]"},
                           /*may_name_hosts=*/false);
  EXPECT_THAT(job.spec.placement("generator").workers, ElementsAre(1));
  EXPECT_THAT(job.named_hosts, IsEmpty());
}

TEST(FormerWorkers, OfAStoredJobAreReadAsRanks) {
  JobSpec old = parse_job("layout: {generator: [0, 2], discriminator: [1]}", "job.yaml");
  EXPECT_THAT(old.placement("generator").workers, ElementsAre(0, 2));
  EXPECT_THAT(old.placement("discriminator").workers, ElementsAre(1));
  const JobSpec now = parse_job("layout: {generator: [1, 3], discriminator: [2]}", "job.yaml");
  EXPECT_EQ(now, old);
  EXPECT_THAT(to_yaml(now), HasSubstr("  generator: [1, 3]\n  discriminator: [2]\n"));
}

TEST(FormerWorkers, OfAUserAreRefusedWithTheirRanks) {
  EXPECT_EQ(refusal("layout: {generator: [0, 1]}"),
            "job.yaml:1:10: layout.generator: workers are named by rank, from 1: '[0, 1]' is "
            "'[1, 2]' now");
}

TEST(HostNames, AreRefusedInOneLineWhereTheyCannotBeUnderstood) {
  EXPECT_EQ(
      refusal("layout: {generator: [node-x]}"),
      "job.yaml:1:10: layout.generator: no worker is on host 'node-x'; workers are on node-a, "
      "me@node-b.cluster, node-b.cluster, node-c");
  const ResolvedJob job = loaded("layout: {generator: [node-x]}");
  JobSpec spec = job.spec;
  try {
    place_on_hosts(spec, job.named_hosts, {"node-a", "node-b", "node-a"});  // workers alternate
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), EndsWith("workers are on node-a, node-b"));
  }
  EXPECT_THAT(
      refusal("layout: {generator: [node-a]}", /*may_name_hosts=*/false),
      HasSubstr("layout.generator: 'node-a' is a host, and hosts are known to `gangway run` "
                "alone; name ranks, as in [1, 3]"));
  EXPECT_THAT(refusal("layout: {generator: [node-a, 2]}"),
              HasSubstr("expected names of hosts alone, or ranks alone"));
  EXPECT_THAT(refusal("layout: {generator: [node-a, node-a]}"),
              HasSubstr("host 'node-a' is named twice"));
  EXPECT_THAT(refusal("layout: {cuts: {generator: [node-a]}}"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("layout: {shares: [1, 1, 1, 1], generator: [node-a]}\n"
                      "training: {microbatches: 4}"),
              HasSubstr("layout.shares"))
      << "a rule that holds until hosts have their workers";
}

}  // namespace
}  // namespace gangway
