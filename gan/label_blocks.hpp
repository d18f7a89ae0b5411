// SPDX-License-Identifier: MIT
// What makes a network conditional on labels (int64 [N], passed along under the name "labels").
#pragma once

#include "gan/block.hpp"

namespace gangway::gan {

/// Generator: appends the one-hot label to "noise" [N, latent] → [N, latent + classes] (Mirza and
/// Osindero, 2014).
class LabelConcatenation final : public Block {
 public:
  explicit LabelConcatenation(std::int64_t classes) : classes_(classes) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] std::int64_t classes() const { return classes_; }

 private:
  std::int64_t classes_;
};

/// Discriminator: adds <embedding(label), mean of "features" over pixels> to what `head` makes of
/// the features (projection discriminator, Miyato and Koyama, 2018, eq. 3).
class ProjectionHead final : public Block {
 public:
  ProjectionHead(std::int64_t classes, std::int64_t features, std::int64_t pixels);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] std::int64_t classes() const { return classes_; }
  [[nodiscard]] std::int64_t features() const { return features_; }
  [[nodiscard]] std::int64_t pixels() const { return pixels_; }

 private:
  std::int64_t classes_;
  std::int64_t features_;
  std::int64_t pixels_;
  Parameter* weight_;     // [1, features * pixels]
  Parameter* embedding_;  // [classes, features]
};

}  // namespace gangway::gan
