// SPDX-License-Identifier: MIT
#include "worker/state/network_state.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "run/control_protocol.hpp"

namespace gangway::worker {
namespace {

comm::ArenaLayout layout_of(gan::Network& network) {
  std::vector<comm::ArenaLayout::Tensor> parameters;
  std::vector<comm::ArenaLayout::Tensor> statistics;
  for (const auto& named : network.parameters()) {
    parameters.push_back(
        {named.name, static_cast<std::size_t>(named.parameter->tensor.numel()), named.block});
  }
  for (const auto& named : network.statistics()) {
    statistics.push_back(
        {named.name, static_cast<std::size_t>(named.statistic->running.numel()), named.block});
  }
  return {parameters, statistics};
}

std::vector<std::int64_t> strides_of(const at::Tensor& tensor, MemoryFormat format) {
  const bool last = format == MemoryFormat::kChannelsLast && tensor.dim() == 4;
  return at::empty(tensor.sizes(),
                   tensor.options().memory_format(last ? at::MemoryFormat::ChannelsLast
                                                       : at::MemoryFormat::Contiguous))
      .strides()
      .vec();
}

/// Returns the ranges of the tensors of `blocks`: among the parameters, and the statistics.
std::vector<comm::ElementRange> parts_of(gan::Network& network, const comm::ArenaLayout& layout,
                                         BlockRange blocks) {
  const auto range_of = [&](const auto& named, const std::vector<comm::ArenaEntry>& entries,
                            comm::ElementRange all) {
    const auto offset_of = [&](int block) {
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (static_cast<int>(named[i].block) >= block) {
          return entries[i].offset;
        }
      }
      return all.end;
    };
    // Elements before the first block belong to no other chunk: the first chunk includes them.
    return comm::ElementRange{blocks.begin == 0 ? all.begin : offset_of(blocks.begin),
                              offset_of(blocks.end)};
  };
  std::vector<comm::ElementRange> parts{
      range_of(network.parameters(), layout.parameters(), layout.parameter_range()),
      range_of(network.statistics(), layout.statistics(), layout.statistics_range())};
  std::erase_if(parts, [](const comm::ElementRange& part) { return part.empty(); });
  return parts;
}

/// Returns the parts of `setup.worker`; if it does not hold the network, of the first chunk.
std::vector<comm::ElementRange> chunk_parts(gan::Network& network, const comm::ArenaLayout& layout,
                                            const NetworkStateSetup& setup) {
  if (!setup.group.is_cut()) {
    return {{0, layout.size()}};
  }
  const ChunkIndex chunk = setup.group.chunk_of(setup.worker).value_or(ChunkIndex());
  return parts_of(network, layout, setup.group.chunks[chunk.place()]);
}

std::vector<comm::ElementRange> own_parts(gan::Network& network, const comm::ArenaLayout& layout,
                                          const NetworkStateSetup& setup) {
  const bool holds = setup.group.workers.empty() || setup.group.has(setup.worker);
  return holds ? chunk_parts(network, layout, setup) : std::vector<comm::ElementRange>();
}

/// Returns the plan of the workers that hold `parts`, by their place.
comm::BucketPlan plan_of(const comm::ArenaLayout& layout, const NetworkStateSetup& setup,
                         const std::vector<comm::ElementRange>& parts) {
  if (!setup.first_tensors.empty()) {
    std::vector<std::size_t> begins;
    for (const std::size_t tensor : setup.first_tensors) {
      begins.push_back(layout.parameters()[tensor].offset);
    }
    return {layout, std::move(begins)};
  }
  const std::size_t buckets =
      setup.buckets > 0 ? setup.buckets : comm::num_buckets_of(layout, setup.least_bucket_bytes);
  const auto members = static_cast<int>(setup.group.workers.size());
  if (setup.group.is_cut()) {
    const int chunks = setup.group.num_chunks();
    return {layout, parts, members / chunks, buckets / static_cast<std::size_t>(chunks)};
  }
  return {layout, members == 0 ? setup.num_workers : members, buckets};
}

/// Returns the plan of all workers.
comm::BucketPlan world_plan_of(gan::Network& network, const comm::ArenaLayout& layout,
                               const NetworkStateSetup& setup, const comm::BucketPlan& own) {
  if (setup.group.is_cut()) {
    std::vector<comm::BucketPlan> chunks;
    for (ChunkIndex chunk; chunk.value() < setup.group.num_chunks(); ++chunk) {
      const NetworkGroup group = setup.group.group_of(chunk);
      chunks.push_back(plan_of(layout, setup, parts_of(network, layout, group.chunks.front()))
                           .among(group.workers, setup.num_workers));
    }
    return comm::BucketPlan::joined(chunks);
  }
  const std::size_t members = setup.group.workers.size();
  return members == 0 || members == static_cast<std::size_t>(setup.num_workers)
             ? own
             : own.among(setup.group.workers, setup.num_workers);
}

}  // namespace

