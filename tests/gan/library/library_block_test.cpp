// SPDX-License-Identifier: MIT
#include "gan/library/library_block.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "job/file/parse.hpp"
#include "job/library/family_library.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/library_files.hpp"

namespace gangway::gan {
namespace {

using ::testing::AllOf;
using testing::bytes_of;
using ::testing::HasSubstr;

JobSpec siren_job() {
  return testing::spec_of("model: {library: '" GANGWAY_SIREN
                          "', family: siren, width: 8, latent: 3}\n"
                          "data: {source: 'toy:ring8'}\n");
}

std::string refusal(const LibrarySpec& spec) {
  try {
    (void)make_block(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(LibraryBlock, ComputesWhatTheLibrarySays) {
  PerNetwork<Network> networks = build_networks(siren_job());
  Network& generator = networks[NetworkId{0}];
  generator.initialise(7);
  const at::Tensor noise = keyed_normal({.seed = 1}, {5, 3}, at::kCPU);
  const at::Tensor made = generator.forward({{"noise", noise}}, {});
  EXPECT_EQ(made.sizes(), at::IntArrayRef({5, 2}));

  const at::NoGradGuard no_grad;
  const std::vector<Network::NamedParameter> parameters = generator.parameters();
  EXPECT_EQ(parameters.front().name, "generator/0/weight");
  at::Tensor x = noise.to(at::kDouble);
  for (std::size_t i = 0; i + 1 < parameters.size(); i += 2) {
    x = at::linear(x, parameters[i].parameter->tensor.to(at::kDouble),
                   parameters[i + 1].parameter->tensor.to(at::kDouble));
    const bool is_last = i + 2 == parameters.size();
    x = is_last ? x : at::sin(x * (i == 0 ? 6.0 : 1.0));
  }
  EXPECT_LT((x - made.to(at::kDouble)).abs().max().item<double>(), 1e-6);
}

TEST(LibraryBlock, IsTrained) {
  PerNetwork<Network> networks = build_networks(siren_job());
  Network& discriminator = networks[NetworkId{1}];
  discriminator.initialise(7);
  const at::Tensor image = keyed_normal({.seed = 1}, {5, 2}, at::kCPU);
  discriminator.forward({{"image", image}}, {}).sum().backward();
  for (const Network::NamedParameter& named : discriminator.parameters()) {
    EXPECT_GT(named.parameter->tensor.grad().abs().sum().item<double>(), 0.0) << named.name;
  }
}

TEST(LibraryBlock, IsRefusedWhereTheLibraryHasNone) {
  EXPECT_THAT(refusal({.kind = "cosine", .library = GANGWAY_SIREN}),
              AllOf(HasSubstr("libsiren.blocks.so: has no block of kind 'cosine'"),
                    HasSubstr("it has sine")));
}

TEST(LibraryBlock, IsRefusedWhereItHasOtherTensorsThanItsSpec) {
  EXPECT_THAT(refusal({.kind = "stray",
                       .parameters = {{.name = "weight", .shape = {2}}},
                       .library = GANGWAY_ODD}),
              HasSubstr("has other tensors than its LibrarySpec (their number)"));
}

TEST(LibraryBlock, IsRefusedWhereItsFileIsGoneOrOfAnotherLibTorch) {
  const testing::ScratchFolder folder;
  const LibrarySpec spec{.kind = "sine", .library = (folder.path() / "libsiren.so").string()};
  EXPECT_THAT(refusal(spec), HasSubstr("libsiren.blocks.so: No such file"));
  folder.write("libsiren.blocks.so",
               testing::of_another_torch(bytes_of(blocks_file(GANGWAY_SIREN))));
  EXPECT_THAT(refusal(spec),
              AllOf(HasSubstr("is built with LibTorch 9."), HasSubstr("this is 2.")));
}

}  // namespace
}  // namespace gangway::gan
