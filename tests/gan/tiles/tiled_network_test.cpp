// SPDX-License-Identifier: MIT
// Compares networks strip by strip with their own forward().
#include "gan/tiles/tiled_network.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/graph_values.hpp"
#include "job/file/parse.hpp"
#include "job/primitives/primitives.hpp"
#include "tests/gan/network_values.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::gan {
namespace {

constexpr const char* kJohnson =
    "model: {family: johnson, width: 4, blocks: 2, channels: 3}\n"
    "training: {recipe: style-transfer, style: {picture: x.png}}\n"
    "features: {weights: w.safetensors}\ndata: {source: 'images:x'}\n";
constexpr const char* kCyclegan =  // with zeros and with mirrored pixels at its borders
    "model: {family: cyclegan, width: 6, blocks: 2}\n"
    "training: {recipe: cyclegan}\ndata: {source: 'classes:fashion-mnist:5,7'}\n";
constexpr const char* kUnet =
    "model: {family: unet, width: 4, channels: 3}\ntraining: {recipe: pix2pix}\n"
    "data: {source: 'pairs:x'}\n";

/// A job's shown network, whole and for strips.
struct Both {
  explicit Both(const std::string& text)
      : job(parse_job(text, "test job")),
        networks(build_networks(job)),
        whole(networks[job.shown_network()]),
        tiled(graph_of()) {}

  PrimitiveGraph graph_of() {
    testing::fill(whole, job, /*images=*/0);
    return primitives_of(job.architectures()[job.shown_network()], job.settled_model(),
                         whole.growth(), graph_values(whole));
  }

  at::Tensor picture(std::int64_t count, std::int64_t height, std::int64_t width) {
    return keyed_normal(
               {.seed = 5},
               {count, job.model.channels, tiled.padded_side(height), tiled.padded_side(width)},
               at::kCPU)
        .clamp(-1.0, 1.0);
  }

  at::Tensor by_strips(const at::Tensor& picture, const TileLimits& limits) {
    at::Tensor result = at::full_like(picture, 9.0);
    std::int64_t next = 0;
    tiled.apply(
        {picture.size(0), picture.size(2), picture.size(3)}, limits,
        [&](Rows rows) {
          return picture.narrow(2, rows.begin, rows.count())
              .contiguous(at::MemoryFormat::ChannelsLast);
        },
        [&](Rows rows, const at::Tensor& made) {
          EXPECT_EQ(rows.begin, next);
          next = rows.end;
          result.narrow(2, rows.begin, rows.count()).copy_(made);
        });
    EXPECT_EQ(next, picture.size(2));
    return result;
  }

  JobSpec job;
  PerNetwork<Network> networks;
  Network& whole;
  TiledNetwork tiled;
};

float difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<float>();
}

class TiledNetworks : public ::testing::TestWithParam<const char*> {};

TEST_P(TiledNetworks, MakeWhatTheNetworkMakesWhole) {
  const at::NoGradGuard no_grad;
  Both both(GetParam());
  for (const auto& [count, height, width] :
       std::vector<MapSize>{{1, 45, 61}, {2, 64, 33}, {1, 9, 130}, {1, 1, 1}}) {
    const at::Tensor picture = both.picture(count, height, width);
    const at::Tensor expected =
        both.whole.forward({{"image", picture}}, {.mode = Mode::kEvaluation});
    ASSERT_EQ(expected.sizes(), picture.sizes());
    // Of 47 and 63 rows one row remains.
    for (const std::int64_t rows : {0, 1, 3, 7, 47, 63}) {
      EXPECT_LE(difference(both.by_strips(picture, {.scratch = {}, .rows = rows}), expected), 1e-4F)
          << height << " x " << width << ", strips of " << rows;
    }
  }
}

