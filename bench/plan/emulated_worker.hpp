// SPDX-License-Identifier: MIT
// A worker of an emulated training: real lane, partial sums, reducers and tensor messages, but it
// sleeps in place of work. Thread: the one that made it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/plan/emulated_layout.hpp"
#include "bench/plan/emulated_wires.hpp"
#include "bench/plan/sleeper.hpp"
#include "comm/lane.hpp"
#include "comm/reduce/reducer.hpp"
#include "comm/tensors/tensor_channel.hpp"
#include "comm/transport/group_transport.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "pipeline/executor.hpp"

namespace gangway::bench {

struct EmulatedWorkerSetup {
  const EmulatedLayout& layout;  ///< all references outlive the worker
  EmulatedWires& wires;
  comm::LoopbackHub& hub;
  int worker = 0;
  std::string token;  ///< names the shared-memory segments of this run
};

class EmulatedWorker final : public pipeline::Operations {
 public:
  explicit EmulatedWorker(const EmulatedWorkerSetup& setup);
  ~EmulatedWorker() override;
  EmulatedWorker(const EmulatedWorker&) = delete;
  EmulatedWorker& operator=(const EmulatedWorker&) = delete;

  /// @param lists  by step, then worker
  /// @return the time at which each step ended
  std::vector<Sleeper::Clock::time_point> run(const std::vector<plan::Lists>& lists);

  /// Returns the largest delay of its compute.
  [[nodiscard]] Sleeper::Clock::duration latest() const { return latest_; }

  void perform(const pipeline::Instruction& at) override;

 private:
  /// Sleeps for the update of a slice.
  class Updater final : public comm::SliceUpdater {
   public:
    Updater(double seconds_per_element, Sleeper& lane)
        : seconds_per_element_(seconds_per_element), lane_(lane) {}
    void update(comm::ElementRange range, std::span<const float> /*mean*/) override {
      lane_.work_now(seconds_per_element_ * static_cast<double>(range.size()));
    }

   private:
    double seconds_per_element_;
    Sleeper& lane_;
  };
  /// A network or chunk. If the worker does not hold it, the memory that its host shares.
  struct HeldNetwork {
    HeldNetwork(comm::Arena of_host, comm::PartialStack own)
        : weights(std::move(of_host)), stack(std::move(own)) {}
    comm::Arena weights;
    comm::PartialStack stack;
    std::optional<comm::GroupTransport> transport = {};
    std::optional<comm::HostGroup> host = {};
    std::optional<Updater> updater = {};
    std::optional<comm::Reducer> reducer = {};
    bool is_open = false;
    bool is_armed = false;  ///< whether the next backward completes the gradients
  };

  [[nodiscard]] const plan::WorkerPlace& place() const {
    return layout_.places()[static_cast<std::size_t>(worker_)];
  }
  [[nodiscard]] HeldNetwork& held(NetworkId network) {
    return *held_[static_cast<std::size_t>(network)];
  }
  void allocate(comm::HostMemory& memory);
  void connect(NetworkId network);
  static void open(HeldNetwork& network);
  void await(HeldNetwork& network);
  void compute(const pipeline::Instruction& at);
  void send(const pipeline::Instruction& at);
  void receive(const pipeline::Instruction& at);
  void expect(const std::vector<pipeline::Instruction>& list);
  [[nodiscard]] comm::TensorKey key_of(const pipeline::Instruction& at) const;

  const EmulatedLayout& layout_;
  EmulatedWires& wires_;
  int worker_;
  comm::LoopbackTransport transport_;
  Sleeper compute_;
  Sleeper on_lane_;
  std::vector<std::unique_ptr<HeldNetwork>> held_;  // by network
  std::optional<comm::HostGroup> host_;
  std::unique_ptr<comm::Lane> lane_;
  std::optional<comm::TensorChannel> tensors_;
  std::int64_t step_ = 0;
  Sleeper::Clock::duration latest_ = Sleeper::Clock::duration::zero();
};

}  // namespace gangway::bench
