// SPDX-License-Identifier: MIT
// Holds one network's state on a worker in arenas of one layout: weights (whole), moments and
// average (own slices, whole after a gather), and binds the network's tensors to them. Compute
// thread, except updates on the lane between a phase's reduce and update.
//
// The arenas are host memory. A worker on a GPU trains on a copy in device memory (DeviceMirror);
// its arenas then hold the last fetched state.
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

/// Tells whether a network keeps a weight average.
enum class Averaging { kNo, kYes };

/// Holds one network's state in device memory, in the layout of its arenas. Compute thread; calls
/// wait for the device.
class DeviceMirror {
 public:
  virtual ~DeviceMirror() = default;
  [[nodiscard]] virtual at::Device device() const = 0;
  /// Returns device memory laid out like an arena; parts that the worker does not hold must not be
  /// accessed.
  [[nodiscard]] virtual float* weights() = 0;
  /// Copy `ranges` of the device's state, or its weights alone, to the network's arenas, as far as
  /// the device holds them.
  /// @pre no exchange is under way
  virtual void fetch(std::span<const comm::ElementRange> ranges) = 0;
  virtual void fetch_weights() = 0;
  /// Copies the network's arenas to the device. @pre as above
  virtual void store() = 0;
};

/// Returns a tensor over `memory` of `device`, float32 [elements]; shares memory.
[[nodiscard]] at::Tensor tensor_over(float* memory, std::size_t elements, at::Device device);

struct NetworkStateSetup {
  MemoryFormat format = MemoryFormat::kContiguous;
  int num_workers = 1;
  NetworkGroup group = {};  ///< holders and their parts; no workers: all hold all
  int worker = 0;           ///< this one
  OptimizerKind optimizer = OptimizerKind::kAdam;
  bool is_frozen = false;  ///< never updated: it has no moments
  bool has_loss_scale = false;
  Averaging averaging = Averaging::kNo;
  /// Host whose workers share the weights; used by the constructor alone; null: not shared.
  comm::HostMemory* host = nullptr;
  /// By worker, the first tensor that it owns, if each owns whole tensors (image pools). No other
  /// worker needs these, and no gradient updates them. Empty: all workers need all.
  std::vector<std::size_t> first_tensors = {};
  std::size_t buckets = 0;             ///< 0: derived from least_bucket_bytes
  std::size_t least_bucket_bytes = 0;  ///< average; 0: kDefaultBuckets of any size
};

class NetworkState {
 public:
  /// Copies the network's present values to the arenas and binds the network to them.
  NetworkState(gan::Network& network, const NetworkStateSetup& setup);

  [[nodiscard]] gan::Network& network() { return network_; }
  [[nodiscard]] const comm::ArenaLayout& layout() const { return layout_; }
  /// Indexed by worker; a worker that does not hold the network owns nothing.
  [[nodiscard]] const comm::BucketPlan& plan() const { return plan_; }
  /// Indexed by place in the group that holds the same part as this worker.
  [[nodiscard]] const comm::BucketPlan& group_plan() const { return group_plan_; }
  /// Returns the ranges that this worker holds, in whole blocks, ascending: all, or one chunk of a
  /// network that is cut, or none if other workers hold it.
  [[nodiscard]] const std::vector<comm::ElementRange>& parts() const { return parts_; }
  /// Returns the ranges that this worker updates, with moments and average: its slices of plan(),
  /// ascending, merged if adjacent.
  [[nodiscard]] std::vector<comm::ElementRange> own_slices() const;
  /// Returns whether different workers hold different parts.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// Returns whether this worker holds a parameter, in the order of layout().parameters().
  [[nodiscard]] bool holds(std::size_t parameter) const { return holds_place(places_[parameter]); }
  [[nodiscard]] comm::Arena& weights() { return weights_; }
  [[nodiscard]] OptimizerKind optimizer() const { return optimizer_; }
  [[nodiscard]] bool is_frozen() const { return is_frozen_; }
  /// Returns whether its losses are scaled, by the exponent in `counts`.
  [[nodiscard]] bool has_loss_scale() const { return has_loss_scale_; }
  /// Returns whether no worker needs state that another worker owns.
  [[nodiscard]] bool is_apart() const { return is_apart_; }
  /// Return the optimiser's moments, in the order of its row; empty for a frozen network.
  [[nodiscard]] std::span<comm::Arena> moments() { return moments_; }
  [[nodiscard]] PerMoment<std::span<float>> moments(comm::ElementRange range);
  [[nodiscard]] comm::Arena* average() { return average_ ? &*average_ : nullptr; }
  [[nodiscard]] std::int64_t num_parameters() const;

