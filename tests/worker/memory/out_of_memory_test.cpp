// SPDX-License-Identifier: MIT
#include "worker/memory/out_of_memory.hpp"

#include <new>
#include <stdexcept>

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"

namespace gangway::worker {
namespace {

using ::testing::HasSubstr;

/// Returns the line on memory; "" for another failure.
std::string line_of(const std::exception& error, const FailedRequests& requests = {}) {
  const JobSpec job = load_job({.file = {}, .text = std::nullopt, .overrides = {}}).spec;
  return out_of_memory(error, requests, job, resolve_layout(job, 1)).value_or("");
}

TEST(OutOfMemory, IsKnownByItsTypeAndNeverByItsText) {
  EXPECT_THAT(line_of(std::bad_alloc()), HasSubstr("out of memory with "));
  EXPECT_THAT(line_of(std::bad_alloc()),
              HasSubstr("no bit changes with layout.stages=2 and 2 workers"));
  const c10::OutOfMemoryError cuda({__func__, __FILE__, 1},
                                   "CUDA out of memory. Tried 2 GiB\nmore");
  EXPECT_THAT(line_of(cuda), HasSubstr("resident: CUDA out of memory. Tried 2 GiB; no bit"));
  EXPECT_EQ(line_of(std::runtime_error("out of memory")), "");
}

TEST(OutOfMemory, IsKnownOfLibTorchByWhatItsAllocatorCouldNotGive) {
  const FailedRequests& requests = watch_requests();
  const at::Tensor small = at::ones({1024});
  EXPECT_EQ(requests.largest(), 0);
  constexpr std::int64_t kTooMany = std::int64_t{1} << 50;
  EXPECT_ANY_THROW((void)at::empty({kTooMany}));
  EXPECT_ANY_THROW((void)at::empty({kTooMany / 2}));
  EXPECT_EQ(requests.largest(), sizeof(float) * kTooMany);
  EXPECT_THAT(line_of(std::runtime_error("another's words"), requests),
              HasSubstr("a request of 4294967296.0 MiB failed"));
  EXPECT_EQ(small.sum().item<float>(), 1024.0F);
}

}  // namespace
}  // namespace gangway::worker
