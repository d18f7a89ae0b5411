// SPDX-License-Identifier: MIT
// Everything that one network owns on a worker, in arenas of one layout: weights (whole), moments
// and average (own slices only, whole after a gather). Binds the network's tensors to them. Compute
// thread, but for what the lane updates between a phase's reduce and update.
//
// The arenas are host memory. Where the worker computes on a device, the device has a state of its
// own that training works on (DeviceMirror), and the arenas hold what was fetched last.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/arena/arena.hpp"
#include "comm/arena/arena_layout.hpp"
#include "comm/arena/bucket_plan.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/reduce/update_counts.hpp"
#include "gan/network.hpp"
#include "job/layout/layout.hpp"
#include "job/spec.hpp"
#include "worker/state/statistic_sinks.hpp"

namespace gangway::worker {

/// Whether a network keeps a weight average.
enum class Averaging { kNo, kYes };

/// One network's state in a device's memory, in the layout of its arenas. Compute thread; calls
/// wait for the device.
class DeviceMirror {
 public:
  virtual ~DeviceMirror() = default;
  [[nodiscard]] virtual at::Device device() const = 0;
  /// On the device, in the places of an arena; what the worker does not hold of it may not be
  /// touched.
  [[nodiscard]] virtual float* weights() = 0;
  /// Copies `ranges` of all of the device's state, or its weights alone, to the network's arenas,
  /// as far as the device has them.
  /// @pre no exchange is under way
  virtual void fetch(std::span<const comm::ElementRange> ranges) = 0;
  virtual void fetch_weights() = 0;
  /// Copies the network's arenas to the device. @pre as above
  virtual void store() = 0;
};

/// The elements at `memory` of `device`, float32 [elements]; shares memory.
[[nodiscard]] at::Tensor tensor_over(float* memory, std::size_t elements, at::Device device);

class NetworkState {
 public:
  struct Setup {
    MemoryFormat format = MemoryFormat::kContiguous;
    int num_workers = 1;
    NetworkGroup group = {};  ///< who holds it, and which part of it; no workers: all hold all
    int worker = 0;           ///< this one
    OptimizerKind optimizer = OptimizerKind::kAdam;
    bool is_frozen = false;  ///< never updated: it has no moments
    bool has_loss_scale = false;
    Averaging averaging = Averaging::kNo;
    /// Whose workers share the weights; used by the constructor alone; null: nobody does.
    comm::HostMemory* host = nullptr;
    /// By worker, the first tensor of its own, where each has whole ones that no other needs and
    /// nothing updates them by a gradient (image pools); empty: all need all.
    std::vector<std::size_t> first_tensors = {};
    std::size_t buckets = 0;             ///< 0: as many as the next one allows
    std::size_t least_bucket_bytes = 0;  ///< of buckets on average; 0: kDefaultBuckets of any size
  };
  /// Copies the network's present values into the arenas and binds the network to them.
  NetworkState(gan::Network& network, const Setup& setup);

  [[nodiscard]] gan::Network& network() { return network_; }
  [[nodiscard]] const comm::ArenaLayout& layout() const { return layout_; }
  /// By worker; whoever does not hold the network owns nothing of it.
  [[nodiscard]] const comm::BucketPlan& plan() const { return plan_; }
  /// The same by place in the group that holds what this worker holds.
  [[nodiscard]] const comm::BucketPlan& group_plan() const { return group_plan_; }
  /// What this worker holds of the arenas, in whole blocks, ascending: all, unless it holds one
  /// chunk of a network that is cut, or nothing of one that others hold.
  [[nodiscard]] const std::vector<comm::ElementRange>& parts() const { return parts_; }
  /// What this worker updates, and so has moments and average of: its slices of plan(), ascending,
  /// joined where they meet.
  [[nodiscard]] std::vector<comm::ElementRange> own_slices() const;
  /// Whether different workers hold different parts.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// Whether its part has a parameter, in the order of layout().parameters().
  [[nodiscard]] bool holds(std::size_t parameter) const { return holds_place(places_[parameter]); }
  [[nodiscard]] comm::Arena& weights() { return weights_; }
  [[nodiscard]] OptimizerKind optimizer() const { return optimizer_; }
  [[nodiscard]] bool is_frozen() const { return is_frozen_; }
  /// Whether losses are scaled for it, by what its counts say.
  [[nodiscard]] bool has_loss_scale() const { return has_loss_scale_; }
  /// Whether a worker needs nothing of what others own.
  [[nodiscard]] bool is_apart() const { return is_apart_; }
  /// The optimiser's, in its row's order; none of a frozen network.
  [[nodiscard]] std::span<comm::Arena> moments() { return moments_; }
  [[nodiscard]] PerMoment<std::span<float>> moments(comm::ElementRange range);
  [[nodiscard]] comm::Arena* average() { return average_ ? &*average_ : nullptr; }
  [[nodiscard]] std::int64_t num_parameters() const;

