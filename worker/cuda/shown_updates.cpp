// SPDX-License-Identifier: MIT
#include "worker/cuda/shown_updates.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/cuda/figure_kernels.hpp"
#include "comm/cuda/slice_kernels.hpp"
#include "worker/cuda/cuda_calls.hpp"

namespace gangway::worker {

using comm::check;
using comm::ElementRange;
using comm::kBlockElements;

namespace {

constexpr std::size_t kGradient = 0;
constexpr std::size_t kChange = 1;
constexpr std::size_t kWeights = 2;
constexpr std::size_t kKinds = 3;

constexpr const char* kShowing = "showing an update";

HistogramCounts travelling(const comm::ValueCounts& counted) {
  HistogramCounts found{.least = counted.least,
                        .most = counted.most,
                        .sum = counted.sum,
                        .sum_of_squares = counted.sum_of_squares};
  for (int bucket = 0; bucket < comm::ValueCounts::kBuckets; ++bucket) {
    if (const unsigned int count = counted.counts[bucket]; count > 0) {
      found.buckets.push_back(bucket);
      found.counts.push_back(count);
    }
  }
  return found;
}

}  // namespace

ShownUpdates::ShownUpdates(NetworkState& state, int worker, std::size_t largest)
    : state_(state),
      worker_(worker),
      num_changed_(1 + state.moments().size() + (state.average() == nullptr ? 0U : 1U)),
      made_(comm::make_event()) {
  comm::load_figure_kernels();
  const std::size_t most = std::max<std::size_t>(largest, 1) * sizeof(float);
  const std::size_t squares = std::max<std::size_t>(num_blocks(), 1) * kKinds * sizeof(double);
  const std::size_t counts =
      std::max<std::size_t>(state.layout().parameters().size(), 1) * sizeof(Counts);
  mean_ = comm::allocate_on_device(most);
  before_ = comm::allocate_on_device(most);
  squares_ = comm::allocate_on_device(squares);
  counts_ = comm::allocate_on_device(counts);
  record_ = comm::allocate_pinned((1 + 2 * num_changed_) * kMostShownElements * sizeof(float));
  squares_on_host_ = comm::allocate_pinned(squares);
  counts_on_host_ = comm::allocate_pinned(counts);
  is_skipped_ = comm::allocate_pinned(sizeof(int));
}

std::size_t ShownUpdates::num_blocks() const {
  return state_.layout().parameter_range().size() / kBlockElements;
}

ElementRange ShownUpdates::own_parameters(ElementRange range) const {
  const ElementRange parameters = comm::intersect(range, state_.layout().parameter_range());
  const comm::BucketPlan& plan = state_.group_plan();
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    // With NCCL's order of sums every worker updates everything.
    if (const ElementRange own = comm::intersect(parameters, plan.slice(bucket, worker_));
        !own.empty()) {
      return own;
    }
  }
  return {};
}

double* ShownUpdates::squares(std::size_t kind) const {
  return static_cast<double*>(squares_.get()) + kind * num_blocks();
}

bool ShownUpdates::is_wished_for() const {
  return std::ranges::any_of(watchers_, [](const UpdateWatcher* watcher) {
    const UpdateWish wish = watcher->wish();
    return !wish.elements.empty() || wish.squares || wish.histograms;
  });
}

void ShownUpdates::begin(const UpdatePlan& plan) {
  if (needs() != Need::kNothing) {
    throw InvariantError(
        fmt::format("network '{}': an update is to be shown before the last one was; please report "
                    "this",
                    state_.network().name()));
  }
  plan_ = plan;
  wished_.clear();
  all_ = {};
  for (UpdateWatcher* watcher : watchers_) {
    const UpdateWish wish = watcher->wish();
    if (!wish.elements.empty()) {
      all_.elements = wish.elements;
    }
    all_.squares = all_.squares || wish.squares;
    all_.histograms = all_.histograms || wish.histograms;
    wished_.push_back({watcher, wish});
  }
  is_cleared_ = false;
  need_.store(Need::kCompute, std::memory_order_release);
}

std::vector<const float*> ShownUpdates::changed(const comm::SliceUpdate& update,
                                                std::size_t from) const {
  std::vector<const float*> found{update.weights + from};
  for (std::size_t i = 0; i < state_.moments().size(); ++i) {
    found.push_back(update.moments[i] + from);
  }
  if (update.average != nullptr) {
    found.push_back(update.average + from);
  }
  return found;
}

std::span<float> ShownUpdates::part(std::size_t index) const {
  const std::size_t size = all_.elements.size();
  return {static_cast<float*>(record_.get()) + index * size, size};
}

void ShownUpdates::copy_elements(const comm::SliceUpdate& update, ElementRange range,
                                 std::size_t first, cudaStream_t stream) {
  const ElementRange common = comm::intersect(range, all_.elements);
  if (common.empty()) {
    return;
  }
  const std::size_t from = common.begin - range.begin;
  const std::size_t to = common.begin - all_.elements.begin;
  const auto copy = [&](const float* values, std::size_t index) {
    check(cudaMemcpyAsync(part(index).data() + to, values, common.size() * sizeof(float),
                          cudaMemcpyDeviceToHost, stream),
          kShowing);
  };
  if (first == 1) {
    copy(floats(mean_) + from, 0);
  }
  for (const float* values : changed(update, from)) {
    copy(values, first++);
  }
}

