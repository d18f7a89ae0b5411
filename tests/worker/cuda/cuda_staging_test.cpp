// SPDX-License-Identifier: MIT
// Transfers of batches to a device, on stand-ins: unchanged bits, at constant addresses, at any
// pace of the streams.
#include "worker/cuda/cuda_staging.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "data/images/pixels.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"

namespace gangway::worker {
namespace {

constexpr std::int64_t kCount = 3;
constexpr std::int64_t kChannels = 2;
constexpr std::int64_t kSide = 5;
constexpr std::size_t kValues = kCount * kChannels * kSide * kSide;

comm::CudaStream make_compute_stream() {
  cudaStream_t stream = nullptr;
  comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a test's stream");
  return comm::CudaStream(stream);
}

class CudaStagingTest : public ::testing::Test {
 protected:
  ~CudaStagingTest() override { fake::dawdle(0); }

  CudaStaging make(MemoryFormat format, std::size_t places = 2) {
    return {{.shape = {kCount, kChannels, kSide, kSide}, .format = format, .num_places = places},
            {.torch = at::kCPU, .compute = compute_.get()}};
  }
  /// Makes the `number`-th batch of a source of 8-bit pixels, or of other values.
  static data::Batch batch(CudaStaging& staging, int number, bool is_8_bit = true) {
    data::Batch made;
    made.request.microbatch = number;
    for (std::size_t i = 0; i < kValues; ++i) {
      const auto byte = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(number) * 31);
      made.images.push_back(is_8_bit ? data::to_unit(byte) : static_cast<float>(byte) * 0.3F);
    }
    made.labels = {number, number + 1, number + 2};
    data::pack(
        made.images, made.labels, [&](std::size_t bytes) { return staging.allocate(bytes); },
        made.packed);
    return made;
  }
  /// Returns the device's values after all its queued work.
  at::Tensor now(const at::Tensor& tensor) {
    comm::check(cudaStreamSynchronize(compute_.get()), "a test's stream");
    return tensor.clone();
  }
  static at::Tensor as_read(data::Batch& read) {
    return at::from_blob(read.images.data(), {kCount, kChannels, kSide, kSide}, at::kFloat).clone();
  }

  comm::CudaStream compute_ = make_compute_stream();
};

TEST_F(CudaStagingTest, KeepsTheBitsInBothMemoryFormatsAsBytesAndAsFloats) {
  for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
    for (const bool is_8_bit : {true, false}) {
      CudaStaging staging = make(format);
      data::Batch read = batch(staging, 4, is_8_bit);
      EXPECT_EQ(read.packed.is_8_bit, is_8_bit);
      const at::Tensor expected = as_read(read);
      staging.stage(std::move(read));
      const RealBatch& put = staging.put(1);
      EXPECT_TRUE(now(put.images).equal(expected));
      EXPECT_TRUE(put.images.is_contiguous(format == MemoryFormat::kChannelsLast
                                               ? at::MemoryFormat::ChannelsLast
                                               : at::MemoryFormat::Contiguous));
      EXPECT_TRUE(now(put.labels).equal(at::tensor({4, 5, 6}, at::kLong)));
    }
  }
}

