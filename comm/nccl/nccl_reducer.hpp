// SPDX-License-Identifier: MIT
// The reduction of one network on CUDA devices. Exact: partials of each bucket travel by grouped
// send and receive to the owners of its slices, between hosts as the sums of a host
// (comm/nccl/message_plan.hpp), one fused kernel adds them in tree order and updates the slice, and
// the new weights travel back. All by streams and events: no thread waits for the GPU.
//
//   prepare(constants, compute)     compute thread; in front of a captured graph, not in it
//   open()                          compute thread: no bucket is ready
//   bucket_ready(bucket, compute)   the thread of the hook: the bucket's last gradient lies on
//                                   `compute`, and nothing behind it needs the bucket's old weights
//   record_ready(bucket, compute)   the same where `compute` is captured: in each launch of the
//   graph bucket_played(bucket)           compute thread: the graph is launched all_ready(compute)
//   compute thread: whatever did not fire travels as it is advance()                       lane,
//   after any of the above: launches what is next and ready await(compute)                  compute
//   thread, when the lane has launched all: what follows on
//                                   `compute` sees the new weights
//
// One lane launches for all networks, and a phase is launched whole before the next is opened: the
// same order on every worker, whatever the timing.
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

/// kExact: the job's tree, the same bits on any layout. kNcclOrder, declared inexact: the mean by
/// ncclAllReduce in an order of NCCL's own; every worker updates every weight.
enum class NcclOrder : std::uint8_t { kExact, kNcclOrder };

class NcclReducer final : public Exchange {
 public:
  struct Setup {
    const char* network = "";             ///< a literal, for messages
    const ArenaLayout* layout = nullptr;  ///< outlives the reducer, as does plan
    const BucketPlan* plan = nullptr;
    std::vector<MicrobatchRange> ranges;  ///< of every worker
    std::vector<int> hosts = {};          ///< by worker: equal on one host; empty: each its own
    int num_microbatches = 1;
    NcclOrder order = NcclOrder::kExact;
    /// Of sums between hosts; 16 bits are declared inexact.
    WireType wire = WireType::kFloat32;
    double clip_norm = 0.0;   ///< global norm; 0: no clipping
    bool tells_norm = false;  ///< squared_norm() without clipping, too
    /// Losses may be scaled, as the constants say; where the norm is not finite all workers skip
    /// the update.
    bool skips = false;
    /// Device memory of the layout's size each, valid as long as the reducer; weights and partials
    /// travel without copies where they are registered with the session
    /// (comm/nccl/nccl_memory.hpp).
    float* weights = nullptr;
    OptimizerKind optimizer = OptimizerKind::kAdam;
    PerMoment<float*> moments = {};
    float* average = nullptr;            ///< null: the network keeps none
    std::vector<const float*> partials;  ///< sums of the own whole subtrees, left to right
    /// Where the session's workers share one chunk of a network that is clipped: all who hold some
    /// of it, and agree on its norm.
    struct Whole {
      NcclSession* session = nullptr;  ///< for this alone; null: the others have no part of it
      /// By their numbers among all workers; outlives the reducer.
      const BucketPlan* plan = nullptr;
      std::vector<int> workers = {};  ///< these numbers, by place in the session
    };
    Whole whole = {};
    UpdateViewer* viewer = nullptr;  ///< outlives the reducer; null: nobody sees updates
  };

  /// @throws InvariantError if the setup is not that of the session's workers or asks for what
  /// NCCL's own order cannot do.
  NcclReducer(NcclSession& session, Setup setup);
  /// Waits for what is launched: freeing its memory waits for no stream.
  ~NcclReducer() override {
    (void)session_.drain();
    if (setup_.whole.session != nullptr) {
      (void)setup_.whole.session->drain();
    }
  }
  NcclReducer(const NcclReducer&) = delete;
  NcclReducer& operator=(const NcclReducer&) = delete;

  // --- compute thread ---

