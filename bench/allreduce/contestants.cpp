// SPDX-License-Identifier: MIT
#include "bench/allreduce/contestants.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "base/errors.hpp"
#include "comm/host/host_group.hpp"
#include "comm/reduce/partial_stack.hpp"
#include "comm/reduce/reducer.hpp"
#include "run/control_protocol.hpp"

namespace gangway::bench {
namespace {

comm::ArenaLayout layout_of(std::size_t elements) {
  const std::vector<comm::ArenaLayout::Tensor> parameters{{"block", elements}};
  return {parameters, {}};
}

comm::HostMemory memory_of(const comm::Transport& transport, const ReductionSetup& setup) {
  const int own = setup.hosts[static_cast<std::size_t>(transport.worker())];
  return comm::HostMemory({.members = comm::workers_of(own, setup.hosts),
                           .worker = transport.worker(),
                           .epoch = transport.epoch(),
                           .token = setup.token,
                           .num_flags = comm::kFlagsPerNetwork});
}

/// Copies the reduction's mean into the weights, which makes it an all-reduce.
class MeanToWeights final : public comm::SliceUpdater {
 public:
  explicit MeanToWeights(comm::Arena& weights) : weights_(weights) {}
  void update(comm::ElementRange range, std::span<const float> mean) override {
    std::memcpy(weights_.data() + range.begin, mean.data(), mean.size_bytes());
  }

 private:
  comm::Arena& weights_;
};

class Reduction final : public Contestant {
 public:
  Reduction(comm::Transport& transport, const ReductionSetup& setup)
      : transport_(transport),
        name_(setup.name),
        sleep_(setup.sleep),
        layout_(layout_of(setup.elements)),
        plan_(layout_, transport.num_workers(), setup.num_buckets),
        ranges_(one_microbatch_each(transport.num_workers())),
        memory_(memory_of(transport, setup)),
        weights_(memory_.allocate_shared(layout_.size(), comm::Deadline(kStartDeadline))),
        updater_(weights_),
        stack_(memory_, layout_.size(), {transport.worker(), transport.worker() + 1},
               transport.num_workers()),
        host_(std::move(memory_).connect(plan_.hash(), comm::Deadline(kStartDeadline))) {
    reducer_.emplace(transport, comm::ReducerSetup{.network = 0,
                                                   .layout = &layout_,
                                                   .plan = &plan_,
                                                   .weights = &weights_,
                                                   .updater = &updater_,
                                                   .partials = &stack_,
                                                   .host = &host_,
                                                   .ranges = ranges_,
                                                   .hosts = setup.hosts,
                                                   .num_microbatches = transport.num_workers()});
  }

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::span<float> input() override { return {stack_.open_leaf(), layout_.size()}; }
  void run() override {
    stack_.push(transport_.worker());
    reducer_->open();
    (void)reducer_->all_ready();
    while (reducer_->needs() != comm::Exchange::Need::kNothing) {
      if (!reducer_->advance()) {
        rest();
      }
    }
  }
  [[nodiscard]] std::span<const float> result() const override {
    return {weights_.data(), weights_.size()};
  }
  [[nodiscard]] float scale() const override {
    return 1.0F / static_cast<float>(transport_.num_workers());
  }

 private:
  void rest() {
    if (sleep_.count() > 0) {
      std::this_thread::sleep_for(sleep_);
    } else {
      transport_.idle();
    }
  }

  comm::Transport& transport_;
  std::string name_;
  std::chrono::microseconds sleep_;
  comm::ArenaLayout layout_;
  comm::BucketPlan plan_;
  std::vector<MicrobatchRange> ranges_;
  comm::HostMemory memory_;  // empty after the connection
  comm::Arena weights_;
  MeanToWeights updater_;
  comm::PartialStack stack_;
  comm::HostGroup host_;
  std::optional<comm::Reducer> reducer_;
};

class MpiAllreduce final : public Contestant {
 public:
  MpiAllreduce(MPI_Comm workers, std::size_t elements) : workers_(workers), block_(elements) {}
  [[nodiscard]] std::string name() const override { return "MPI_Allreduce"; }
  [[nodiscard]] std::span<float> input() override { return {block_.data(), block_.size()}; }
  void run() override {
    if (MPI_Allreduce(MPI_IN_PLACE, block_.data(), static_cast<int>(block_.size()), MPI_FLOAT,
                      MPI_SUM, workers_) != MPI_SUCCESS) {
      throw CommError("MPI_Allreduce failed; is every worker alive, and is the network up?");
    }
  }
  [[nodiscard]] std::span<const float> result() const override {
    return {block_.data(), block_.size()};
  }
  [[nodiscard]] float scale() const override { return 1.0F; }

 private:
  MPI_Comm workers_;
  comm::Arena block_;
};

class SliceCopy final : public Contestant {
 public:
  SliceCopy(comm::Transport& transport, const ReductionSetup& setup)
      : name_(setup.name),
        elements_(setup.elements),
        memory_(memory_of(transport, setup)),
        own_(memory_.allocate_own(setup.elements)),
        copy_(setup.elements),
        host_(std::move(memory_).connect(setup.elements, comm::Deadline(kStartDeadline))) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::span<float> input() override { return {own_.data(), own_.size()}; }
  void run() override {
    const std::size_t begin = elements_ * host_.position() / host_.size();
    const std::size_t slice = elements_ * (host_.position() + 1) / host_.size() - begin;
    for (std::size_t member = 0; member < host_.size(); ++member) {
      std::memcpy(copy_.data() + elements_ * member / host_.size(),
                  host_.own_memory(member, 0) + begin,
                  std::min(slice, elements_ - elements_ * member / host_.size()) * sizeof(float));
    }
  }
  [[nodiscard]] std::span<const float> result() const override { return {}; }
  [[nodiscard]] float scale() const override { return 1.0F; }

 private:
  std::string name_;
  std::size_t elements_;
  comm::HostMemory memory_;  // empty after the connection
  comm::Arena own_;
  comm::Arena copy_;
  comm::HostGroup host_;
};

}  // namespace

std::vector<MicrobatchRange> one_microbatch_each(int num_workers) {
  std::vector<MicrobatchRange> ranges;
  for (int worker = 0; worker < num_workers; ++worker) {
    ranges.push_back({worker, worker + 1});
  }
  return ranges;
}

std::unique_ptr<Contestant> make_reduction(comm::Transport& transport,
                                           const ReductionSetup& setup) {
  return std::make_unique<Reduction>(transport, setup);
}

std::unique_ptr<Contestant> make_mpi_allreduce(MPI_Comm workers, std::size_t elements) {
  return std::make_unique<MpiAllreduce>(workers, elements);
}

std::unique_ptr<Contestant> make_slice_copy(comm::Transport& transport,
                                            const ReductionSetup& setup) {
  return std::make_unique<SliceCopy>(transport, setup);
}

}  // namespace gangway::bench
