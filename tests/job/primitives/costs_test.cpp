// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/families/families.hpp"
#include "job/primitives/primitives.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

PrimitiveGraph counted_graph(const ModelSpec& model, std::string_view role) {
  return primitives_of(architecture_of(model, role), model, kFullyGrown);
}

ModelSpec counted_model(const char* family, int resolution, int width) {
  return {.family = family_named(family),
          .resolution = resolution,
          .width = width,
          .channels = 3,
          .normalization = Normalization::kBatch};
}

TEST(MultiplyAdds, AreThoseOfJohnsonsNetworkCountedByHand) {
  ModelSpec model = counted_model("johnson", 64, 32);
  model.blocks = 5;
  // By pixel: 9x9 from 3 to 32 maps; 3x3 to 64 and 128, halving each time; ten of 128; and back.
  const std::int64_t pixel = 81 * 3 * 32 + 9 * 32 * 64 / 4 + 9 * 64 * 128 / 16 +
                             10 * 9 * 128 * 128 / 16 + 9 * 128 * 64 / 4 + 9 * 64 * 32 + 81 * 32 * 3;
  const PrimitiveGraph graph = counted_graph(model, "translator");
  EXPECT_EQ(multiply_adds(graph), pixel * 64 * 64);
  EXPECT_EQ(multiply_adds(graph, 0), 81 * 3 * 32 * 64 * 64);
}

TEST(MultiplyAdds, CountTransposedConvolutionsByTheirInputs) {
  ModelSpec model = counted_model("dcgan", 32, 8);
  model.latent = 16;
  EXPECT_EQ(multiply_adds(counted_graph(model, "generator")),
            16 * 16 * 32 + 16 * (16 * 32 * 16 + 64 * 16 * 8 + 256 * 8 * 3));
}

TEST(Primitives, RefuseBlocksOfUsers) {
  const Architecture network{.name = "generator", .blocks = {LibrarySpec{.kind = "wave"}}};
  EXPECT_THROW((void)primitives_of(network, counted_model("dcgan", 32, 8), kFullyGrown),
               ConfigError);
}

}  // namespace
}  // namespace gangway