void ShownUpdates::count_values(const comm::SliceUpdate& update, ElementRange range,
                                cudaStream_t stream) {
  const std::vector<comm::ArenaEntry>& tensors = state_.layout().parameters();
  const ElementRange parameters = own_parameters(range);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Excludes the padding after the tensor.
    const ElementRange own =
        comm::intersect(parameters, {tensors[i].offset, tensors[i].offset + tensors[i].elements});
    if (!own.empty()) {
      const std::size_t from = own.begin - range.begin;
      const auto elements = static_cast<std::int64_t>(own.size());
      comm::launch_count(floats(mean_) + from, elements, &counts(counts_)[i].gradients, stream);
      comm::launch_count(update.weights + from, elements, &counts(counts_)[i].weights, stream);
    }
  }
}

void ShownUpdates::clear(cudaStream_t stream) {
  if (std::exchange(is_cleared_, true)) {
    return;
  }
  check(cudaMemsetAsync(squares_.get(), 0, num_blocks() * kKinds * sizeof(double), stream),
        kShowing);
  check(cudaMemsetAsync(counts_.get(), 0, state_.layout().parameters().size() * sizeof(Counts),
                        stream),
        kShowing);
}

void ShownUpdates::before_update(const comm::SliceUpdate& update, ElementRange range,
                                 cudaStream_t stream) {
  if (!is_launching()) {
    return;
  }
  clear(stream);
  if (range.empty()) {
    return;
  }
  may_be_skipped_ = update.is_skipped != nullptr;
  if (may_be_skipped_) {
    check(cudaMemcpyAsync(is_skipped_.get(), update.is_skipped, sizeof(int), cudaMemcpyDeviceToHost,
                          stream),
          kShowing);
  }
  comm::launch_mean(update, floats(mean_), stream);
  copy_elements(update, range, 1, stream);
  if (all_.histograms) {
    count_values(update, range, stream);
  }
  const ElementRange own = own_parameters(range);
  if (!all_.squares || own.empty()) {
    return;
  }
  const std::size_t from = own.begin - range.begin;
  const std::size_t first = own.begin / kBlockElements;
  const auto blocks = static_cast<std::int64_t>(own.size() / kBlockElements);
  comm::launch_block_squares(floats(mean_) + from, blocks, squares(kGradient) + first, stream);
  comm::launch_block_squares(update.weights + from, blocks, squares(kWeights) + first, stream);
  check(cudaMemcpyAsync(before_.get(), update.weights + from, own.size() * sizeof(float),
                        cudaMemcpyDeviceToDevice, stream),
        kShowing);
}

void ShownUpdates::after_update(const comm::SliceUpdate& update, ElementRange range,
                                cudaStream_t stream) {
  if (!is_launching() || range.empty()) {
    return;
  }
  copy_elements(update, range, 1 + num_changed_, stream);
  const ElementRange own = own_parameters(range);
  if (!all_.squares || own.empty()) {
    return;
  }
  const std::size_t from = own.begin - range.begin;
  comm::launch_difference(update.weights + from, floats(before_),
                          static_cast<std::int64_t>(own.size()), stream);
  comm::launch_block_squares(floats(before_),
                             static_cast<std::int64_t>(own.size() / kBlockElements),
                             squares(kChange) + own.begin / kBlockElements, stream);
}

void ShownUpdates::all_updated(cudaStream_t stream) {
  if (!is_launching()) {
    return;
  }
  const auto fetch = [&](const comm::PinnedMemory& to, const comm::CudaMemory& from,
                         std::size_t bytes) {
    check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToHost, stream), kShowing);
  };
  if (all_.squares) {
    fetch(squares_on_host_, squares_, num_blocks() * kKinds * sizeof(double));
  }
  if (all_.histograms) {
    fetch(counts_on_host_, counts_, state_.layout().parameters().size() * sizeof(Counts));
  }
  check(cudaEventRecord(made_.get(), stream), kShowing);
  need_.store(Need::kMessages, std::memory_order_release);
}

bool ShownUpdates::advance() {
  if (needs() != Need::kMessages || !has_come(made_, kShowing)) {
    return false;
  }
  hand_on();
  need_.store(Need::kNothing, std::memory_order_release);
  return true;
}

UpdateSlice ShownUpdates::slice(std::size_t first) const {
  UpdateSlice slice{.range = all_.elements, .mean = part(0), .weights = part(first)};
  const std::size_t moments = state_.moments().size();
  for (std::size_t i = 0; i < moments; ++i) {
    slice.moments[i] = part(first + 1 + i);
  }
  if (state_.average() != nullptr) {
    slice.average = part(first + 1 + moments);
  }
  return slice;
}

void ShownUpdates::hand_on() {
  UpdatePlan done = plan_;
  done.was_skipped = may_be_skipped_ && *static_cast<const int*>(is_skipped_.get()) != 0;
  done.counts = comm::counts_after(plan_, done.was_skipped);
  UpdateSums sums;
  if (all_.squares) {
    const auto* const first = static_cast<const double*>(squares_on_host_.get());
    const auto of = [&](std::size_t kind) {
      return std::span(first + kind * num_blocks(), num_blocks());
    };
    sums.gradient = of(kGradient);
    sums.change = of(kChange);
    sums.weights = of(kWeights);
  }
  if (all_.histograms) {
    const std::span counted(static_cast<const Counts*>(counts_on_host_.get()),
                            state_.layout().parameters().size());
    for (const Counts& tensor : counted) {
      sums.tensors.push_back(
          {.weights = travelling(tensor.weights), .gradients = travelling(tensor.gradients)});
    }
  }
  for (const Wished& wished : wished_) {
    if (!wished.wish.elements.empty()) {
      wished.watcher->before_update(slice(1));
      wished.watcher->after_update(slice(1 + num_changed_), done);
    }
    if (wished.wish.squares || wished.wish.histograms) {
      wished.watcher->take(sums, done);
    }
  }
}

}  // namespace gangway::worker
