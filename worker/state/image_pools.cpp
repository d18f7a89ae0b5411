// SPDX-License-Identifier: MIT
#include "worker/state/image_pools.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "gan/random.hpp"
#include "job/families/families.hpp"

namespace gangway::worker {
namespace {

/// Holds the pools of one micro-batch: named tensors without computation.
class PoolTensors final : public gan::Block {
 public:
  explicit PoolTensors(const std::vector<ParameterSpec>& tensors) : Block({}, tensors) {}
  [[nodiscard]] gan::NamedTensors forward(const gan::NamedTensors&,
                                          const gan::ForwardContext&) override {
    throw InvariantError("an image pool is no network that could be applied");
  }
};

gan::Network pool_tensors(const ImagePoolsSetup& setup) {
  std::vector<std::int64_t> shape = example_shape(setup.job.model);
  shape.insert(shape.begin(), setup.job.training.translation.pool);
  std::vector<ParameterSpec> tensors;
  for (const std::string& name : setup.names) {
    tensors.push_back({.name = name, .shape = shape, .initial = Initial::kZero});
  }
  std::vector<std::unique_ptr<gan::Block>> blocks;
  for (int microbatch = 0; microbatch < setup.job.training.microbatches; ++microbatch) {
    blocks.push_back(std::make_unique<PoolTensors>(tensors));
  }
  return {"image_pools", std::move(blocks)};
}

/// Returns by worker the first tensor of its micro-batches.
std::vector<std::size_t> first_tensors(const ImagePoolsSetup& setup) {
  std::vector<std::size_t> firsts;
  for (const MicrobatchRange& range : setup.ranges) {
    firsts.push_back(static_cast<std::size_t>(range.begin) * setup.names.size());
  }
  return firsts;
}

}  // namespace

ImagePools::ImagePools(const ImagePoolsSetup& setup)
    : names_(setup.names),
      local_(setup.ranges[static_cast<std::size_t>(setup.worker)]),
      worker_(setup.worker),
      size_(setup.job.training.translation.pool),
      network_(pool_tensors(setup)),
      state_(std::make_unique<NetworkState>(
          network_, NetworkStateSetup{.num_workers = static_cast<int>(setup.ranges.size()),
                                      .first_tensors = first_tensors(setup)})) {
  const at::NoGradGuard no_grad;
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    for (std::size_t pool = 0; pool < names_.size(); ++pool) {
      kept_.push_back(
          at::zeros_like(stored(pool, microbatch), at::TensorOptions().device(setup.device)));
    }
  }
}

comm::ElementRange ImagePools::own_range() const { return state_->plan().slice(0, worker_); }

at::Tensor& ImagePools::kept(std::size_t pool, int microbatch) {
  return kept_.at(static_cast<std::size_t>(microbatch - local_.begin) * names_.size() + pool);
}

at::Tensor ImagePools::stored(std::size_t pool, int microbatch) {
  const std::size_t place = static_cast<std::size_t>(microbatch) * names_.size() + pool;
  return NetworkState::view(state_->weights().data(), state_->places().at(place));
}

void ImagePools::take_up() {
  const at::NoGradGuard no_grad;
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    for (std::size_t pool = 0; pool < names_.size(); ++pool) {
      kept(pool, microbatch).copy_(stored(pool, microbatch));
    }
  }
}

void ImagePools::store(std::int64_t steps) {
  const at::NoGradGuard no_grad;
  for (int microbatch = local_.begin; microbatch < local_.end; ++microbatch) {
    for (std::size_t pool = 0; pool < names_.size(); ++pool) {
      stored(pool, microbatch).copy_(kept(pool, microbatch));
    }
  }
  state_->counts.updates = steps;
}

at::Tensor ImagePools::exchange(const std::string& name, const at::Tensor& images, RandomKey key) {
  const at::NoGradGuard no_grad;
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    throw InvariantError("a pass asks for the image pool " + name + ", which no worker keeps");
  }
  const auto pool = static_cast<std::size_t>(found - names_.begin());
  key.block = static_cast<std::int32_t>(pool);
  key.draw = static_cast<std::int32_t>(RandomDraw::kPool);
  const KeyedRandom random(key);
  const at::Tensor& all = kept(pool, key.microbatch);
  const at::Tensor made = images.detach();
  at::Tensor shown = made.clone();  // with the same strides
  for (std::int64_t i = 0; i < made.size(0); ++i) {
    // The step determines the number of earlier images, so no counter is stored.
    const std::int64_t given = key.step * made.size(0) + i;
    if (given < size_) {
      all[given].copy_(made[i]);
      continue;
    }
    const auto place = static_cast<std::uint64_t>(2 * i);
    if (random.uniform(place) < 0.5F) {
      const at::Tensor slot = all[random.below(place + 1, static_cast<std::uint32_t>(size_))];
      shown[i].copy_(slot);
      slot.copy_(made[i]);
    }
  }
  return shown;
}

}  // namespace gangway::worker
