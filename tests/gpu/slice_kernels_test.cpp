// SPDX-License-Identifier: MIT
// The fused update on the GPU has the bits of its host reference.
#include "comm/cuda/slice_kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/figure_kernels.hpp"
#include "tests/comm/cuda/host_references.hpp"
#include "tests/comm/toy_job.hpp"
#include "tests/gpu/device_memory.hpp"

namespace gangway::comm {
namespace {

std::vector<float> scattered_values(std::uint64_t key, std::size_t elements) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    values[i] = scattered(key * 1'000'000'007U + i);
  }
  return values;
}

/// One slice on the host and its copy on the device, with M partials of one micro-batch each.
struct SlicePair {
  std::vector<std::vector<float>> partials;
  std::vector<DeviceArray<float>> device_partials;
  std::vector<float> weights, first, second, average;
  DeviceArray<float> device_weights, device_first, device_second, device_average;
  SumProgram program;
  std::int64_t elements;

  SlicePair(int num_microbatches, std::size_t count)
      : weights(scattered_values(1, count)),
        first(scattered_values(2, count)),
        second(count, 0.01F),
        average(scattered_values(3, count)),
        device_weights(weights),
        device_first(first),
        device_second(second),
        device_average(average),
        elements(static_cast<std::int64_t>(count)) {
    std::vector<MicrobatchRange> leaves;
    for (int m = 0; m < num_microbatches; ++m) {
      leaves.push_back({m, m + 1});
      partials.push_back(scattered_values(static_cast<std::uint64_t>(m) + 10U, count));
      device_partials.emplace_back(partials.back());
    }
    program = tree_sum_program(leaves, {0, num_microbatches});
  }

  [[nodiscard]] SliceUpdate update(bool on_device) {
    SliceUpdate described{.program = program,
                          .elements = elements,
                          .parameter_elements = elements / 2 / 4096 * 4096,
                          .scale = 1.0F / static_cast<float>(program.num_summands),
                          .weights = on_device ? device_weights.data() : weights.data(),
                          .moments = {on_device ? device_first.data() : first.data(),
                                      on_device ? device_second.data() : second.data()},
                          .average = on_device ? device_average.data() : average.data()};
    for (std::size_t i = 0; i < partials.size(); ++i) {
      described.summands.values[i] = on_device ? device_partials[i].data() : partials[i].data();
    }
    return described;
  }
};

class SliceKernels : public GpuTest {};

constexpr UpdatePlan kAdam{.settings = {.lr = 2e-4, .betas = {0.5, 0.99}},
                           .counts = {.updates = 1},
                           .harvests = 3,
                           .average_decay = 0.99};
constexpr UpdatePlan kAdamW{.settings = {.kind = OptimizerKind::kAdamW,
                                         .lr = 1e-3,
                                         .betas = {0.9, 0.999},
                                         .weight_decay = 0.01},
                            .counts = {.updates = 4},
                            .average_decay = 0.9};
constexpr UpdatePlan kDecayed{.settings = {.lr = 1e-3, .betas = {0.9, 0.999}, .weight_decay = 0.01},
                              .counts = {.updates = 0}};
constexpr UpdatePlan kRmsprop{.settings = {.kind = OptimizerKind::kRmsprop, .momentum = 0.5},
                              .counts = {.updates = 2}};
constexpr UpdatePlan kSgd{.settings = {.kind = OptimizerKind::kSgd, .momentum = 0.9},
                          .counts = {.updates = 2}};
constexpr UpdatePlan kLion{.settings = {.kind = OptimizerKind::kLion, .weight_decay = 0.01},
                           .counts = {.updates = 2}};

TEST_F(SliceKernels, UpdateWithTheBitsOfTheHost) {
  for (const int num_microbatches : {1, 2, 3, 7, 16, 100}) {
    for (const UpdatePlan& plan : {kAdam, kAdamW, kDecayed, kRmsprop, kSgd, kLion}) {
      SCOPED_TRACE(testing::Message() << num_microbatches << " micro-batches");
      SlicePair pair(num_microbatches, 5 * 4096);
      const UpdateConstants constants = update_constants(plan, 0.1);
      DeviceArray<UpdateConstants> device_constants(1);
      launch_store_constants(constants, device_constants.data(), nullptr);
      const float clip = 0.71F;
      DeviceArray<float> device_clip(std::vector<float>{clip});
      SliceUpdate host = pair.update(false);
      host.optimizer = plan.settings.kind;
      host.constants = &constants;
      host.clip_scale = &clip;
      SliceUpdate device = pair.update(true);
      device.optimizer = plan.settings.kind;
      device.constants = device_constants.data();
      device.clip_scale = device_clip.data();
      update_slice_on_host(host);
      launch_update(device, nullptr);
      EXPECT_TRUE(same_bits(pair.device_weights.on_host(), pair.weights));
      EXPECT_TRUE(same_bits(pair.device_first.on_host(), pair.first));
      EXPECT_TRUE(same_bits(pair.device_second.on_host(), pair.second));
      EXPECT_TRUE(same_bits(pair.device_average.on_host(), pair.average));
    }
  }
}

TEST_F(SliceKernels, ShowTheMeanThatTheOptimiserTakes) {
  SlicePair pair(5, std::size_t{4096} * 6);
  const float clip = 0.71F;
  DeviceArray<float> device_clip(std::vector<float>{clip});
  SliceUpdate host = pair.update(false);
  host.clip_scale = &clip;
  SliceUpdate device = pair.update(true);
  device.clip_scale = device_clip.data();
  std::vector<float> expected(static_cast<std::size_t>(pair.elements));
  DeviceArray<float> out(expected.size());
  mean_on_host(host, expected.data());
  launch_mean(device, out.data(), nullptr);
  EXPECT_TRUE(same_bits(out.on_host(), expected));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = pair.weights[i] - expected[i];
  }
  launch_difference(pair.device_weights.data(), out.data(), pair.elements, nullptr);
  EXPECT_TRUE(same_bits(out.on_host(), expected));
}

