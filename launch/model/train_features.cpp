// SPDX-License-Identifier: MIT
#include "gan/evaluation/train_features.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "data/idx_dataset.hpp"
#include "launch/model/commands.hpp"
#include "launch/model/feature_network.hpp"
#include "launch/model/reference_data.hpp"

namespace gangway::launch {

void train_features(const TrainFeaturesOptions& options) {
  constexpr std::int64_t kReportEvery = 10'000;  // images
  at::set_num_threads(1);
  ModelSpec model;
  model.resolution = static_cast<int>(gan::LeNet::kSide);
  const auto train = data::open_fashion_mnist(data::kFashionMnistFolder, model);
  const auto test = open_test_images(model);
  gan::LeNet lenet;
  gan::train_features(lenet, *train, {}, [](std::int64_t images, double loss) {
    if (images % kReportEvery == 0) {
      fmt::print("{:6} images  loss {:.4f}\n", images, loss);
    }
  });
  const double share = gan::accuracy(lenet, *test);
  const std::string hash = save_feature_weights(lenet, options.file);
  fmt::print(
      "test accuracy {:.2f} %\n{}: XXH3-128 {}{}\n", 100.0 * share, options.file.string(), hash,
      hash == kFeatureWeightsHash ? ", the committed weights" : ", NOT the committed weights");
}

}  // namespace gangway::launch
