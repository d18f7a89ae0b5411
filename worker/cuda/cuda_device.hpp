// SPDX-License-Identifier: MIT
// A worker's CUDA device: one stream for all computing, and one NCCL session for each group of
// workers (several sessions on one device can deadlock). Compute thread; the lane launches the
// exchanges.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/nccl/nccl_session.hpp"
#include "worker/cuda/cuda_exchange.hpp"
#include "worker/cuda/torch_cuda.hpp"
#include "worker/gauges/gauge_watch.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

class CudaDevice : public ComputeDevice {
 public:
  /// Makes NCCL treat this process as one of another host with that name
  /// (comm/nccl/shared_device.hpp). Lane thread.
  using PretendHost = std::function<void(const std::string& name)>;

  /// Selects device `index` for this thread and configures LibTorch for it. `job` outlives it.
  /// @throws EnvironmentError if there is no such device.
  CudaDevice(const Job& job, const Execution& execution, int index, PretendHost pretend);
  ~CudaDevice() override = default;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] at::Device device() const override { return device_; }
  [[nodiscard]] std::string kind() const override { return kind_; }
  [[nodiscard]] std::vector<messages::ArithmeticFact> facts() const override {
    return cuda_facts();
  }
  [[nodiscard]] bool lags_behind() const override { return true; }
  void place(NetworkState& network, std::optional<MicrobatchRange> own,
             comm::HostMemory& host) override;
  [[nodiscard]] NetworkExchanges connect(const PerNetwork<NetworkState*>& networks,
                                         const ExchangeSetup& setup) override;
  [[nodiscard]] std::unique_ptr<BatchStaging> make_staging(const StagingSetup& setup) override;
  [[nodiscard]] std::unique_ptr<GraphRecorder> make_recorder() override;
  [[nodiscard]] std::unique_ptr<TensorCarrier> make_carrier(const CarrierSetup& setup) override;
  void tell_memory(messages::MemoryFigures& figures) const override;
  [[nodiscard]] std::optional<messages::DeviceGauges> gauges() const override {
    return gauges_.newest();
  }
  void require_own_kernels() const override;
  void wait() override;
  [[nodiscard]] std::unique_ptr<DeviceMarks> make_marks() override;
  [[nodiscard]] std::optional<DeviceMemory> memory() const override;
  [[nodiscard]] std::uint64_t bytes_sent() const override;
  void finish() override;

 private:
  /// Exchanges with all workers which of them share a device, and pretends hosts to NCCL if needed.
  /// Called before NCCL's first call; later calls do nothing.
  void meet(comm::Transport& transport, comm::Lane& lane);
  /// NCCL sessions of one network.
  struct Sessions {
    comm::NcclSession* group = nullptr;  ///< of the workers that reduce it; null: not this worker
    comm::NcclSession* whole = nullptr;  ///< CudaExchangeSetup::whole
  };
  /// Begins the sessions of all networks' exchanges.
  [[nodiscard]] PerNetwork<Sessions> begin_sessions(const ExchangeSetup& setup);
  /// Inputs of begin_session().
  struct Meeting {
    comm::Transport& world;
    comm::Lane& lane;
    std::chrono::milliseconds timeout;
    int max_ctas = comm::NcclSetup{}.max_ctas;
  };
  /// Begins a session of `workers`, in that order and including this worker; empty: of all.
  comm::NcclSession& begin_session(const Meeting& meeting, const std::vector<int>& workers);

  const Job& job_;
  Execution execution_;
  int index_;
  PretendHost pretend_;
  std::string kind_;
  comm::CudaStream stream_;
  at::Device device_;
  std::map<const NetworkState*, DeviceNetwork*> networks_;  // owned by their states, as mirrors
  std::vector<CudaExchange*> exchanges_;                    // owned by StepOperations
  bool has_met_ = false;
  bool shares_devices_ = false;  // whether any two workers of the job do
  /// In the order of their start, which is the same on all workers; they end in that order.
  std::deque<comm::NcclSession> sessions_;
  GaugeWatch gauges_;
};

/// Makes the worker's device, chosen by comm::own_device; workers share one if there are too few.
/// @throws EnvironmentError if there is none.
[[nodiscard]] std::unique_ptr<ComputeDevice> make_cuda_device(const Job& job,
                                                              const Execution& execution,
                                                              const Neighbours& neighbours,
                                                              int worker,
                                                              CudaDevice::PretendHost pretend);

}  // namespace gangway::worker
