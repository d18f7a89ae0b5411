// SPDX-License-Identifier: MIT
// What discriminators have said in one step, as figures by micro-batch and as histograms. Kept as
// tensors until the step is over: they are small. Compute thread.
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
  /// Nothing more will be added: begins to copy them to the host.
  void close();

  // Where the copy is over.

  /// By network that judges: "NETWORK_real_logit" and "NETWORK_fake_logit", the means; where its
  /// loss has a boundary, "NETWORK_real_share" of real examples above it, from which ADA's r_t is
  /// 2 x - 1 (Karras et al., 2020, "Training generative adversarial networks with limited data",
  /// eq. 1), and "NETWORK_accuracy", the share of what it took for what it was, of real and
  /// generated examples alike.
  [[nodiscard]] std::vector<messages::NamedFigure> figures_of(int microbatch) const;
  /// "Logits/NETWORK/real" and "Logits/NETWORK/fake" over all micro-batches.
  [[nodiscard]] std::vector<messages::HistogramPart> histograms(std::int64_t step) const;

 private:
  [[nodiscard]] std::span<const float> values_of(std::size_t entry) const;

  std::vector<JudgedLogits> entries_;  // without their tensors, once closed
  std::vector<std::int64_t> ends_;     // of their values in that
  at::Tensor on_host_;                 // float32
};

}  // namespace gangway::worker
