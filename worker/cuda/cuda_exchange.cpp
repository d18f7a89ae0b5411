// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_exchange.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.hpp"
#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/cuda_handles.hpp"
#include "job/models/architecture.hpp"
#include "job/transports.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {
namespace {

constexpr const char* kSkipping = "learning whether an update was skipped";
constexpr const char* kLooking = "looking at played gradients";

comm::WireType wire_type(WireFormat format) {
  switch (format) {
    case WireFormat::kFp32:
      return comm::WireType::kFloat32;
    case WireFormat::kBf16:
      return comm::WireType::kBfloat16;
    case WireFormat::kFp16:
      return comm::WireType::kFloat16;
  }
  return comm::WireType::kFloat32;
}

bool goes_by_hosts(TransportKind transport) {
  return traits_of(transport).sharing != MemorySharing::kNobody;
}

}  // namespace

CudaExchange::CudaExchange(const CudaExchangeSetup& setup)
    : state_(setup.state),
      memory_(setup.memory),
      exchange_(setup.exchange),
      setup_(setup),
      gradients_(setup.stream, state_.layout().size(), state_.parts()),
      partials_(gradients_, state_.layout().size(),
                exchange_.ranges[static_cast<std::size_t>(setup.worker)],
                exchange_.num_microbatches, state_.parts()),
      registrations_(shared_memory()),
      shown_(state_, setup.worker, largest_slice()),
      reducer_(setup.session, reducer_setup()),
      watch_(
          state_, [this](std::size_t bucket) { complete(bucket); },
          [this](std::size_t bucket) { complete_rehearsed(bucket); }),
      waits_(state_.group_plan().num_buckets()),
      is_complete_(state_.group_plan().num_buckets()),
      is_folded_(state_.group_plan().num_buckets()),
      skips_(setup.job.skips_updates(setup.network)),
      is_bounded_(setup.job.training.divergence.gradient_norm > 0.0),
      is_skipped_(comm::allocate_pinned(sizeof(int))),
      skip_event_(comm::make_event()) {
  exchange_.lane.attach(reducer_);
  exchange_.lane.attach(shown_);
  state_.keep_gradients();
}

CudaExchange::~CudaExchange() {
  exchange_.lane.detach(shown_);
  exchange_.lane.detach(reducer_);
  if (reducer_.needs() != comm::Exchange::Need::kNothing) {
    setup_.session.abandon();  // a thread failed during an update
  }
  // Freeing gradients waits for no stream, and the compute stream may wait for the session's.
  if (setup_.session.drain()) {
    (void)cudaStreamSynchronize(setup_.stream);
  }
}

CudaExchange::Registrations CudaExchange::shared_memory() const {
  Registrations registrations;
  const auto share = [&](std::span<float> memory) {
    if (!memory.empty()) {
      registrations.push_back(std::make_unique<comm::NcclRegistration>(
          setup_.session, memory.data(), memory.size_bytes()));
    }
  };
  share(memory_.registrable());
  for (const comm::DeviceArena& block : gradients_.blocks()) {
    share(block.registrable());
  }
  return registrations;
}

comm::NcclReducerSetup CudaExchange::reducer_setup() {
  std::vector<const float*> partials;
  for (std::size_t i = 0; i < partials_.partials().size(); ++i) {
    partials.push_back(partials_.partial(i));
  }
  std::vector<int> holders = exchange_.whole.workers;
  std::ranges::sort(holders);
  const NetworkSpec& network = setup_.job.networks[setup_.network];
  return {.network = network.name.c_str(),
          .layout = &state_.layout(),
          .plan = &state_.group_plan(),
          .ranges = exchange_.ranges,
          .hosts = goes_by_hosts(setup_.transport) ? exchange_.machines : std::vector<int>(),
          .num_microbatches = exchange_.num_microbatches,
          .order = setup_.job.numerics.order == SumOrder::kTree ? comm::NcclOrder::kExact
                                                                : comm::NcclOrder::kNcclOrder,
          .wire = wire_type(network.wire),
          .clip_norm = network.clip_norm,
          .tells_norm = setup_.job.training.divergence.gradient_norm > 0.0,
          .skips = setup_.job.skips_updates(setup_.network),
          .weights = memory_.weights(),
          .optimizer = state_.optimizer(),
          .moments = memory_.moments(),
          .average = memory_.average(),
          .partials = std::move(partials),
          .whole = {.session = setup_.whole, .plan = &state_.plan(), .workers = std::move(holders)},
          .viewer = &shown_};
}

std::size_t CudaExchange::largest_slice() const {
  const comm::BucketPlan& plan = state_.group_plan();
  std::size_t largest = 0;
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    largest = std::max(largest, setup_.job.numerics.order == SumOrder::kTree
                                    ? plan.slice(bucket, setup_.worker).size()
                                    : plan.bucket(bucket).size());
  }
  return largest;
}

void CudaExchange::await_shown() {
  const PartScope part = in_part(messages::StepPart::kDevice);
  exchange_.lane.wait(shown_);
}

void CudaExchange::recompute(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                             const UpdateSlice& slice) const {
  const comm::UpdateConstants constants = comm::update_constants(plan, kStatisticMomentum);
  const std::size_t parameters = comm::intersect(slice.range, layout.parameter_range()).size();
  comm::SliceUpdate update{.program = comm::running_sum_program(1),
                           .elements = static_cast<std::int64_t>(slice.range.size()),
                           .parameter_elements = static_cast<std::int64_t>(parameters),
                           .constants = &constants,
                           .optimizer = plan.settings.kind,
                           .weights = slice.weights.data(),
                           .average = slice.average.empty() ? nullptr : slice.average.data()};
  update.summands.values[0] = slice.mean.data();
  for (std::size_t i = 0; i < slice.moments.size(); ++i) {
    update.moments[i] = slice.moments[i].data();
  }
  comm::update_slice_on_host(update);
}

