// SPDX-License-Identifier: MIT
// A family of one's own, with a block of its own: networks for points in the plane whose layers are
// sin(frequency * (W x + b)) (SIREN, Sitzmann et al., 2020, eq. 3 and section 3.2).
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gan/library/library.hpp"

namespace {

using gangway::Architecture;
using gangway::BlockSpec;
using gangway::LayerSpec;
using gangway::LibrarySpec;
using gangway::ModelSpec;

// --- What computes: with LibTorch, where networks are made ---------------------------------------

class SineBlock final : public gangway::gan::Block {
 public:
  explicit SineBlock(const LibrarySpec& spec)
      : Block(ports_of(spec), parameters_of(spec)),
        input_(spec.ports.inputs.front()),
        frequency_(spec.numbers.at("frequency")),
        weight_(parameter("weight")),
        bias_(parameter("bias")) {}

  [[nodiscard]] gangway::gan::NamedTensors forward(const gangway::gan::NamedTensors& in,
                                                   const gangway::gan::ForwardContext&) override {
    const at::Tensor turned = at::linear(in.at(input_), weight_->tensor, bias_->tensor);
    return in.with("features", (turned * frequency_).sin());
  }

 private:
  std::string input_;
  double frequency_;
  gangway::gan::Parameter* weight_;
  gangway::gan::Parameter* bias_;
};

// --- What job files name: values alone, read in every program ------------------------------------

constexpr int kHiddenLayers = 3;
constexpr double kFirstFrequency = 6.0;  // the paper's 30 is for the many waves of a photograph
constexpr double kFrequency = 1.0;

/// Deviations are those of the paper's uniform weights, in [-1/in, 1/in] of the first layer, else
/// within sqrt(6 / in) / frequency.
LibrarySpec sine(std::int64_t in, std::int64_t out, const std::string& input) {
  const bool is_first = input != "features";
  const double frequency = is_first ? kFirstFrequency : kFrequency;
  const auto fan_in = static_cast<double>(in);
  const double deviation =
      is_first ? 1.0 / (fan_in * std::sqrt(3.0)) : std::sqrt(2.0 / fan_in) / frequency;
  return {.kind = "sine",
          .ports = {{input}, {"features"}},
          .parameters = {{.name = "weight", .shape = {out, in}, .initial_scale = deviation},
                         {.name = "bias", .shape = {out}, .initial = gangway::Initial::kZero}},
          .numbers = {{"frequency", frequency}}};
}

/// Sine layers in → width (three times), and one of Gangway's own to `out`.
std::vector<BlockSpec> sine_stack(std::int64_t in, std::int64_t width, std::int64_t out,
                                  const std::string& input) {
  std::vector<BlockSpec> blocks;
  blocks.emplace_back(sine(in, width, input));
  for (int layer = 1; layer < kHiddenLayers; ++layer) {
    blocks.emplace_back(sine(width, width, "features"));
  }
  blocks.emplace_back(LayerSpec{.in = width,
                                .out = out,
                                .bias = true,
                                .initial_scale = 1.0 / std::sqrt(static_cast<double>(width))});
  return blocks;
}

Architecture generator(const ModelSpec& model) {
  return {"generator", sine_stack(model.inputs(), model.width, 2, "noise")};
}

Architecture discriminator(const ModelSpec& model) {
  return {"discriminator", sine_stack(2, model.width, 1, "image")};
}

}  // namespace

const gangway::LibraryRows& gangway_library_rows() {
  static const gangway::LibraryRows rows{
      .families = {{.name = "siren",
                    .doc = "dense layers of sines, which make points (Sitzmann et al., 2020)",
                    .makes_points = true,
                    .is_dense = true,
                    .resolutions = {},
                    .takes_labels = false,
                    .normalizes_by_default = false,
                    .keys = {},
                    .networks = {{"generator", generator}, {"discriminator", discriminator}}}}};
  return rows;
}

const gangway::gan::LibraryBlocks& gangway_library_blocks() {
  static const gangway::gan::LibraryBlocks blocks{
      .blocks = {{"sine", [](const LibrarySpec& spec) -> std::unique_ptr<gangway::gan::Block> {
                    return std::make_unique<SineBlock>(spec);
                  }}}};
  return blocks;
}
