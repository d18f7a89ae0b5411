// SPDX-License-Identifier: MIT
// The reduction of one network on CUDA devices. Exact mode: partials of each bucket travel by
// grouped send and receive to the owners of its slices, one fused kernel adds them in tree order and
// updates the slice, and the new weights travel back. All by streams and events: the host never
// waits for the GPU.
//
// A step of one network, and the threads that call:
//
//   prepare(constants, compute)      outside a captured graph, before it
//   begin()                          compute thread: no bucket is ready
//   bucket_ready(bucket, compute)    thread of autograd's hook: its last gradient lies on `compute`
//   close(compute)                   compute thread: the phase's last use of the weights lies there
//   advance()                        launching thread, after any of the above: launches what it can
//   await(compute)                   compute thread: what follows on `compute` sees the new weights
//
// Weights are written only after what lay on `compute` at `close`; partials leave before that. The
// launching thread is the same for all networks of a worker, and phases are launched in the order of
// `begin`: the same on every worker.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/cuda/slice_update.hpp"
#include "comm/nccl/launch_order.hpp"
#include "comm/nccl/message_plan.hpp"
#include "comm/nccl/nccl_memory.hpp"
#include "comm/nccl/nccl_session.hpp"

namespace gangway::comm {

/// kExact: the job's tree, the same bits on any layout. kNcclOrder, declared inexact: the mean by
/// ncclAllReduce in an order of NCCL's own; every worker updates every weight.
enum class NcclOrder : std::uint8_t { kExact, kNcclOrder };

class NcclReducer {
 public:
  struct Setup {
    const char* network = "";             ///< a literal, for messages
    const ArenaLayout* layout = nullptr;  ///< outlives the reducer, as does plan
    const BucketPlan* plan = nullptr;
    std::vector<MicrobatchRange> ranges;  ///< of every worker
    int num_microbatches = 1;
    NcclOrder order = NcclOrder::kExact;
    WireType wire = WireType::kFloat32;  ///< of partials; 16 bits are declared inexact
    double clip_norm = 0.0;              ///< global norm; 0: no clipping
    /// Device memory of the layout's size each, valid as long as the reducer.
    float* weights = nullptr;
    float* first_moment = nullptr;
    float* second_moment = nullptr;
    float* average = nullptr;            ///< null: the network keeps none
    std::vector<const float*> partials;  ///< sums of the own whole subtrees, left to right
  };

  /// @param communication  the stream of all of this session's launches; outlives the reducer
  /// @throws InvariantError if the setup is not that of the session's workers.
  NcclReducer(NcclSession& session, cudaStream_t communication, Setup setup);

  /// Gives the next update its numbers, in the order of `stream`.
  void prepare(const UpdateConstants& constants, cudaStream_t stream);
  void begin();
  void bucket_ready(std::size_t bucket, cudaStream_t compute);
  void close(cudaStream_t compute);
  /// Launches, in plan order, what is ready; never waits for the GPU. True when the phase is
  /// launched whole.
  /// @throws CommError when the session failed.
  bool advance();
  /// Makes `stream` wait for all new weights. The host waits until they have been launched.
  /// @throws CommError when that does not happen within `timeout` or the session failed.
  void await(cudaStream_t stream, std::chrono::milliseconds timeout = std::chrono::seconds(60));
  /// As `await`, for the weights of one bucket.
  void await_bucket(std::size_t bucket, cudaStream_t stream,
                    std::chrono::milliseconds timeout = std::chrono::seconds(60));
  /// Waits on the host until the launched phase has ended on the GPU. For tests.
  /// @throws CommError when the session failed.
  void synchronise();

  /// Device memory with the squared norm of the last update's mean gradient; null without clipping.
  [[nodiscard]] const double* squared_norm() const;
  /// Buckets that travelled unfired, all phases together.
  [[nodiscard]] std::uint64_t flushed_buckets() const { return flushed_; }

 private:
  struct BucketEvents {
    CudaEvent gradients;
    CudaEvent weights;
  };

  void allocate();
  void exchange_partials(std::size_t bucket);
  void all_reduce(std::size_t bucket);
  void decide_clip();
  void update_bucket(std::size_t bucket);
  void share_weights(std::size_t bucket);
  void launch_updates();
  [[nodiscard]] SliceSummands summands(std::size_t bucket) const;
  [[nodiscard]] ElementRange updated_range(std::size_t bucket) const;
  void wait_launched(std::chrono::milliseconds timeout);

  NcclSession& session_;
  cudaStream_t stream_;
  Setup setup_;
  MessagePlan messages_;
  std::vector<BucketEvents> events_;
  CudaEvent closed_;
  NcclMemory received_;  // partials of the others, by MessagePlan's offsets, in the wire's type
  NcclMemory encoded_;   // own partials in the wire's type, where it is not kFloat32
  NcclMemory residual_;  // what rounding took from them
  NcclMemory local_;     // kNcclOrder: own sum, then the mean; clipping: means of the own slices
  NcclMemory squares_;   // clipping: a double a block, then as many of scratch
  CudaMemory scalars_;   // UpdateConstants, squared norm, clip scale
  std::vector<std::unique_ptr<NcclRegistration>> registrations_;
  std::mutex mutex_;  // guards the four below
  std::condition_variable launched_changed_;
  LaunchOrder launches_;
  bool launched_ = true;
  std::uint64_t flushed_ = 0;
};

}  // namespace gangway::comm
