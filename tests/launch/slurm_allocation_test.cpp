// SPDX-License-Identifier: MIT
#include "launch/mpirun/slurm_allocation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The variables of Slurm 22.05 in the script of `sbatch --nodes=2 --ntasks=5`.
const Environment kFiveTasks{{"SLURM_JOB_ID", "42"},
                             {"SLURM_JOB_NODELIST", "node[1-2]"},
                             {"SLURM_NTASKS", "5"},
                             {"SLURM_TASKS_PER_NODE", "3,2"},
                             {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"}};

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) {
    environment[name] = value;
  }
  return environment;
}

TEST(HostList, IsExpandedAsScontrolShowHostnamesDoes) {
  EXPECT_THAT(expand_host_list("node1"), ElementsAre("node1"));
  EXPECT_THAT(expand_host_list("gpu[01-03,7]-ib,login"),
              ElementsAre("gpu01-ib", "gpu02-ib", "gpu03-ib", "gpu7-ib", "login"));
  EXPECT_THAT(expand_host_list("n[099-101]"), ElementsAre("n099", "n100", "n101"));
  EXPECT_THAT(expand_host_list("r[1-2]n[3-4]"), ElementsAre("r1n3", "r1n4", "r2n3", "r2n4"));
}

TEST(HostList, IsRefusedWhereItIsNone) {
  for (const char* list : {"", "a,,b", "n[1-2", "n[a-b]", "n[1-", "n[1-999999999]"}) {
    EXPECT_THROW((void)expand_host_list(list), EnvironmentError) << list;
  }
}

TEST(Counts, AreExpanded) {
  EXPECT_THAT(expand_counts("4(x2),3"), ElementsAre(4, 4, 3));
  for (const char* counts : {"", "x", "4(x2", "4(x)", "4,", "-1"}) {
    EXPECT_THROW((void)expand_counts(counts), EnvironmentError) << counts;
  }
}

TEST(SlurmAllocation, IsNoneOutside) {
  EXPECT_FALSE(find_slurm_allocation({}, DeviceKind::kCpu));
  EXPECT_FALSE(find_slurm_allocation({{"SLURM_CONF", "/etc/slurm.conf"}}, DeviceKind::kCpu));
}

TEST(SlurmAllocation, HasASlotATaskButOneForTheCoordinator) {
  const auto found = find_slurm_allocation(kFiveTasks, DeviceKind::kCpu);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->hosts, ElementsAre(Host{"node1", 2}, Host{"node2", 2}));
  EXPECT_EQ(describe(*found, 4),
            "slurm  job 42 on node[1-2]: 4 slots by its tasks; one coordinator and 4 workers (-n "
            "and --hostfile say otherwise)");
}

TEST(SlurmAllocation, OfOneTaskHasASlotAllTheSame) {
  const auto found = find_slurm_allocation(
      with(kFiveTasks,
           {{"SLURM_JOB_NODELIST", "node1"}, {"SLURM_NTASKS", "1"}, {"SLURM_TASKS_PER_NODE", "1"}}),
      DeviceKind::kCpu);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->hosts, ElementsAre(Host{"node1", 1}));
}

TEST(SlurmAllocation, KeepsAHostThatHoldsTheCoordinatorAlone) {
  const auto found = find_slurm_allocation(
      with(kFiveTasks, {{"SLURM_NTASKS", "2"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}}),
      DeviceKind::kCpu);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->hosts, ElementsAre(Host{"node1", 0}, Host{"node2", 1}));
}

TEST(SlurmAllocation, WithoutTasksCountsCoresOrGpusByTheDevice) {
  Environment environment = with(kFiveTasks, {{"SLURM_GPUS_PER_NODE", "h100:4"}});
  environment.erase("SLURM_NTASKS");
  const auto cores = find_slurm_allocation(environment, DeviceKind::kCpu);
  ASSERT_TRUE(cores);
  EXPECT_EQ(cores->counted, "cores");
  EXPECT_THAT(cores->hosts, ElementsAre(Host{"node1", 8}, Host{"node2", 8}));
  const auto gpus = find_slurm_allocation(environment, DeviceKind::kCuda);
  ASSERT_TRUE(gpus);
  EXPECT_EQ(gpus->counted, "GPUs");
  EXPECT_THAT(gpus->hosts, ElementsAre(Host{"node1", 4}, Host{"node2", 4}));
  environment.erase("SLURM_GPUS_PER_NODE");
  environment["SLURM_GPUS_ON_NODE"] = "8";  // from --gres=gpu:8
  EXPECT_THAT(find_slurm_allocation(environment, DeviceKind::kCuda)->hosts,
              ElementsAre(Host{"node1", 8}, Host{"node2", 8}));
}

TEST(SlurmAllocation, RefusesToBeStartedManyTimesBySrun) {
  try {
    (void)find_slurm_allocation(with(kFiveTasks, {{"SLURM_STEP_NUM_TASKS", "5"}}),
                                DeviceKind::kCpu);
    FAIL() << "five supervisors would start five jobs";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("srun --mpi=pmix gangway train"));
  }
}

TEST(SlurmAllocation, RefusesVariablesThatDoNotFitOneAnother) {
  EXPECT_THROW((void)find_slurm_allocation(with(kFiveTasks, {{"SLURM_TASKS_PER_NODE", "5"}}),
                                           DeviceKind::kCpu),
               EnvironmentError);
}

}  // namespace
}  // namespace gangway::launch
