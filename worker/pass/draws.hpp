// SPDX-License-Identifier: MIT
// Draws the random inputs of passes, and makes the keys of networks' own draws. Compute thread.
#pragma once

#include <cstddef>

#include "data/dataset.hpp"
#include "gan/block.hpp"
#include "gan/random.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "pipeline/graph.hpp"

namespace gangway::worker {

/// Context of a draw.
struct DrawnFor {
  const Job& job;
  std::size_t dimensions = 4;  ///< of a batch of real examples
  at::Device device = at::kCPU;
  /// The data whose labels are drawn; null: labels are uniform, at the same cost.
  const data::Dataset* data = nullptr;
  /// Result of all_labels(), if labels are drawn on the device; undefined: the host looks them up
  /// one by one.
  at::Tensor labels;
};

/// Returns the labels of all examples, int64 [examples], on the device.
[[nodiscard]] at::Tensor all_labels(const data::Dataset& data, at::Device device);

/// Returns the random tensor of `draw` for the examples of one micro-batch.
/// @param key  of the place in the job; this function fills in its draw
[[nodiscard]] at::Tensor drawn(const pipeline::Draw& draw, RandomKey key, const DrawnFor& whom);

/// Returns the job's style picture [1, C, H, W]; undefined: it has none.
[[nodiscard]] at::Tensor style_picture(const Job& job, at::Device device);

/// Returns the context of one application of `network`. @param key  of the pass, as for drawn()
/// @param stream  number of the application: separates its draws from those of others
[[nodiscard]] gan::ForwardContext forward_context(const NetworkSpec& network, RandomKey key,
                                                  int stream, gan::StatisticSink* sink);

}  // namespace gangway::worker
