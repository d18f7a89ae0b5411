// SPDX-License-Identifier: MIT
// Shared by recipes whose discriminator has two networks: a trunk that computes features and a head
// that judges them. Pure.
#pragma once

#include <string>
#include <vector>

#include "gan/recipes/recipe_phases.hpp"

namespace gangway::gan {

class SplitAdversaries {
 public:
  explicit SplitAdversaries(const Job& job);

  [[nodiscard]] NetworkId generator() const { return generator_; }
  [[nodiscard]] NetworkId trunk() const { return trunk_; }
  [[nodiscard]] NetworkId discriminator() const { return discriminator_; }

  /// Applies the generator: `noise` → `output`.
  [[nodiscard]] Application generated(const std::string& noise, const std::string& labels,
                                      const std::string& output, int stream = 0) const;
  /// Applies the trunk: `images` → `images`_features. @param stream  unique within a pass
  [[nodiscard]] Application features_of(const std::string& images, int stream) const;
  /// Applies the head: `images`_features → `images`_logits.
  [[nodiscard]] Application verdict_on(const std::string& images, const std::string& labels,
                                       int stream) const;
  /// Returns the loss of `images`_logits. @param part  "real", "fake" or "generator"
  [[nodiscard]] Loss loss(const std::string& part, const std::string& images, NetworkId shown_with,
                          double weight = 1.0) const;
  /// Returns the discriminator's pass on real examples.
  [[nodiscard]] Pass real() const;
  /// Returns the draws of generated examples: noise, and "fake_labels" if the job has labels.
  [[nodiscard]] std::vector<Node> draws() const;

 private:
  [[nodiscard]] std::vector<Input> with_labels(Input input, const std::string& labels) const;

  const Job& job_;
  NetworkId generator_;
  NetworkId trunk_;
  NetworkId discriminator_;
};

}  // namespace gangway::gan