TEST_P(TiledNetworks, MakeTheSameBitsWithFilesAndWithMemory) {
  Both both(GetParam());
  const testing::ScratchFolder folder;
  const at::Tensor picture = both.picture(1, 500, 32);
  const std::int64_t little = both.tiled.num_bytes({1, picture.size(2), 32}) / 6;
  const TileLimits in_files{.memory_bytes = little, .scratch = folder.path(), .rows = 12};
  EXPECT_TRUE(both.by_strips(picture, in_files)
                  .equal(both.by_strips(picture, {.scratch = {}, .rows = 12})));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  try {
    (void)both.by_strips(picture, {.memory_bytes = little, .scratch = folder.path() / "none"});
    FAIL() << "no map was in a file";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("none: a scratch file there cannot be made"));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TiledNetworks, ::testing::Values(kJohnson, kCyclegan, kUnet));

TEST(TiledNetwork, PadsSidesToWhatTheStridesDivide) {
  const Both johnson(kJohnson);
  EXPECT_EQ(johnson.tiled.padded_side(45), 48);
  EXPECT_EQ(johnson.tiled.padded_side(48), 48);
  EXPECT_EQ(johnson.tiled.padded_side(1), 8) << "a quarter is wider than its border of 1";
  const Both unet(kUnet);
  EXPECT_EQ(unet.tiled.padded_side(45), 64);
  EXPECT_EQ(unet.tiled.padded_side(1), 32);
}

TEST(TiledNetwork, MirrorsRowsThatItsStripDoesNotReach) {
  // Where a kernel is smaller than 2 padding + 1, as in no family, a border mirrors further rows.
  const std::vector<float> taps{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const TiledNetwork tiled(
      {.tensors = {{.name = "image", .shape = {1, 1, 8, 8}},
                   {.shape = {1, 1, 12, 12}},
                   {.shape = {1, 1, 3, 3}, .is_constant = true, .values = taps},
                   {.shape = {1, 1, 10, 10}},
                   {.shape = {1}, .is_constant = true, .values = {1}},
                   {.shape = {1}, .is_constant = true, .values = {0}},
                   {.shape = {1, 1, 10, 10}},
                   {.shape = {1, 1, 8, 8}}},
       .primitives = {{.operation = Operation::kReflection,
                       .inputs = {0},
                       .output = 1,
                       .window = {.padding = 2}},
                      {.operation = Operation::kConvolution,
                       .inputs = {1, 2},
                       .output = 3,
                       .window = {.kernel = 3}},
                      {.operation = Operation::kInstanceNorm,
                       .inputs = {3, 4, 5},
                       .output = 6,
                       .number = 1e-5},
                      {.operation = Operation::kConvolution,
                       .inputs = {6, 2},
                       .output = 7,
                       .window = {.kernel = 3}}},
       .inputs = {0},
       .outputs = {7}});
  const at::Tensor picture = keyed_normal({.seed = 5}, {1, 1, 8, 8}, at::kCPU);
  const auto in_strips_of = [&](std::int64_t rows) {
    at::Tensor result = at::empty_like(picture);
    tiled.apply(
        {1, 8, 8}, {.scratch = {}, .rows = rows},
        [&](Rows one) { return picture.narrow(2, one.begin, one.count()); },
        [&](Rows one, const at::Tensor& made) {
          result.narrow(2, one.begin, one.count()).copy_(made);
        });
    return result;
  };
  EXPECT_LE(difference(in_strips_of(1), in_strips_of(10)), 1e-4F);
}

TEST(TiledNetwork, NamesTheMemoryThatAWidePictureNeeds) {
  Both both(kJohnson);
  const at::Tensor picture = both.picture(1, 8, 4000);
  EXPECT_THAT([&] { (void)both.by_strips(picture, {.memory_bytes = 1 << 20, .scratch = {}}); },
              ::testing::ThrowsMessage<ConfigError>(
                  ::testing::StartsWith("4000 pixels wide: needs --memory 0.1")));
}

}  // namespace
}  // namespace gangway::gan
