// SPDX-License-Identifier: MIT
// A worker on one CUDA device: one stream for all computing, one NCCL session for all networks that
// the same workers hold (several on one device can lock each other up). Compute thread; the lane
// launches the exchanges.
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
  /// Has NCCL take this process for one of another host, of that name
  /// (comm/nccl/shared_device.hpp). Lane thread.
  using PretendHost = std::function<void(const std::string& name)>;

  /// Takes device `index` for this thread and sets what LibTorch computes with. `job` outlives it.
  /// @throws EnvironmentError where there is no such device.
  CudaDevice(const Job& job, const Execution& execution, int index, PretendHost pretend);
  ~CudaDevice() override;
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
  /// Learns with all others who shares a device, and pretends for NCCL what that needs. Once,
  /// before NCCL's first call.
  void meet(comm::Transport& transport, comm::Lane& lane);
  /// Of one network.
  struct Sessions {
    comm::NcclSession* group = nullptr;  ///< of those who reduce it; null: not this worker
    comm::NcclSession* whole = nullptr;  ///< CudaExchange::Setup::whole
  };
  /// Begins those of all networks' exchanges.
  [[nodiscard]] PerNetwork<Sessions> begin_sessions(const ExchangeSetup& setup);
  /// What beginning a session needs.
  struct Meeting {
    comm::Transport& world;
    comm::Lane& lane;
    std::chrono::milliseconds timeout;
    int max_ctas = comm::NcclSetup{}.max_ctas;
  };
  /// Begins one of `workers` by their place there, the own one among them; none: of all.
  comm::NcclSession& begin_session(const Meeting& meeting, const std::vector<int>& workers);

  const Job& job_;
  Execution execution_;
  int index_;
  PretendHost pretend_;
  std::string kind_;
  comm::CudaStream stream_;
  at::Device device_;
  std::map<const NetworkState*, DeviceNetwork*> networks_;  // theirs, as their mirrors
  std::vector<CudaExchange*> exchanges_;                    // of StepOperations, while it lives
  bool has_met_ = false;
  bool shares_devices_ = false;  // whether any two workers of the job do
  /// In the order in which they began, which is one for all workers, and in which they end.
  std::deque<comm::NcclSession> sessions_;
  GaugeWatch gauges_;
};

/// One device for each worker of a machine, by comm::own_device; several share one where there are
/// too few. @throws EnvironmentError where there is none.
[[nodiscard]] std::unique_ptr<ComputeDevice> make_cuda_device(const Job& job,
                                                              const Execution& execution,
                                                              const Neighbours& neighbours,
                                                              int worker,
                                                              CudaDevice::PretendHost pretend);

}  // namespace gangway::worker
