// SPDX-License-Identifier: MIT
#include "launch/run/job_hosts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/this_host.hpp"

namespace gangway::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec job_of_microbatches(int microbatches) {
  JobSpec spec;
  spec.training.microbatches = microbatches;
  return spec;
}

Environment allocation(const std::string& nodes, const std::string& tasks_per_node) {
  return {{"SLURM_JOB_ID", "7"},
          {"SLURM_JOB_NODELIST", nodes},
          {"SLURM_NTASKS", "5"},
          {"SLURM_TASKS_PER_NODE", tasks_per_node}};
}

TEST(DefaultWorkers, AreAsManyAsSlotsAndMicrobatchesAllow) {
  JobSpec spec = job_of_microbatches(4);
  EXPECT_EQ(default_workers(spec, 2), 2);
  EXPECT_EQ(default_workers(spec, 16), 4);
  spec.numerics.threads = 4;
  EXPECT_EQ(default_workers(spec, 8), 2);
  EXPECT_EQ(default_workers(spec, 1), 1);
  spec.layout.data = 3;
  EXPECT_EQ(default_workers(spec, 1), 3);
  spec.layout.data = 0;
  spec.placement("discriminator").workers = {1, 4};
  EXPECT_EQ(default_workers(spec, 1), 5) << "the layout names rank 5";
}

TEST(JobHosts, OfAnAllocationOfThisHostAloneNeedNoHostfile) {
  const JobHosts chosen = choose_hosts({}, 0, job_of_microbatches(8), allocation(host_name(), "5"));
  EXPECT_THAT(chosen.hosts, IsEmpty());
  EXPECT_EQ(chosen.workers, 4);
  EXPECT_THAT(chosen.found, HasSubstr("one coordinator and 4 workers"));
}

TEST(JobHosts, OfAnAllocationAreSlurms) {
  JobSpec spec = job_of_microbatches(8);
  spec.numerics.threads = 2;
  const JobHosts chosen = choose_hosts({}, 0, spec, allocation("far[1-2]", "3,2"));
  EXPECT_THAT(chosen.hosts, SizeIs(2));
  EXPECT_EQ(chosen.workers, 4) << "a task is a worker's, whatever its threads";
}

TEST(JobHosts, GiveAsManyWorkersAsWereTyped) {
  EXPECT_EQ(choose_hosts({}, 3, job_of_microbatches(8), allocation("far[1-2]", "3,2")).workers, 3);
  EXPECT_EQ(choose_hosts({}, 3, job_of_microbatches(8), {}).workers, 3);
}

TEST(JobHosts, OutsideSlurmAreThisHostAndSaidOfNobody) {
  const JobHosts chosen = choose_hosts({}, 0, job_of_microbatches(1), {});
  EXPECT_THAT(chosen.hosts, IsEmpty());
  EXPECT_EQ(chosen.workers, 1);
  EXPECT_THAT(chosen.found, IsEmpty());
}

TEST(JobHosts, TellWhereEachWorkerIs) {
  EXPECT_THAT(hosts_of({.hosts = {{"far-1", 1}, {"far-2", 2}}, .workers = 3, .found = {}}),
              ::testing::ElementsAre("far-1", "far-2", "far-2"));
  EXPECT_THAT(hosts_of({.hosts = {}, .workers = 2, .found = {}}),
              ::testing::ElementsAre(host_name(), host_name()));
}

}  // namespace
}  // namespace gangway::launch