at::Tensor tensor_over(float* memory, std::size_t elements, at::Device device) {
  return at::for_blob(memory, {static_cast<std::int64_t>(elements)})
      .options(at::device(device).dtype(at::kFloat))
      .target_device(device)
      .make_tensor();
}

NetworkState::NetworkState(gan::Network& network, const NetworkStateSetup& setup)
    : network_(network),
      layout_(layout_of(network)),
      parts_(own_parts(network, layout_, setup)),
      group_plan_(plan_of(layout_, setup, chunk_parts(network, layout_, setup))),
      plan_(world_plan_of(network, layout_, setup, group_plan_)),
      weights_(setup.host != nullptr
                   ? setup.host->allocate_shared(layout_.size(), comm::Deadline(kStartDeadline))
                   : comm::Arena(layout_.size())),
      optimizer_(setup.optimizer),
      worker_(setup.worker),
      is_frozen_(setup.is_frozen),
      has_loss_scale_(setup.has_loss_scale),
      is_apart_(!setup.first_tensors.empty()),
      is_cut_(setup.group.is_cut()) {
  counts = first_counts();
  const at::NoGradGuard no_grad;
  while (!is_frozen_ && !is_apart_ && moments_.size() < num_moments(optimizer_)) {
    moments_.emplace_back(layout_.size());
  }
  const auto place = [&](const std::string& name, const comm::ArenaEntry& entry,
                         const at::Tensor& tensor, bool is_statistic) {
    places_.push_back({name,
                       {entry.offset, entry.offset + entry.elements},
                       tensor.sizes().vec(),
                       strides_of(tensor, setup.format),
                       is_statistic});
    view(weights_.data(), places_.back()).copy_(tensor);
  };
  for (const auto& named : network.parameters()) {
    place(named.name, layout_.parameters()[parameters_.size()], named.parameter->tensor, false);
    parameters_.push_back(named.parameter->tensor);
  }
  for (const auto& named : network.statistics()) {
    place(named.name, layout_.statistics()[statistics_.size()], named.statistic->running, true);
    statistics_.push_back(named.statistic);
  }
  bind_weights(weights_.data(), at::kCPU);
  if (setup.averaging == Averaging::kYes) {
    average_.emplace(layout_.size());
    begin_average();
  }
}

std::vector<comm::ElementRange> NetworkState::own_slices() const {
  std::vector<comm::ElementRange> slices;
  for (std::size_t bucket = 0; bucket < plan_.num_buckets(); ++bucket) {
    slices.push_back(plan_.slice(bucket, worker_));
  }
  std::erase_if(slices, &comm::ElementRange::empty);
  std::ranges::sort(slices, {}, &comm::ElementRange::begin);
  std::vector<comm::ElementRange> joined;
  for (const comm::ElementRange slice : slices) {
    if (!joined.empty() && joined.back().end == slice.begin) {
      joined.back().end = slice.end;
    } else {
      joined.push_back(slice);
    }
  }
  return joined;
}

void NetworkState::begin_average() {
  for (const comm::ElementRange& part : parts_) {
    std::ranges::copy(weights_.range(part), average_->range(part).begin());
  }
}

bool NetworkState::holds_place(const TensorPlace& place) const {
  return std::ranges::any_of(parts_, [&](const comm::ElementRange& part) {
    return comm::intersect(part, place.range) == place.range;
  });
}

PerMoment<std::span<float>> NetworkState::moments(comm::ElementRange range) {
  PerMoment<std::span<float>> found;
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    found[i] = moments_[i].range(range);
  }
  return found;
}

std::int64_t NetworkState::num_parameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : parameters_) {
    count += parameter.numel();
  }
  return count;
}

at::Tensor NetworkState::view(float* arena, const TensorPlace& place, at::Device device) {
  return at::for_blob(arena + place.range.begin, place.sizes)
      .strides(place.strides)
      .options(at::device(device).dtype(at::kFloat))
      .target_device(device)
      .make_tensor();
}

void NetworkState::place_on(std::unique_ptr<DeviceMirror> mirror) {
  mirror_ = std::move(mirror);
  mirror_->store();
  bind_weights(mirror_->weights(), device());
}

at::Device NetworkState::device() const { return mirror_ ? mirror_->device() : at::kCPU; }