TEST_F(CudaStagingTest, TakesWhatItKeepsFromItsOwnMemory) {
  for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
    fake::dawdle(3);
    CudaStaging staging(
        {.shape = {kCount, kChannels, kSide, kSide}, .format = format, .examples = 8},
        {.torch = at::kCPU, .compute = compute_.get()});
    ASSERT_NE(staging.kept(), nullptr);
    const auto allocate = [&](std::size_t bytes) { return staging.allocate(bytes); };
    std::vector<at::Tensor> expected;
    for (const std::vector<std::int64_t>& places :
         {std::vector<std::int64_t>{5, 0, 7}, {2, 3, 1}}) {
      EXPECT_FALSE(staging.kept()->has_all(places));
      data::Batch read = batch(staging, static_cast<int>(places[0]));
      expected.push_back(as_read(read));
      read.places = places;
      data::pack(read.images, read.labels, allocate, read.packed, places);
      staging.stage(std::move(read));
      (void)staging.put(0);
      EXPECT_TRUE(staging.kept()->has_all(places));
    }
    data::Batch mixed;
    mixed.places = {3, 5, 2};
    data::pack_kept(mixed.places, kValues, allocate, mixed.packed);
    EXPECT_LT(mixed.packed.bytes, kValues);
    staging.stage(std::move(mixed));
    const RealBatch& put = staging.put(0);
    const at::Tensor images = now(put.images);
    EXPECT_TRUE(images[0].equal(expected[1][1]));
    EXPECT_TRUE(images[1].equal(expected[0][0]));
    EXPECT_TRUE(images[2].equal(expected[1][0]));
    EXPECT_TRUE(now(put.labels).equal(at::tensor({3, 5, 2}, at::kLong)));
  }
}

TEST_F(CudaStagingTest, KeepsNothingThatIsMoreThanATenthOfTheDevice) {
  constexpr std::size_t kExampleBytes = kValues / kCount + sizeof(std::int64_t);
  constexpr std::size_t kTenth = (std::size_t{1} << 30U) / 10;  // a tenth of the stand-in's memory
  const auto keeps = [&](std::size_t examples) {
    const CudaStaging staging({.shape = {kCount, kChannels, kSide, kSide}, .examples = examples},
                              {.torch = at::kCPU, .compute = compute_.get()});
    return staging.kept() != nullptr;
  };
  EXPECT_TRUE(keeps(kTenth / kExampleBytes));
  EXPECT_FALSE(keeps(kTenth / kExampleBytes + 1));
  EXPECT_FALSE(keeps(0));
}

TEST_F(CudaStagingTest, CopiesAheadWithoutTouchingWhatIsStillToBeTakenIn) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    fake::dawdle(seed);
    CudaStaging staging = make(MemoryFormat::kContiguous, 1);
    std::vector<at::Tensor> expected;
    int next = 0;
    for (int taken = 0; taken < 40; ++taken) {
      while (staging.has_room() && next < 40) {
        data::Batch read = batch(staging, next++);
        expected.push_back(as_read(read));
        staging.stage(std::move(read));
      }
      while (std::optional<data::Batch> copied = staging.take_copied()) {  // memory is reused
        std::memset(copied->packed.memory.get(), 0xFF, copied->packed.capacity);
      }
      if (staging.num_staged() == 0) {
        data::Batch read = batch(staging, next++);
        expected.push_back(as_read(read));
        staging.stage(std::move(read));
      }
      EXPECT_EQ(staging.next_request().microbatch, taken);
      EXPECT_TRUE(now(staging.put(0).images).equal(expected[static_cast<std::size_t>(taken)]));
    }
  }
}

TEST_F(CudaStagingTest, WaitsForRoomRatherThanLosingABatch) {
  CudaStaging staging = make(MemoryFormat::kContiguous, 1);
  int staged = 0;
  for (; staged < 50 && staging.num_staged() < 4; ++staged) {
    staging.stage(batch(staging, staged));
  }
  EXPECT_THROW(staging.stage(batch(staging, staged)), InvariantError);
  (void)staging.put(0);
  staging.stage(batch(staging, staged));
  for (int number = 1; number <= staged; ++number) {
    EXPECT_EQ(staging.next_request().microbatch, number);
    (void)staging.put(0);
  }
}

TEST_F(CudaStagingTest, PutsABatchWhereTheLastOneOfItsPlaceWas) {
  CudaStaging staging = make(MemoryFormat::kContiguous);
  staging.stage(batch(staging, 0));
  const void* const first = staging.put(1).images.data_ptr();
  staging.stage(batch(staging, 1));
  EXPECT_NE(staging.put(0).images.data_ptr(), first);
  staging.stage(batch(staging, 2));
  EXPECT_EQ(staging.put(1).images.data_ptr(), first);
}

}  // namespace
}  // namespace gangway::worker
