// SPDX-License-Identifier: MIT
// What recipes have in common whose discriminator is two networks: a trunk that finds features, and
// a head that judges them. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/graph.hpp"

namespace gangway::gan {

class SplitAdversaries {
 public:
  explicit SplitAdversaries(const Job& job);

  [[nodiscard]] NetworkId generator() const { return generator_; }
  [[nodiscard]] NetworkId trunk() const { return trunk_; }
  [[nodiscard]] NetworkId discriminator() const { return discriminator_; }

  /// "noise" → `output`, or from another tensor that has its place.
  [[nodiscard]] pipeline::Application generated(const std::string& noise, const std::string& labels,
                                                const std::string& output, int stream = 0) const;
  /// `images` → `images`_features. @param stream  another one for each application of a pass
  [[nodiscard]] pipeline::Application features_of(const std::string& images, int stream) const;
  /// `images`_features → `images`_logits.
  [[nodiscard]] pipeline::Application verdict_on(const std::string& images,
                                                 const std::string& labels, int stream) const;
  /// Of `images`_logits. @param part  "real", "fake" or "generator"
  [[nodiscard]] pipeline::Loss loss(const std::string& part, const std::string& images,
                                    NetworkId shown_with, double weight = 1.0) const;
  /// The discriminator's on real examples.
  [[nodiscard]] pipeline::Pass real() const;
  /// The noise of generated examples, and their labels, "fake_labels", where the job has some.
  [[nodiscard]] std::vector<pipeline::Node> draws() const;

 private:
  [[nodiscard]] std::vector<pipeline::Input> with_labels(pipeline::Input input,
                                                         const std::string& labels) const;

  const Job& job_;
  NetworkId generator_;
  NetworkId trunk_;
  NetworkId discriminator_;
};

/// Whether one of `networks` is clipped, and a phase that trains them has to agree on a norm.
[[nodiscard]] bool clips_one_of(const Job& job, const std::vector<NetworkId>& networks);

}  // namespace gangway::gan