  /// Gives the next update its numbers, in the order of `stream`. @pre `stream` has awaited the
  /// last
  void prepare(const UpdateConstants& constants, cudaStream_t stream);
  void open() { launches_.open(); }
  /// Any order; a second time changes nothing.
  void bucket_ready(std::size_t bucket, cudaStream_t compute);
  /// Of a graph that is captured; where none is, what is put there is to be compared with one.
  void record_ready(std::size_t bucket, cudaStream_t compute) {
    record_in_graph(events_[bucket].gradients.get(), compute, setup_.network);
  }
  /// Copies on the session's stream what `from` is when the graph that was launched last has come
  /// to where `bucket` is ready. Device memory.
  void copy_when_ready(std::size_t bucket, const float* from, float* to, std::size_t elements) {
    check(cudaStreamWaitEvent(session_.stream(), events_[bucket].gradients.get(), 0),
          setup_.network);
    check(cudaMemcpyAsync(to, from, elements * sizeof(float), cudaMemcpyDeviceToDevice,
                          session_.stream()),
          setup_.network);
  }
  /// @pre the graph was launched since open(); a second time changes nothing
  void bucket_played(std::size_t bucket) { launches_.ready(bucket); }
  /// Returns how many buckets had not been said to be ready.
  std::size_t all_ready(cudaStream_t compute);
  /// @throws InvariantError if the lane has not launched the weights that are awaited.
  void await(cudaStream_t stream);
  void await_bucket(std::size_t bucket, cudaStream_t stream);
  /// Waits on the host for what lies on the session's stream. @throws CommError
  void synchronise();

  /// Device memory with the squared norm of the last update's mean gradient; null where updates do
  /// not wait for it.
  [[nodiscard]] const double* squared_norm() const;
  /// Device memory: whether the last update was skipped; null where none is.
  [[nodiscard]] const int* is_skipped() const;

  // --- lane ---

  /// Never messages: those are the GPU's business.
  [[nodiscard]] Need needs() const override {
    return launches_.all_launched() ? Need::kNothing : Need::kCompute;
  }
  bool advance() override;

 private:
  struct BucketEvents {
    CudaEvent gradients;
    CudaEvent weights;
  };
  /// The few values that live on the device; in device memory.
  struct Scalars {
    UpdateConstants constants;
    float clip_scale;
    double squared_norm;
    int is_skipped;
  };

  /// Whether updates wait until all know the norm of the mean gradient.
  [[nodiscard]] bool agrees() const { return scales() || setup_.tells_norm; }
  /// Whether the mean gradient is multiplied by what the norm says.
  [[nodiscard]] bool scales() const { return setup_.clip_norm > 0.0 || setup_.skips; }
  void allocate();
  void set_up_sums();
  void send_partials(std::size_t bucket);
  void send_sums(std::size_t bucket);
  void all_reduce(std::size_t bucket);
  void launch_bucket(std::size_t bucket);
  void decide_clip();
  /// All workers that hold some of the network come to know the squares of all.
  void share_squares();
  void update_and_share(std::size_t bucket);
  void enqueue_partials(std::size_t bucket, ncclComm_t communicator);
  void enqueue_sums(std::size_t bucket, ncclComm_t communicator);
  using WeightMessages = std::vector<MessagePlan::WeightMessage>;
  void exchange_weights(const WeightMessages& sends, const WeightMessages& receives);
  void enqueue_squares(ncclComm_t communicator);
  [[nodiscard]] SliceSummands summands(std::size_t bucket) const;
  /// What `sources` are in `elements` of the arena.
  [[nodiscard]] SliceSummands summands(const std::vector<MessagePlan::Source>& sources,
                                       ElementRange elements) const;
  /// Where what is sent lies, before it is rounded.
  [[nodiscard]] const float* values_of(const MessagePlan::SumSend& send) const;
  /// What this worker updates of a bucket.
  [[nodiscard]] ElementRange updated(std::size_t bucket) const;
  [[nodiscard]] ElementRange blocks_of(ElementRange elements) const;
  [[nodiscard]] std::byte* encoded(std::size_t sum, std::size_t element) const;
  [[nodiscard]] Scalars* scalars() const { return static_cast<Scalars*>(scalars_.get()); }

  NcclSession& session_;
  Setup setup_;
  MessagePlan messages_;
  LaunchOrder launches_;
  std::vector<BucketEvents> events_;
  std::vector<SliceSum> sums_;        // by bucket; where sums are needed apart from updates
  std::vector<SliceUpdate> updates_;  // by bucket
  // By MessagePlan's offsets:
  NcclMemory host_received_;  // partials of the own host's others
  NcclMemory host_sums_;      // of the own host, for others
  NcclMemory received_;       // sums of other hosts, in the wire's type
  // Arena-sized, by the host's sums, where the wire is not kFloat32:
  NcclMemory encoded_;   // the sums in its type
  NcclMemory residual_;  // what rounding took from them
  NcclMemory mean_;      // arena-sized; where sums are needed apart from updates
  NcclMemory squares_;   // clipping: a double a block, then as many of scratch
  CudaEvent squares_made_;
  CudaEvent squares_shared_;
  CudaMemory scalars_;
  std::vector<std::unique_ptr<NcclRegistration>> registrations_;
};

}  // namespace gangway::comm
