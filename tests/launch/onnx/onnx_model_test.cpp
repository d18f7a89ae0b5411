// SPDX-License-Identifier: MIT
// Checks models by onnx's own checker and shape inference. What they compute:
// tests/job/primitives/primitives_test.cpp, and tests/launch/onnx/engines.py.
#include "launch/onnx/onnx_model.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "job/file/parse.hpp"
#include "job/primitives/primitives.hpp"

namespace gangway::launch {
namespace {

onnx::ModelProto model_of(const std::string& text, const std::string& network) {
  const JobSpec job = parse_job(text, "test job");
  const PrimitiveGraph graph =
      primitives_of(job.architectures()[job.chosen(network)], job.settled_model(), kFullyGrown,
                    [](std::size_t, const std::string&, const Shape& shape) {
                      std::int64_t count = 1;
                      for (const std::int64_t size : shape) {
                        count *= size;
                      }
                      return std::vector<float>(static_cast<std::size_t>(count), 0.5F);
                    });
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(onnx_model(graph, network, {{"gangway.step", "7"}})));
  return model;
}

/// Returns "noise[batch, 16]" and the like.
std::string described(const onnx::ValueInfoProto& value) {
  std::string text;
  for (const auto& dimension : value.type().tensor_type().shape().dim()) {
    text +=
        (text.empty() ? "" : ", ") +
        (dimension.has_dim_param() ? dimension.dim_param() : std::to_string(dimension.dim_value()));
  }
  return value.name() + "[" + text + "]";
}

int count_of(const onnx::ModelProto& model, const std::string& operation) {
  return static_cast<int>(std::ranges::count(model.graph().node(), operation,
                                             [](const auto& node) { return node.op_type(); }));
}

constexpr const char* kJobs[] = {
    "model: {family: dcgan, width: 8, latent: 16, classes: 10}\n",
    "model: {family: dense, width: 8, latent: 16}\n",
    "model: {family: infogan, width: 8, latent: 16}\n",
    "model: {family: mlp, width: 8, latent: 2}\ndata: {source: 'toy:ring8'}\n",
    "model: {family: gat, width: 12, latent: 8, patch: 8, blocks: 1, classes: 10}\n",
    "model: {family: biggan, width: 2, latent: 13, attention: 16, classes: 10}\n",
    "model: {family: stylegan2, width: 2, latent: 8, classes: 10}\n",
    "model: {family: progressive, width: 8, latent: 8}\n",
    "model: {family: r3gan, width: 8, latent: 8, blocks: 1}\n",
    "model: {family: unet, width: 4}\ntraining: {recipe: pix2pix}\n"
    "data: {source: 'edges:fashion-mnist'}\n",
    "model: {family: cyclegan, width: 4, blocks: 2}\ntraining: {recipe: cyclegan}\n"
    "data: {source: 'classes:fashion-mnist:5,7'}\n"};

TEST(OnnxModel, PassesOnnxsCheckerAndShapeInference) {
  for (const char* text : kJobs) {
    const JobSpec job = parse_job(text, "test job");
    for (const std::string& network : job.network_names()) {
      onnx::ModelProto model = model_of(text, network);
      EXPECT_NO_THROW(onnx::checker::check_model(model)) << text << network;
      onnx::ModelProto inferred = model;
      const onnx::ShapeInferenceOptions strictly{/*check_type_val=*/true, /*strict_mode_val=*/1,
                                                 /*data_prop_val=*/true};
      EXPECT_NO_THROW(onnx::shape_inference::InferShapes(
          inferred, onnx::OpSchemaRegistry::Instance(), strictly))
          << text << network;
      EXPECT_EQ(described(inferred.graph().output(0)), described(model.graph().output(0)));
    }
  }
}

TEST(OnnxModel, TakesAnyBatchAndTranslatorsAnySize) {
  const onnx::ModelProto generator = model_of(kJobs[0], "generator");
  EXPECT_EQ(generator.ir_version(), 8);
  EXPECT_EQ(generator.opset_import(0).version(), 17);
  EXPECT_EQ(generator.metadata_props(0).value(), "7");
  EXPECT_EQ(described(generator.graph().input(0)), "noise[batch, 16]");
  EXPECT_EQ(described(generator.graph().input(1)), "labels[batch]");
  EXPECT_EQ(described(generator.graph().output(0)), "output[batch, 1, 32, 32]");
  for (const char* text : {kJobs[9], kJobs[10]}) {
    const onnx::ModelProto translator =
        model_of(text, text == kJobs[9] ? "generator" : "generator_ab");
    EXPECT_EQ(described(translator.graph().input(0)), "image[batch, 1, height, width]");
    EXPECT_EQ(described(translator.graph().output(0)), "output[batch, 1, height, width]");
  }
}

TEST(OnnxModel, HasFoldedNormsAndSharedConstants) {
  const onnx::ModelProto model = model_of(kJobs[2], "generator");
  EXPECT_EQ(count_of(model, "BatchNormalization"), 0);
  EXPECT_EQ(count_of(model, "Mul"), 0);
  EXPECT_EQ(count_of(model, "ConvTranspose"), 2);
}

}  // namespace
}  // namespace gangway::launch