  /// Moves training to `mirror`, which starts with the arenas' values.
  void place_on(std::unique_ptr<DeviceMirror> mirror);
  /// Returns the device of the network's tensors.
  [[nodiscard]] at::Device device() const;
  /// Copy the newest state from a device to the arenas: all of it, the part that `worker` owns, or
  /// the weights. @pre no exchange is under way
  void fetch();
  void fetch_own(int worker);
  void fetch_weights();
  /// Copies the arenas to the device, if any. @pre as above
  void store();

  /// Resets the network to the initial values of `seed`.
  void begin_anew(std::uint64_t seed);

  /// Returns the counts of a network that was never updated.
  [[nodiscard]] comm::UpdateCounts first_counts() const;
  /// Counts of this network's updates. Part of the state, loaded and stored as bytes.
  comm::UpdateCounts counts;  // NOLINT(misc-non-private-member-variables-in-classes)

  /// Makes backward and statistics() add to `leaf`, zeroed arena-sized memory of device().
  void bind_gradients(float* leaf);
  /// From now on, backward leaves its gradients in the parameters' `.grad` instead of adding each
  /// to the leaf by a kernel of its own. For devices, where a kernel takes longer to start than to
  /// add.
  void keep_gradients() { keeps_gradients_ = true; }
  /// Adds the kept gradients to the bound leaf, in one operation, with the bits of adding each at
  /// its arrival. Call after each backward. Compute thread; in a backward, autograd's.
  void add_kept_gradients();
  /// Runs `body`, which adds to the parameters' `.grad` in place (penalties), with the bound leaf
  /// there.
  void with_leaf_in_place(const std::function<void()>& body);
  /// Allocates leaves for micro-batches that are computed side by side, `places` at a time.
  void prepare_leaves_beside(std::size_t places);
  /// Like bind_gradients(), with the leaf of `place`, which it zeroes.
  void bind_gradients_beside(std::size_t place);
  /// Returns whether the bound leaf is that of `place`.
  [[nodiscard]] bool is_bound_beside(std::size_t place) const {
    return leaf_ == leaves_beside_.at(place).const_data_ptr<float>();
  }
  /// Copies the leaf of `place` to the bound leaf.
  void take_leaf_beside(std::size_t place) {
    tensor_over(leaf_, layout_.size(), device()).copy_(leaves_beside_.at(place));
  }
  /// Returns the sink of the statistics that training passes see.
  [[nodiscard]] LeafStatistics& statistics() { return leaf_statistics_; }
  /// Returns a trained tensor, in the order of layout().parameters().
  [[nodiscard]] const at::Tensor& parameter(std::size_t index) const { return parameters_[index]; }
  /// Returns whether its last gradient is in the bound leaf, or kept for it.
  [[nodiscard]] bool has_gradient_in_place(std::size_t index) const {
    return keeps_gradients_ ||
           parameters_[index].grad().const_data_ptr() == leaf_ + layout_.parameters()[index].offset;
  }
  /// Runs `body` with the network bound to `arena` instead of its weights (a gathered average).
  /// Rebinds also after an exception.
  void with_weights(comm::Arena& arena, const std::function<void()>& body);

  /// Location of a trained tensor or statistic in an arena.
  struct TensorPlace {
    std::string name;  ///< "generator/0/weight"
    comm::ElementRange range;
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides;  ///< of the memory format
    bool is_statistic = false;          ///< has no moments
  };
  [[nodiscard]] const std::vector<TensorPlace>& places() const { return places_; }
  /// Returns the tensor at `place` of `arena`, memory of `device`, in its logical shape; shares
  /// memory.
  [[nodiscard]] static at::Tensor view(float* arena, const TensorPlace& place,
                                       at::Device device = at::kCPU);

 private:
  [[nodiscard]] bool holds_place(const TensorPlace& place) const;
  /// Copies the weights that this worker holds to the average.
  void begin_average();
  /// Binds the network to memory of `device` that is laid out like an arena.
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
  std::vector<TensorPlace> places_;  // parameters, then statistics
  comm::Arena weights_;
  OptimizerKind optimizer_;
  int worker_;
  bool is_frozen_;
  bool has_loss_scale_;
  bool is_apart_;
  bool is_cut_;
  std::vector<comm::Arena> moments_;
  std::optional<comm::Arena> average_;
  std::unique_ptr<DeviceMirror> mirror_;  // null: training works on the arenas
  float* leaf_ = nullptr;
  /// Cached tensors over one leaf; a few leaves recur in every step.
  struct LeafViews {
    std::vector<at::Tensor> gradients;
    std::vector<LeafStatistics::Sum> sums;
  };
  [[nodiscard]] LeafViews views_of(float* leaf) const;
  /// Makes `.grad` of the held parameters the bound leaf, or undefined.
  void place_gradients(bool in_leaf);
  std::map<float*, LeafViews> leaves_;
  bool keeps_gradients_ = false;
  std::vector<at::Tensor> leaves_beside_;
};

}  // namespace gangway::worker
