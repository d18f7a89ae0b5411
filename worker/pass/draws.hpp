// SPDX-License-Identifier: MIT
// What a pass takes that no network makes, and the keys of what networks draw. Compute thread.
#pragma once

#include <cstddef>

#include "gan/block.hpp"
#include "gan/data/dataset.hpp"
#include "gan/random.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"
#include "pipeline/graph.hpp"

namespace gangway::worker {

/// For whom a draw is made.
struct DrawnFor {
  const Job& job;
  std::size_t dimensions = 4;  ///< of a batch of real examples
  at::Device device = at::kCPU;
  /// Whose labels are drawn; null: each is as likely, which costs the same.
  const data::Dataset* data = nullptr;
  /// As all_labels() has them, where they are drawn on the device; undefined: the host looks them
  /// up one by one.
  at::Tensor labels;
};

/// Of all examples, int64 [examples], on the device.
[[nodiscard]] at::Tensor all_labels(const data::Dataset& data, at::Device device);

/// What `draw` asks for, for the examples of one micro-batch.
/// @param key  of the place in the job; its draw is filled in
[[nodiscard]] at::Tensor drawn(const pipeline::Draw& draw, RandomKey key, const DrawnFor& whom);

/// The job's style picture [1, C, H, W]; undefined: it has none.
[[nodiscard]] at::Tensor style_picture(const Job& job, at::Device device);

/// Of an application of `network`.
/// @param key  of the pass, as drawn()'s @param stream  of the application: what it draws differs
[[nodiscard]] gan::ForwardContext forward_context(const NetworkSpec& network, RandomKey key,
                                                  int stream, gan::StatisticSink* sink);

}  // namespace gangway::worker
