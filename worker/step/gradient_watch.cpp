// SPDX-License-Identifier: MIT
#include "worker/step/gradient_watch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/errors.hpp"

namespace gangway::worker {

struct GradientWatch::Hook final : torch::autograd::PostAccumulateGradHook {
  Hook(GradientWatch& owner, std::size_t index) : watch(owner), parameter(index) {}
  void operator()(const torch::autograd::Variable& /*tensor*/) override {
    watch.complete(parameter);
  }
  GradientWatch& watch;
  std::size_t parameter;
};

GradientWatch::GradientWatch(NetworkState& state, std::function<void(std::size_t)> on_bucket,
                             std::function<void(std::size_t)> on_rehearsed)
    : state_(state),
      on_bucket_(std::move(on_bucket)),
      on_rehearsed_(std::move(on_rehearsed)),
      parameters_in_(state.group_plan().num_buckets(), 0),
      awaited_(state.group_plan().num_buckets(), 0) {
  const std::vector<comm::ArenaEntry>& entries = state.layout().parameters();
  buckets_.resize(entries.size());
  has_fired_.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!state.holds(i)) {
      continue;
    }
    const comm::ElementRange range{entries[i].offset, entries[i].offset + entries[i].elements};
    for (std::size_t bucket = 0; bucket < parameters_in_.size(); ++bucket) {
      if (!comm::intersect(range, state.group_plan().bucket(bucket)).empty()) {
        buckets_[i].push_back(bucket);
        ++parameters_in_[bucket];
      }
    }
    torch::autograd::impl::set_post_acc_grad_hooks(state.parameter(i),
                                                   std::make_unique<Hook>(*this, i));
  }
  rehearsed_.reserve(awaited_.size());
  first_of_block_.push_back(0);
  for (std::size_t block = 0; block < state.network().num_blocks(); ++block) {
    first_of_block_.push_back(first_of_block_.back() +
                              state.network().block(block).parameters().size());
  }
}

GradientWatch::~GradientWatch() {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (state_.holds(i)) {
      torch::autograd::impl::set_post_acc_grad_hooks(state_.parameter(i), nullptr);
    }
  }
}

void GradientWatch::arm() {
  rehearses_ = false;
  begin();
}

void GradientWatch::rehearse() {
  rehearses_ = true;
  rehearsed_.clear();
  begin();
}

std::vector<std::size_t> GradientWatch::rehearsed() {
  (void)disarm();
  return rehearsed_;
}

void GradientWatch::begin() {
  std::ranges::copy(parameters_in_, awaited_.begin());
  for (std::size_t i = 0; i < has_fired_.size(); ++i) {
    has_fired_[i] = state_.holds(i) ? 0 : 1;  // does not wait for other holders' gradients
  }
  is_armed_ = true;
  for (std::size_t bucket = 0; bucket < awaited_.size(); ++bucket) {
    if (awaited_[bucket] == 0) {
      tell(bucket);  // statistics only, finished by the forward
    }
  }
}

std::size_t GradientWatch::disarm() {
  const auto unfired = static_cast<std::size_t>(std::ranges::count(has_fired_, 0));
  return std::exchange(is_armed_, false) ? unfired : 0;
}

void GradientWatch::complete_block(std::size_t block) {
  for (std::size_t i = first_of_block_[block]; i < first_of_block_[block + 1]; ++i) {
    complete(i);
  }
}

void GradientWatch::complete(std::size_t parameter) {
  if (!is_armed_) {
    return;
  }
  if (has_fired_[parameter] != 0) {
    throw InvariantError(
        fmt::format("{}: a gradient was added to after it had been complete; please report this",
                    state_.places()[parameter].name));
  }
  has_fired_[parameter] = 1;
  if (!state_.has_gradient_in_place(parameter)) {
    throw InvariantError(
        fmt::format("{}: autograd put its gradient outside of the arena; please report this",
                    state_.places()[parameter].name));
  }
  for (const std::size_t bucket : buckets_[parameter]) {
    if (--awaited_[bucket] == 0) {
      tell(bucket);
    }
  }
}

void GradientWatch::tell(std::size_t bucket) {
  state_.add_kept_gradients();
  if (!rehearses_) {
    return on_bucket_(bucket);
  }
  rehearsed_.push_back(bucket);
  if (on_rehearsed_) {
    on_rehearsed_(bucket);
  }
}

}  // namespace gangway::worker