void NetworkState::fetch() {
  if (mirror_) {
    const comm::ElementRange all{0, layout_.size()};
    mirror_->fetch({&all, 1});
  }
}

void NetworkState::fetch_own(int worker) {
  if (!mirror_) {
    return;
  }
  std::vector<comm::ElementRange> own;
  for (std::size_t bucket = 0; bucket < plan_.num_buckets(); ++bucket) {
    own.push_back(plan_.slice(bucket, worker));
  }
  mirror_->fetch(own);
}

void NetworkState::fetch_weights() {
  if (mirror_) {
    mirror_->fetch_weights();
  }
}

void NetworkState::store() {
  if (mirror_) {
    mirror_->store();
  }
}

void NetworkState::begin_anew(std::uint64_t seed) {
  bind_weights(weights_.data(), at::kCPU);  // a device may hold only a part
  network_.initialise(seed);
  bind_weights(bound_weights(), device());
  for (comm::Arena& moment : moments_) {
    std::memset(moment.data(), 0, moment.size() * sizeof(float));
  }
  if (average_) {
    begin_average();
  }
  counts = first_counts();
  store();
}

comm::UpdateCounts NetworkState::first_counts() const {
  return {.scale_exponent = has_loss_scale_ ? comm::LossScaling::kFirstExponent : 0};
}

float* NetworkState::bound_weights() { return mirror_ ? mirror_->weights() : weights_.data(); }

void NetworkState::bind_weights(float* arena, at::Device device) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].set_data(view(arena, places_[i], device));
  }
  for (std::size_t i = 0; i < statistics_.size(); ++i) {
    statistics_[i]->running = view(arena, places_[parameters_.size() + i], device);
  }
}

NetworkState::LeafViews NetworkState::views_of(float* leaf) const {
  LeafViews views;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    views.gradients.push_back(view(leaf, places_[i], device()));
  }
  for (std::size_t i = 0; i < statistics_.size(); ++i) {
    const TensorPlace& place = places_[parameters_.size() + i];
    if (holds_place(place)) {
      views.sums.push_back({statistics_[i], view(leaf, place, device())});
    }
  }
  return views;
}

void NetworkState::bind_gradients(float* leaf) {
  leaf_ = leaf;
  auto found = leaves_.find(leaf);
  if (found == leaves_.end()) {
    found = leaves_.emplace(leaf, views_of(leaf)).first;
  }
  place_gradients(/*in_leaf=*/!keeps_gradients_);
  leaf_statistics_.open(found->second.sums);
}

void NetworkState::place_gradients(bool in_leaf) {
  const std::vector<at::Tensor>& views = leaves_.at(leaf_).gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (holds(i)) {
      parameters_[i].mutable_grad() = in_leaf ? views[i] : at::Tensor();
    }
  }
}

void NetworkState::with_leaf_in_place(const std::function<void()>& body) {
  if (!keeps_gradients_ || leaf_ == nullptr) {
    return body();  // a worker may hold no trained block of the network
  }
  place_gradients(/*in_leaf=*/true);
  body();
  place_gradients(/*in_leaf=*/false);
}

void NetworkState::add_kept_gradients() {
  if (!keeps_gradients_ || leaf_ == nullptr) {
    return;  // a phase's backward may begin in a network that the phase does not train
  }
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor>& views = leaves_.at(leaf_).gradients;
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> kept;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& gradient = parameters_[i].mutable_grad();
    if (holds(i) && gradient.defined() && !gradient.is_same(views[i])) {
      sums.push_back(views[i]);
      kept.push_back(std::exchange(gradient, at::Tensor()));
    }
  }
  if (!kept.empty()) {
    at::_foreach_add_(sums, kept);
  }
}

void NetworkState::prepare_leaves_beside(std::size_t places) {
  while (!is_frozen_ && leaves_beside_.size() < places) {
    leaves_beside_.push_back(
        at::empty({static_cast<std::int64_t>(layout_.size())}, at::TensorOptions(device())));
  }
}

void NetworkState::bind_gradients_beside(std::size_t place) {
  bind_gradients(leaves_beside_.at(place).zero_().mutable_data_ptr<float>());
}

void NetworkState::with_weights(comm::Arena& arena, const std::function<void()>& body) {
  // On the CPU `placed` is the arena itself.
  const at::Tensor placed =
      at::from_blob(arena.data(), {static_cast<std::int64_t>(arena.size())}, at::kFloat)
          .to(device());
  bind_weights(placed.mutable_data_ptr<float>(), device());
  try {
    body();
  } catch (...) {
    bind_weights(bound_weights(), device());
    throw;
  }
  bind_weights(bound_weights(), device());
}

}  // namespace gangway::worker
