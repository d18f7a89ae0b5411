// SPDX-License-Identifier: MIT
#include "worker/figures/update_record.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "comm/arena/tree_sum.hpp"

namespace gangway::worker {
namespace {

/// @param values  whole blocks  @param squares  of the network, by block  @param first  block
void add_block_squares(std::span<const float> values, std::vector<double>& squares,
                       std::size_t first) {
  for (std::size_t i = 0; i < values.size() / comm::kBlockElements; ++i) {
    squares[first + i] = comm::block_sum_of_squares(values.data() + i * comm::kBlockElements);
  }
}

}  // namespace

void UpdateRecord::settle() {
  if (!wish_) {
    return;
  }
  const Wish wish = *std::exchange(wish_, std::nullopt);
  if (wish.norms) {
    at_.was_skipped = was_skipped_;
    if (!was_skipped_) {
      at_.squares = messages::UpdateSquares{.gradient = comm::pairwise_sum(squares_.gradient),
                                            .change = comm::pairwise_sum(squares_.change),
                                            .weights = comm::pairwise_sum(squares_.weights)};
    }
    settled_ = at_;
  }
  if (wish.histograms) {
    std::ranges::move(parts(*wish.histograms), std::back_inserter(settled_histograms_));
    distributions_ = {};
  }
}

void UpdateRecord::begin(const UpdatePlan& plan, const Wish& wish) {
  if (!wish.norms && !wish.histograms) {
    return;
  }
  wish_ = wish;
  at_ = {.network = static_cast<int>(network_), .update = plan.number(), .lr = plan.settings.lr};
  was_skipped_ = false;
  const std::size_t blocks = state_.layout().parameter_range().size() / comm::kBlockElements;
  for (std::vector<double>* squares : {&squares_.gradient, &squares_.change, &squares_.weights}) {
    squares->assign(wish.norms ? blocks : 0, 0.0);
  }
  if (wish.histograms) {
    distributions_.assign(state_.layout().parameters().size(), {});
  }
}

void UpdateRecord::tell(messages::Progress& progress) {
  if (const auto update = std::exchange(settled_, std::nullopt)) {
    progress.updates.push_back(*update);
  }
  std::ranges::move(std::exchange(settled_histograms_, {}),
                    std::back_inserter(progress.histograms));
}

comm::ElementRange UpdateRecord::parameters_of(comm::ElementRange range) const {
  return comm::intersect(range, state_.layout().parameter_range());
}

UpdateWish UpdateRecord::wish() const {
  return wish_ ? UpdateWish{.squares = wish_->norms, .histograms = wish_->histograms.has_value()}
               : UpdateWish{};
}

void UpdateRecord::before_update(const UpdateSlice& slice) {
  const comm::ElementRange parameters = parameters_of(slice.range);
  if (!wish_ || parameters.empty()) {
    return;
  }
  const std::span<const float> gradient = slice.mean.first(parameters.size());
  if (wish_->histograms) {
    count(slice);
  }
  if (wish_->norms) {
    const std::span<const float> weights = slice.weights.first(parameters.size());
    const std::size_t first = parameters.begin / comm::kBlockElements;
    add_block_squares(gradient, squares_.gradient, first);
    add_block_squares(weights, squares_.weights, first);
    before_.assign(weights.begin(), weights.end());
  }
}

void UpdateRecord::after_update(const UpdateSlice& slice, const UpdatePlan& plan) {
  was_skipped_ = plan.was_skipped;
  const comm::ElementRange parameters = parameters_of(slice.range);
  if (!wish_ || !wish_->norms || parameters.empty()) {
    return;
  }
  for (std::size_t i = 0; i < before_.size(); ++i) {
    before_[i] = slice.weights[i] - before_[i];
  }
  add_block_squares(before_, squares_.change, parameters.begin / comm::kBlockElements);
}

void UpdateRecord::take(const UpdateSums& sums, const UpdatePlan& plan) {
  was_skipped_ = plan.was_skipped;
  if (wish_->norms) {
    std::ranges::copy(sums.gradient, squares_.gradient.begin());
    std::ranges::copy(sums.change, squares_.change.begin());
    std::ranges::copy(sums.weights, squares_.weights.begin());
  }
  for (std::size_t i = 0; i < distributions_.size(); ++i) {
    distributions_[i].weights.add(sums.tensors[i].weights);
    distributions_[i].gradients.add(sums.tensors[i].gradients);
  }
}

void UpdateRecord::count(const UpdateSlice& slice) {
  const std::vector<comm::ArenaEntry>& tensors = state_.layout().parameters();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Excludes the padding after the tensor.
    const comm::ElementRange own =
        comm::intersect(slice.range, {tensors[i].offset, tensors[i].offset + tensors[i].elements});
    if (!own.empty()) {
      const std::size_t from = own.begin - slice.range.begin;
      distributions_[i].gradients.add(slice.mean.subspan(from, own.size()));
      distributions_[i].weights.add(slice.weights.subspan(from, own.size()));
    }
  }
}

std::vector<messages::HistogramPart> UpdateRecord::parts(std::int64_t step) const {
  std::vector<messages::HistogramPart> parts;
  for (std::size_t i = 0; i < distributions_.size(); ++i) {
    const std::string& tensor = state_.layout().parameters()[i].name;
    for (const auto& [group, histogram] : {std::pair("Weights/", &distributions_[i].weights),
                                           std::pair("Gradients/", &distributions_[i].gradients)}) {
      if (HistogramCounts counts = histogram->counts(); !counts.buckets.empty()) {
        parts.push_back({.step = step, .tag = group + tensor, .counts = std::move(counts)});
      }
    }
  }
  return parts;
}

}  // namespace gangway::worker
