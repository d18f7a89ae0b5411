// SPDX-License-Identifier: MIT
// Thousands of workers, simulated: how what a coordinator sends and decides grows with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "bench/workers/simulated_job.hpp"

namespace gangway::bench {
namespace {

constexpr int kFew = 512;
constexpr int kMany = 4096;

std::size_t bytes_of(const std::map<std::string, Traffic>& traffic) {
  std::size_t bytes = 0;
  for (const auto& [kind, of] : traffic) {
    bytes += of.bytes;
  }
  return bytes;
}

TEST(SimulatedWorkers, StartWithFourMessagesEachAndBytesThatGrowAsTheyDo) {
  SimulatedJob few(kFew);
  SimulatedJob many(kMany);
  few.start();
  many.start();
  for (const char* kind : {"Hello", "Inventory", "Ready"}) {
    EXPECT_EQ(many.from_workers().at(kind).messages, std::size_t{kMany}) << kind;
  }
  EXPECT_EQ(many.to_workers().at("Welcome").messages, std::size_t{kMany});
  EXPECT_EQ(many.to_workers().at("Begin").messages, std::size_t{kMany});
  EXPECT_EQ(many.to_workers().at("Begin").encodings, 1U);
  const auto growth = [&](const char* kind) {
    return static_cast<double>(many.to_workers().at(kind).bytes) /
           static_cast<double>(few.to_workers().at(kind).bytes);
  };
  EXPECT_LT(growth("Welcome"), 1.05 * kMany / kFew);
  // A snapshot's holders are one entry a host, a few bytes of those.
  EXPECT_LT(many.to_workers().at("Begin").bytes / kMany,
            20U * kMany / SimulatedJob::kWorkersPerHost);
  EXPECT_LT(static_cast<double>(bytes_of(many.from_workers())),
            1.1 * kMany / kFew * static_cast<double>(bytes_of(few.from_workers())));
}

TEST(SimulatedWorkers, TrainAndSaveWithTwoMessagesAStepAtMostEach) {
  SimulatedJob job(kMany);
  job.start();
  const std::int64_t begin = job.step();
  job.train(5);
  job.save();
  EXPECT_EQ(job.run_end(), std::nullopt);
  EXPECT_EQ(job.from_workers().at("Progress").messages,
            static_cast<std::size_t>(kMany * (job.step() - begin)));
  EXPECT_EQ(job.from_workers().at("CheckpointPart").messages, std::size_t{kMany});
  const Traffic& leases = job.to_workers().at("Lease");
  EXPECT_EQ(leases.messages, leases.encodings * kMany) << "a lease is encoded once";
}

TEST(SimulatedWorkers, AreAllToldOfALossByOneMessageThatIsEncodedOnce) {
  SimulatedJob job(kMany);
  job.start();
  job.train(1);
  (void)job.lose(77);
  ASSERT_TRUE(job.run_end().has_value());
  EXPECT_EQ(job.run_end()->rank, Rank(77));
  EXPECT_EQ(job.to_workers().at("Stop").messages, std::size_t{kMany - 1});
  EXPECT_EQ(job.to_workers().at("Stop").encodings, 1U);
}

TEST(SimulatedWorkers, NameTheOneThatIsSilentWhenAllOthersComplain) {
  SimulatedJob job(kMany);
  job.start();
  (void)job.complain(1234);
  ASSERT_TRUE(job.run_end().has_value());
  EXPECT_EQ(job.run_end()->rank, Rank(1234));
  EXPECT_EQ(job.run_end()->exit_code, static_cast<int>(ExitCode::kWorkerLost));
}

}  // namespace
}  // namespace gangway::bench