TEST_F(SliceKernels, CountValuesAsTheHostDoes) {
  for (const std::size_t count : {1U, 511U, 512U, 100'003U}) {
    std::vector<float> values = scattered_values(6, count);
    values.back() = std::numeric_limits<float>::quiet_NaN();
    ValueCounts expected{};
    DeviceArray<float> device_values(values);
    DeviceArray<ValueCounts> counts(std::vector<ValueCounts>{expected});
    for (int again = 0; again < 2; ++again) {
      count_on_host(values.data(), static_cast<std::int64_t>(count), expected);
      launch_count(device_values.data(), static_cast<std::int64_t>(count), counts.data(), nullptr);
    }
    const ValueCounts found = counts.on_host().front();
    EXPECT_TRUE(std::ranges::equal(found.counts, expected.counts)) << count;
    EXPECT_EQ(found.total, expected.total);
    EXPECT_EQ(found.least, expected.least);
    EXPECT_EQ(found.most, expected.most);
    EXPECT_NEAR(found.sum, expected.sum, 1e-9 * expected.sum_of_squares);
    EXPECT_NEAR(found.sum_of_squares, expected.sum_of_squares, 1e-9 * expected.sum_of_squares);
  }
}

TEST_F(SliceKernels, SumSlicesThatAreLargerThanTheGrid) {
  SlicePair pair(5, std::size_t{4096} * 700);
  std::vector<float> expected(static_cast<std::size_t>(pair.elements));
  DeviceArray<float> out(expected.size());
  SliceSum sum{.program = pair.program, .elements = pair.elements, .scale = 0.2F};
  sum.summands = pair.update(false).summands;
  sum.out = expected.data();
  sum_slice_on_host(sum);
  sum.summands = pair.update(true).summands;
  sum.out = out.data();
  launch_sum(sum, nullptr);
  EXPECT_TRUE(same_bits(out.on_host(), expected));
}

TEST_F(SliceKernels, SumSquaresAndDecideOnClippingAsTheHostDoes) {
  for (const std::int64_t num_blocks : {1, 2, 3, 5, 13, 64, 1000, 3201}) {
    SCOPED_TRACE(testing::Message() << num_blocks << " blocks");
    const auto blocks = static_cast<std::size_t>(num_blocks);
    const std::vector<float> values = scattered_values(4, blocks * kBlockElements);
    std::vector<double> squares(blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
      squares[block] = block_sum_of_squares(values.data() + block * kBlockElements);
    }
    double norm = 0.0;
    float scale = 0.0F;
    ClipDecision decision{.squares = squares.data(),
                          .num_blocks = num_blocks,
                          .clip_norm = 1e-2,
                          .squared_norm = &norm,
                          .clip_scale = &scale};
    decide_clip_on_host(decision);

    DeviceArray<float> device_values(values);
    DeviceArray<double> device_squares(blocks);
    DeviceArray<double> scratch(blocks);
    DeviceArray<double> device_norm(1);
    DeviceArray<float> device_scale(1);
    launch_block_squares(device_values.data(), num_blocks, device_squares.data(), nullptr);
    decision.squares = device_squares.data();
    decision.squared_norm = device_norm.data();
    decision.clip_scale = device_scale.data();
    launch_clip_decision(decision, scratch.data(), nullptr);
    EXPECT_EQ(device_squares.on_host(), squares);
    EXPECT_EQ(device_norm.on_host().front(), norm);
    EXPECT_EQ(device_scale.on_host().front(), scale);
  }
}

TEST_F(SliceKernels, RoundForTheWireAsTheHostDoes) {
  for (const WireType type : {WireType::kBfloat16, WireType::kFloat16}) {
    constexpr std::size_t kCount = 3 * 4096;
    const std::vector<float> values = scattered_values(5, kCount);
    std::vector<float> residual(kCount, 1e-5F);
    std::vector<std::uint16_t> out(kCount);
    DeviceArray<float> device_values(values);
    DeviceArray<float> device_residual(residual);
    DeviceArray<std::uint16_t> device_out(kCount);
    encode_on_host({.values = values.data(),
                    .residual = residual.data(),
                    .out = out.data(),
                    .type = type,
                    .elements = kCount});
    launch_encode({.values = device_values.data(),
                   .residual = device_residual.data(),
                   .out = device_out.data(),
                   .type = type,
                   .elements = kCount},
                  nullptr);
    EXPECT_EQ(device_out.on_host(), out);
    EXPECT_TRUE(same_bits(device_residual.on_host(), residual));
  }
}

TEST_F(SliceKernels, TakeSummandsInTheWiresType) {
  SlicePair pair(3, 4096);
  std::vector<std::uint16_t> wire(4096);
  encode_on_host({.values = pair.partials[1].data(),
                  .out = wire.data(),
                  .type = WireType::kFloat16,
                  .elements = 4096});
  DeviceArray<std::uint16_t> device_wire(wire);
  std::vector<float> expected(4096);
  DeviceArray<float> out(expected.size());
  SliceSum sum{.program = pair.program, .elements = 4096, .scale = 0.5F};
  sum.summands = pair.update(false).summands;
  sum.summands.types[1] = WireType::kFloat16;
  sum.summands.values[1] = wire.data();
  sum.out = expected.data();
  sum_slice_on_host(sum);
  sum.summands = pair.update(true).summands;
  sum.summands.types[1] = WireType::kFloat16;
  sum.summands.values[1] = device_wire.data();
  sum.out = out.data();
  launch_sum(sum, nullptr);
  EXPECT_TRUE(same_bits(out.on_host(), expected));
}

}  // namespace
}  // namespace gangway::comm
