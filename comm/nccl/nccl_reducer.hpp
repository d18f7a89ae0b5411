// SPDX-License-Identifier: MIT
// Reduces one network on CUDA devices. In exact order, partials of each bucket travel by grouped
// sends and receives to the owners of its slices, between hosts as host sums
// (comm/nccl/message_plan.hpp). One fused kernel adds them in tree order and updates the slice, and
// the new weights travel back. Streams and events order all work: no thread waits for the GPU.
//
//   prepare(constants, compute)    compute thread, before a captured graph and not in it
//   open()                         compute thread: starts a phase, no bucket is ready
//   bucket_ready(bucket, compute)  hook's thread: the bucket's last gradient lies on `compute`, and
//                                  no later work there needs the bucket's old weights
//   record_ready(bucket, compute)  the same while `compute` is captured, for each graph launch
//   bucket_played(bucket)          compute thread: the graph is launched
//   advance()                      lane, after any of the above: launches the next ready buckets
//   await_bucket(bucket, compute)  compute thread, after the lane has launched the bucket: later
//                                  work on `compute` sees its new weights
//
// One lane launches for all networks, and launches a phase whole before the next is opened. So the
// order is equal on every worker.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/cuda/slice_update.hpp"
#include "comm/cuda/update_viewer.hpp"
#include "comm/lane.hpp"
#include "comm/nccl/launch_order.hpp"
#include "comm/nccl/message_plan.hpp"
#include "comm/nccl/nccl_memory.hpp"
#include "comm/nccl/nccl_session.hpp"

namespace gangway::comm {

/// kExact: the job's tree, equal bits on any layout. kNcclOrder, declared inexact: ncclAllReduce
/// makes the mean in NCCL's order, and every worker updates every weight.
enum class NcclOrder : std::uint8_t { kExact, kNcclOrder };

struct NcclReducerSetup {
  const char* network = "";             ///< a literal, for messages
  const ArenaLayout* layout = nullptr;  ///< layout and plan outlive the reducer
  const BucketPlan* plan = nullptr;
  std::vector<MicrobatchRange> ranges;  ///< of every worker
  std::vector<int> hosts = {};          ///< by worker; equal values: one host; empty: a host each
  int num_microbatches = 1;
  NcclOrder order = NcclOrder::kExact;
  /// The type of sums between hosts; 16 bits are declared inexact.
  WireType wire = WireType::kFloat32;
  double clip_norm = 0.0;   ///< global norm; 0: no clipping
  bool tells_norm = false;  ///< computes squared_norm() also without clipping
  /// Whether losses may be scaled (UpdateConstants::unscale); if the norm is then not finite, all
  /// workers skip the update.
  bool skips = false;
  /// Device memory, each of the layout's size; outlives the reducer. Weights and partials that
  /// are registered with the session (comm/nccl/nccl_memory.hpp) travel without copies.
  float* weights = nullptr;
  OptimizerKind optimizer = OptimizerKind::kAdam;
  PerMoment<float*> moments = {};
  float* average = nullptr;            ///< null: the network has no weight average
  std::vector<const float*> partials;  ///< sums of the own whole subtrees, left to right
  /// For clipping a network that is cut into chunks: the workers of all chunks, which agree on
  /// its norm. The reducer's own session then holds one chunk.
  struct Whole {
    NcclSession* session = nullptr;  ///< used only for this; null: this session holds all
    /// Slices by index among all workers; outlives the reducer.
    const BucketPlan* plan = nullptr;
    std::vector<int> workers = {};  ///< index among all workers, by place in `session`
  };
  Whole whole = {};
  UpdateViewer* viewer = nullptr;  ///< outlives the reducer; null: no viewer
};

class NcclReducer final : public Exchange {
 public:
  /// @throws InvariantError if the setup does not match the session's workers, or NCCL's own order
  /// cannot do what it asks for.
  NcclReducer(NcclSession& session, NcclReducerSetup setup);
  /// Waits for launched work because freeing the memory waits for no stream.
  ~NcclReducer() override {
    (void)session_.drain();
    if (setup_.whole.session != nullptr) {
      (void)setup_.whole.session->drain();
    }
  }
  NcclReducer(const NcclReducer&) = delete;
  NcclReducer& operator=(const NcclReducer&) = delete;

  // --- compute thread ---