void CudaExchange::restart_leaves() {
  partials_.restart();
  (void)watch_.rehearsed();  // leftovers of a failed recording
  std::ranges::fill(is_folded_, 0);
}

void CudaExchange::open(int phase, const UpdatePlan& plan) {
  // NCCL pairs operations by order, so launches of two exchanges must not race: other workers might
  // launch them in the other order.
  setup_.wait_for_launches();
  if (shown_.is_wished_for()) {
    await_shown();
    shown_.begin(plan);
  }
  phase_ = phase;
  scale_exponent_ = plan.agreement.scale_exponent;
  reducer_.prepare(comm::update_constants(plan, kStatisticMomentum), setup_.stream);
  reducer_.open();
  std::ranges::fill(is_complete_, 0);
  is_open_ = true;
  is_awaited_ = false;
}

void CudaExchange::complete(std::size_t bucket) {
  if (std::exchange(is_complete_[bucket], 1) != 0) {
    return;
  }
  fold(bucket);
  is_folded_[bucket] = 0;  // the next exchange folds again
  reducer_.bucket_ready(bucket, setup_.stream);
  exchange_.lane.wake();
}

void CudaExchange::fold(std::size_t bucket) {
  if (std::exchange(is_folded_[bucket], 1) == 0) {
    partials_.fold(state_.group_plan().bucket(bucket));
  }
}

void CudaExchange::rehearse() {
  std::ranges::fill(is_folded_, 0);  // a step computed both ways folds twice
  watch_.rehearse();
}

void CudaExchange::complete_rehearsed(std::size_t bucket) {
  fold(bucket);
  reducer_.record_ready(bucket, setup_.stream);
}

bool CudaExchange::completes(const std::vector<std::size_t>& buckets,
                             const std::function<void()>& replay) {
  std::size_t elements = 0;
  for (const std::size_t bucket : buckets) {
    elements += state_.group_plan().bucket(bucket).size() * partials_.partials().size();
  }
  // Not from LibTorch's allocator, whose memory may still be in use on its stream.
  const comm::CudaMemory seen =
      comm::allocate_on_device(std::max<std::size_t>(elements, 1) * sizeof(float));
  // The caller has put other numbers in the sums; make sure that the device has written them.
  comm::check(cudaStreamSynchronize(setup_.stream), kLooking);
  replay();
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  auto* to = static_cast<float*>(seen.get());
  for (const std::size_t bucket : buckets) {
    const comm::ElementRange range = state_.group_plan().bucket(bucket);
    for (std::size_t i = 0; i < partials_.partials().size(); ++i, to += range.size()) {
      float* const from = partials_.buffers() + i * state_.layout().size() + range.begin;
      reducer_.copy_when_ready(bucket, from, to, range.size());
      pairs.emplace_back(tensor_over(from, range.size(), state_.device()),
                         tensor_over(to, range.size(), state_.device()));
    }
  }
  reducer_.synchronise();
  comm::check(cudaStreamSynchronize(setup_.stream), kLooking);
  return std::ranges::all_of(pairs, [](const auto& pair) {
    return pair.first.view(at::kInt).equal(pair.second.view(at::kInt));
  });
}

void CudaExchange::send_replayed(const std::vector<std::size_t>& buckets) {
  for (const std::size_t bucket : buckets) {
    is_complete_[bucket] = 1;  // the graph has folded it, too
    is_folded_[bucket] = 0;
    reducer_.bucket_played(bucket);
  }
  exchange_.lane.wake();
}

void CudaExchange::reduce() {
  unfired_ += watch_.disarm();
  for (std::size_t bucket = 0; bucket < is_complete_.size(); ++bucket) {
    complete(bucket);
  }
  is_open_ = false;
}

void CudaExchange::wait_for_launches() {
  const PartScope part = in_part(messages::StepPart::kDevice);
  exchange_.lane.wait(reducer_);
}

void CudaExchange::await() {
  if (std::exchange(is_awaited_, true)) {
    return;
  }
  // Counts as exposed, because the stream runs dry while the host waits.
  waits_.begin(phase_, setup_.stream);
  wait_for_launches();
  for (std::size_t bucket = 0; bucket < is_complete_.size(); ++bucket) {
    reducer_.await_bucket(bucket, setup_.stream);
    waits_.mark(setup_.stream);
  }
  if (skips_) {
    comm::check(cudaMemcpyAsync(is_skipped_.get(), reducer_.is_skipped(), sizeof(int),
                                cudaMemcpyDeviceToHost, setup_.stream),
                kSkipping);
    comm::check(cudaEventRecord(skip_event_.get(), setup_.stream), kSkipping);
  }
}

bool CudaExchange::was_skipped() const {
  if (!skips_) {
    return false;
  }
  const PartScope part = in_part(messages::StepPart::kDevice);
  comm::check(cudaEventSynchronize(skip_event_.get()), kSkipping);
  return *static_cast<const int*>(is_skipped_.get()) != 0;
}

std::optional<double> CudaExchange::agreed_norm() const {
  if (setup_.job.training.divergence.gradient_norm <= 0.0) {
    return std::nullopt;
  }
  const PartScope part = in_part(messages::StepPart::kDevice);
  double squared = 0.0;
  comm::check(cudaMemcpyAsync(&squared, reducer_.squared_norm(), sizeof squared,
                              cudaMemcpyDeviceToHost, setup_.stream),
              "reading the norm of a gradient");
  comm::check(cudaStreamSynchronize(setup_.stream), "reading the norm of a gradient");
  return std::ldexp(std::sqrt(squared), -static_cast<int>(scale_exponent_));
}

}  // namespace gangway::worker
