// SPDX-License-Identifier: MIT
// Collects discriminators' logits of one step, as figures by micro-batch and as histograms. Keeps
// the small tensors until the step is over. Compute thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gan/torch.hpp"
#include "run/messages/messages.hpp"
#include "worker/figures/judged_logits.hpp"

namespace gangway::worker {

class StepLogits {
 public:
  void add(JudgedLogits logits) { entries_.push_back(std::move(logits)); }
  /// Ends adding and begins to copy the logits to the host.
  void close();

  // Call these once the copy is finished.

  /// Returns by judging network "NETWORK_real_logit" and "NETWORK_fake_logit", the means. A loss
  /// with a boundary adds "NETWORK_real_share", the share of real examples above it. ADA's r_t is 2
  /// x - 1 of that share (Karras et al., 2020, "Training generative adversarial networks with
  /// limited data", eq. 1). It also adds "NETWORK_accuracy", the share of all examples judged
  /// correctly.
  [[nodiscard]] std::vector<messages::NamedFigure> figures_of(int microbatch) const;
  /// Returns "Logits/NETWORK/real" and "Logits/NETWORK/fake" over all micro-batches.
  [[nodiscard]] std::vector<messages::HistogramPart> histograms(std::int64_t step) const;

 private:
  [[nodiscard]] std::span<const float> values_of(std::size_t entry) const;

  std::vector<JudgedLogits> entries_;  // without their tensors once closed
  std::vector<std::int64_t> ends_;     // ends of their values in on_host_
  at::Tensor on_host_;                 // float32
};

}  // namespace gangway::worker
