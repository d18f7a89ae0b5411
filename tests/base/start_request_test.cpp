// SPDX-License-Identifier: MIT
#include "run/start_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

std::string request_refusal(const std::filesystem::path& file) {
  try {
    (void)read_request(file);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "none";
}

TEST(StartRequest, IsReadAsItWasWritten) {
  const testing::ScratchFolder folder;
  const StartRequest request{.job_file = "a job.yaml",
                             .overrides = {"training.kimg=1"},
                             .outdir = "/runs",
                             .run_name = "a",
                             .run_directory = "/runs/00000-a",
                             .resume = "runs/a/checkpoints/step-000000004",
                             .trace = "100:110,shapes",
                             .command = "gangway run 'a job.yaml'",
                             .resume_command = "gangway run \"b\" --resume auto",
                             .goes_on = true,
                             .is_again = true,
                             .replay = "runs/b",
                             .lifeline_port = 65535,
                             .device = {.name = "h100",
                                        .precision = Precision::kBf16,
                                        .contiguous = {Precision::kFp32, Precision::kTf32},
                                        .cuda_graph = GraphChoice::kOn,
                                        .nccl_ctas = 16,
                                        .bucket_bytes = 4 << 20},
                             .bar_columns = 80,
                             .start_deadline = 0.5};
  EXPECT_EQ(read_request(folder.write(std::string(kRequestFile), to_json(request))), request);
}

TEST(StartRequest, IsRefusedInOneLineWhereItIsDamagedOrGone) {
  const testing::ScratchFolder folder;
  EXPECT_THAT(request_refusal(folder.path() / kRequestFile), ::testing::HasSubstr("damaged"));
  for (const char* text : {"", "{}", "[]", R"({"resume": 3})", "{\"resume\": \"auto\""}) {
    EXPECT_THAT(request_refusal(folder.write(std::string(kRequestFile), text)),
                ::testing::HasSubstr("request.json: damaged"))
        << text;
  }
}

}  // namespace
}  // namespace gangway