  /// Sets the constants of the next update, ordered by `stream`. @pre `stream` has awaited the last
  /// update
  void prepare(const UpdateConstants& constants, cudaStream_t stream);
  void open() { launches_.open(); }
  /// Marks `bucket` as ready. Any order; a second call has no effect.
  void bucket_ready(std::size_t bucket, cudaStream_t compute);
  /// For a graph under capture; without capture, for a comparison with a graph.
  void record_ready(std::size_t bucket, cudaStream_t compute) {
    record_in_graph(events_[bucket].gradients.get(), compute, setup_.network);
  }
  /// Copies `from` to `to` on the session's stream once the last launched graph has made `bucket`
  /// ready. Device memory.
  void copy_when_ready(std::size_t bucket, const float* from, float* to, std::size_t elements) {
    check(cudaStreamWaitEvent(session_.stream(), events_[bucket].gradients.get(), 0),
          setup_.network);
    check(cudaMemcpyAsync(to, from, elements * sizeof(float), cudaMemcpyDeviceToDevice,
                          session_.stream()),
          setup_.network);
  }
  /// @pre the graph was launched since open(). A second call has no effect
  void bucket_played(std::size_t bucket) { launches_.ready(bucket); }
  /// @throws InvariantError if the lane has not launched the awaited weights.
  void await_bucket(std::size_t bucket, cudaStream_t stream);
  /// Waits on the host for all work on the session's stream. @throws CommError
  void synchronise();

  /// Device memory with the squared norm of the last update's mean gradient; null if updates do not
  /// wait for it.
  [[nodiscard]] const double* squared_norm() const;
  /// Device memory: whether the last update was skipped; null if updates are never skipped.
  [[nodiscard]] const int* is_skipped() const;

  // --- lane ---

  /// Never kMessages because the GPU waits for messages, not the lane.
  [[nodiscard]] Need needs() const override {
    return launches_.all_launched() ? Need::kNothing : Need::kCompute;
  }
  bool advance() override;

 private:
  struct BucketEvents {
    CudaEvent gradients;
    CudaEvent weights;
  };
  /// The few values in device memory.
  struct Scalars {
    UpdateConstants constants;
    float clip_scale;
    double squared_norm;
    int is_skipped;
  };

  /// Whether updates wait until all workers know the mean gradient's norm.
  [[nodiscard]] bool agrees() const { return scales() || setup_.tells_norm; }
  /// Whether the norm scales the mean gradient.
  [[nodiscard]] bool scales() const { return setup_.clip_norm > 0.0 || setup_.skips; }
  void allocate();
  void set_up_sums();
  void send_partials(std::size_t bucket);
  void send_sums(std::size_t bucket);
  void all_reduce(std::size_t bucket);
  void launch_bucket(std::size_t bucket);
  void decide_clip();
  /// Sends the squares of all blocks to all workers that hold some of the network.
  void share_squares();
  void update_and_share(std::size_t bucket);
  void enqueue_partials(std::size_t bucket, ncclComm_t communicator);
  void enqueue_sums(std::size_t bucket, ncclComm_t communicator);
  using WeightMessages = std::vector<MessagePlan::WeightMessage>;
  void exchange_weights(const WeightMessages& sends, const WeightMessages& receives);
  void enqueue_squares(ncclComm_t communicator);
  [[nodiscard]] SliceSummands summands(std::size_t bucket) const;
  /// The summands of `sources`, for `elements` of the arena.
  [[nodiscard]] SliceSummands summands(const std::vector<MessagePlan::Source>& sources,
                                       ElementRange elements) const;
  /// The sum to send, before rounding.
  [[nodiscard]] const float* values_of(const MessagePlan::SumSend& send) const;
  /// The part of the bucket that this worker updates.
  [[nodiscard]] ElementRange updated(std::size_t bucket) const;
  [[nodiscard]] ElementRange blocks_of(ElementRange elements) const;
  [[nodiscard]] std::byte* encoded(std::size_t sum, std::size_t element) const;
  [[nodiscard]] Scalars* scalars() const { return static_cast<Scalars*>(scalars_.get()); }

  NcclSession& session_;
  NcclReducerSetup setup_;
  MessagePlan messages_;
  LaunchOrder launches_;
  std::vector<BucketEvents> events_;
  std::vector<SliceSum> sums_;        // by bucket; if sums are separate from updates
  std::vector<SliceUpdate> updates_;  // by bucket
  // By MessagePlan's offsets:
  NcclMemory host_received_;  // partials of this host's other workers
  NcclMemory host_sums_;      // this host's sums for other hosts
  NcclMemory received_;       // sums of other hosts, in the wire's type
  // Arena-sized, one per host sum, if the wire is not kFloat32:
  NcclMemory encoded_;   // the sums in the wire's type
  NcclMemory residual_;  // rounding errors of the sums
  NcclMemory mean_;      // arena-sized; if sums are separate from updates
  NcclMemory squares_;   // for the norm: a double per block, then equal scratch
  CudaEvent squares_made_;
  CudaEvent squares_shared_;
  CudaMemory scalars_;
  std::vector<std::unique_ptr<NcclRegistration>> registrations_;
};

}  // namespace gangway::comm