  /// From now on training works on `mirror`, which starts with what the arenas hold.
  void place_on(std::unique_ptr<DeviceMirror> mirror);
  /// Where the network's tensors lie.
  [[nodiscard]] at::Device device() const;
  /// Brings the arenas, or what `worker` owns of them, or the weights alone, up to date, where a
  /// device has the newest state. @pre no exchange is under way
  void fetch();
  void fetch_own(int worker);
  void fetch_weights();
  /// Takes up what was written to the arenas. @pre as above
  void store();

  /// Takes the initial values of `seed` again, as a new network has them.
  void begin_anew(std::uint64_t seed);

  /// Of a network that was never updated.
  [[nodiscard]] comm::UpdateCounts first_counts() const;
  /// Of this network's updates so far. Part of the state, loaded and stored as bytes.
  comm::UpdateCounts counts;  // NOLINT(misc-non-private-member-variables-in-classes)

  /// From now on backward adds to `leaf`, zeroed arena-sized memory of device(), and so does
  /// statistics().
  void bind_gradients(float* leaf);
  /// Memory for leaves of micro-batches that are computed beside one another, `places` at a time.
  void prepare_leaves_beside(std::size_t places);
  /// The same as bind_gradients(), with that of `place`, which it zeroes.
  void bind_gradients_beside(std::size_t place);
  /// Whether the leaf that is bound is that of `place`.
  [[nodiscard]] bool is_bound_beside(std::size_t place) const {
    return leaf_ == leaves_beside_.at(place).const_data_ptr<float>();
  }
  /// What lies in `place` comes to the leaf that is bound.
  void take_leaf_beside(std::size_t place) {
    tensor_over(leaf_, layout_.size(), device()).copy_(leaves_beside_.at(place));
  }
  /// Takes what training passes see.
  [[nodiscard]] LeafStatistics& statistics() { return leaf_statistics_; }
  /// A trained tensor, in the order of layout().parameters().
  [[nodiscard]] const at::Tensor& parameter(std::size_t index) const { return parameters_[index]; }
  /// Where backward is to add to its gradient.
  [[nodiscard]] const float* gradient_memory(std::size_t index) const {
    return leaf_ + layout_.parameters()[index].offset;
  }
  /// Runs `body` with the network bound to `arena` instead of its weights (a gathered average).
  /// Rebinds whatever happens.
  void with_weights(comm::Arena& arena, const std::function<void()>& body);

  /// A trained tensor or a statistic, by its place in an arena.
  struct Place {
    std::string name;  ///< "generator/0/weight"
    comm::ElementRange range;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;  ///< of the memory format
    bool is_statistic = false;          ///< has no moments
  };
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  /// The tensor at `place` of `arena`, which is memory of `device`, in its logical shape; shares
  /// memory.
  [[nodiscard]] static at::Tensor view(float* arena, const Place& place,
                                       at::Device device = at::kCPU);

 private:
  [[nodiscard]] bool holds_place(const Place& place) const;
  /// What of the weights this worker holds becomes the average.
  void begin_average();
  /// Memory of `device`, in the places of an arena.
  void bind_weights(float* arena, at::Device device);
  [[nodiscard]] float* bound_weights();

  gan::Network& network_;
  std::vector<at::Tensor> parameters_;
  std::vector<gan::Statistic*> statistics_;
  LeafStatistics leaf_statistics_;
  comm::ArenaLayout layout_;
  std::vector<comm::ElementRange> parts_;
  comm::BucketPlan group_plan_;
  comm::BucketPlan plan_;
  std::vector<Place> places_;  // parameters, then statistics
  comm::Arena weights_;
  OptimizerKind optimizer_;
  int worker_;
  bool is_frozen_;
  bool has_loss_scale_;
  bool is_apart_;
  bool is_cut_;
  std::vector<comm::Arena> moments_;
  std::optional<comm::Arena> average_;
  std::unique_ptr<DeviceMirror> mirror_;  // null: the arenas are what training works on
  float* leaf_ = nullptr;
  /// Tensors over one leaf: there are few leaves, and each comes again in every step.
  struct LeafViews {
    std::vector<at::Tensor> gradients;
    std::vector<LeafStatistics::Sum> sums;
  };
  [[nodiscard]] LeafViews views_of(float* leaf) const;
  std::map<float*, LeafViews> leaves_;
  std::vector<at::Tensor> leaves_beside_;
};

}  // namespace gangway::worker
