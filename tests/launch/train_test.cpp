// SPDX-License-Identifier: MIT
#include "launch/run/train.hpp"

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

std::string refusal(const Environment& environment) {
  try {
    (void)launched_rank(environment);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return {};
}

TEST(LaunchedRank, IsTakenFromOpenMpiThenFromPmix) {
  EXPECT_EQ(launched_rank({{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "5"}}), Rank(2));
  EXPECT_EQ(launched_rank({{"PMIX_RANK", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}}),
            Rank(0));
}

TEST(LaunchedRank, NamesTheFixForSlurmWithoutMpi) {
  EXPECT_NE(refusal({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}}).find("srun --mpi=pmix"),
            std::string::npos);
}

TEST(LaunchedRank, NamesTheFixWithoutAnyLauncher) {
  EXPECT_NE(refusal({}).find("gangway run"), std::string::npos);
  EXPECT_NE(refusal({{"SLURM_NTASKS", "3"}}).find("mpirun"), std::string::npos)
      << "inside an allocation, but not a task";
}

TEST(LaunchedRank, RefusesWhatIsNoNumber) {
  EXPECT_NE(refusal({{"PMIX_RANK", "one"}}).find("'one'"), std::string::npos);
  EXPECT_NE(refusal({{"PMIX_RANK", "-1"}}).find("'-1'"), std::string::npos);
}

}  // namespace
}  // namespace gangway::launch
