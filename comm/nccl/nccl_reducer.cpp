// SPDX-License-Identifier: MIT
#include "comm/nccl/nccl_reducer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/cuda/compile_sum.hpp"
#include "comm/cuda/slice_kernels.hpp"
#include "comm/nccl/check_nccl.hpp"

namespace gangway::comm {
namespace {

ncclDataType_t nccl_type(WireType type) {
  switch (type) {
    case WireType::kFloat32:
      return ncclFloat32;
    case WireType::kBfloat16:
      return ncclBfloat16;
    case WireType::kFloat16:
      return ncclFloat16;
  }
  return ncclFloat32;
}

std::byte* bytes_at(const NcclMemory& memory, std::size_t offset) {
  return static_cast<std::byte*>(memory.get()) + offset;
}

/// Returns null if there is no memory.
float* floats_at(const NcclMemory& memory, std::size_t element) {
  return memory ? static_cast<float*>(memory.get()) + element : nullptr;
}

void check_setup(const NcclReducerSetup& setup, const MessagePlan& messages) {
  if (setup.partials.size() != messages.own_partials().size()) {
    throw InvariantError(
        fmt::format("network {}: {} partials for a range of {}; please report this", setup.network,
                    setup.partials.size(), messages.own_partials().size()));
  }
  if (setup.order == NcclOrder::kNcclOrder &&
      (setup.wire != WireType::kFloat32 || setup.clip_norm > 0.0 || setup.tells_norm ||
       setup.skips)) {
    throw InvariantError(
        fmt::format("network {}: NCCL's own order with a norm or a 16-bit wire; please report this",
                    setup.network));
  }
}

}  // namespace

NcclReducer::NcclReducer(NcclSession& session, NcclReducerSetup setup)
    : session_(session),
      setup_(std::move(setup)),
      messages_(*setup_.plan, setup_.ranges, setup_.num_microbatches, session.worker(),
                setup_.hosts),
      launches_(setup_.plan->num_buckets()) {
  check_setup(setup_, messages_);
  for (std::size_t bucket = 0; bucket < setup_.plan->num_buckets(); ++bucket) {
    events_.push_back({.gradients = make_event(), .weights = make_event()});
  }
  allocate();
  set_up_sums();
}

void NcclReducer::allocate() {
  const std::size_t elements = setup_.layout->size();
  const bool rounds = setup_.wire != WireType::kFloat32;
  const auto allocate_registered = [&](NcclMemory& memory, std::size_t bytes) {
    if (bytes > 0) {  // each allocation takes megabytes in NCCL
      memory = allocate_nccl_memory(bytes);
      registrations_.push_back(std::make_unique<NcclRegistration>(session_, memory.get(), bytes));
    }
  };
  scalars_ = allocate_on_device(sizeof(Scalars));
  if (setup_.order == NcclOrder::kNcclOrder) {
    allocate_registered(mean_, elements * sizeof(float));
    return;
  }
  allocate_registered(host_received_, messages_.host_receive_elements() * sizeof(float));
  allocate_registered(host_sums_, messages_.sum_elements() * sizeof(float));
  allocate_registered(received_, messages_.receive_elements() * bytes_of(setup_.wire));
  if (rounds) {
    const std::size_t values = elements * messages_.host_programs().size();
    allocate_registered(encoded_, values * bytes_of(setup_.wire));
    residual_ = allocate_nccl_memory(values * sizeof(float));
  }
  if (agrees()) {
    mean_ = allocate_nccl_memory(elements * sizeof(float));
    allocate_registered(squares_, 2 * setup_.layout->num_blocks() * sizeof(double));
    squares_made_ = make_event();
    squares_shared_ = make_event();
  }
}

SliceSummands NcclReducer::summands(std::size_t bucket) const {
  const MessagePlan::Bucket& plan = messages_.buckets()[bucket];
  if (setup_.order == NcclOrder::kExact) {
    return summands(plan.sources, plan.slice);
  }
  SliceSummands found;
  for (std::size_t i = 0; i < setup_.partials.size(); ++i) {
    found.values[i] = setup_.partials[i] + setup_.plan->bucket(bucket).begin;
  }
  return found;
}

SliceSummands NcclReducer::summands(const std::vector<MessagePlan::Source>& sources,
                                    ElementRange elements) const {
  using From = MessagePlan::Source::From;
  SliceSummands found;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const MessagePlan::Source& source = sources[i];
    switch (source.from) {
      case From::kOwn:
        found.values[i] = setup_.partials[source.partial] + elements.begin;
        break;
      case From::kHost:
        found.values[i] = floats_at(host_received_, source.buffer_offset);
        break;
      case From::kOtherHost:
        found.values[i] = bytes_at(received_, source.buffer_offset * bytes_of(setup_.wire));
        found.types[i] = setup_.wire;
        break;
    }
  }
  return found;
}

ElementRange NcclReducer::updated(std::size_t bucket) const {
  return setup_.order == NcclOrder::kExact ? messages_.buckets()[bucket].slice
                                           : setup_.plan->bucket(bucket);
}

void NcclReducer::set_up_sums() {
  const float share = 1.0F / static_cast<float>(setup_.num_microbatches);
  for (std::size_t bucket = 0; bucket < events_.size(); ++bucket) {
    const ElementRange range = updated(bucket);
    const auto elements = static_cast<std::int64_t>(range.size());
    SliceSum sum{.program = messages_.program(),
                 .summands = summands(bucket),
                 .elements = elements,
                 .scale = share,
                 .out = floats_at(mean_, range.begin)};
    if (setup_.order == NcclOrder::kNcclOrder) {
      sum.program = running_sum_program(std::max<int>(1, static_cast<int>(setup_.partials.size())));
      sum.scale = 1.0F;
    }
    SliceUpdate update{
        .program = sum.program,
        .summands = sum.summands,
        .elements = elements,
        .parameter_elements =
            static_cast<std::int64_t>(intersect(range, setup_.layout->parameter_range()).size()),
        .scale = sum.scale,
        .constants = &scalars()->constants,
        .optimizer = setup_.optimizer,
        .weights = setup_.weights + range.begin,
        .average = setup_.average == nullptr ? nullptr : setup_.average + range.begin};
    for (std::size_t i = 0; i < num_moments(setup_.optimizer); ++i) {
      update.moments[i] = setup_.moments[i] + range.begin;
    }
    if (mean_) {
      // `sum` or NCCL has already made the sum.
      update.program = running_sum_program(1);
      update.summands = {.values = {sum.out}};
      // ncclAvg has already divided by the number of workers.
      update.scale = setup_.order == NcclOrder::kExact
                         ? 1.0F
                         : share * static_cast<float>(session_.num_workers());
      update.clip_scale = scales() ? &scalars()->clip_scale : nullptr;
      update.is_skipped = is_skipped();
    }
    sums_.push_back(sum);
    updates_.push_back(update);
  }
}

void NcclReducer::prepare(const UpdateConstants& constants, cudaStream_t stream) {
  launch_store_constants(constants, &scalars()->constants, stream);
}

void NcclReducer::bucket_ready(std::size_t bucket, cudaStream_t compute) {
  if (launches_.is_ready(bucket)) {
    return;
  }
  check(cudaEventRecord(events_[bucket].gradients.get(), compute), setup_.network);
  launches_.ready(bucket);
}

bool NcclReducer::advance() {
  session_.throw_if_failed();
  if (setup_.whole.session != nullptr) {
    setup_.whole.session->throw_if_failed();
  }
  bool launched = false;
  while (const std::optional<std::size_t> bucket = launches_.next()) {
    check(cudaSetDevice(session_.device()), setup_.network);  // the lane thread's current device
    launch_bucket(*bucket);
    launches_.launched();
    launched = true;
  }
  return launched;
}

void NcclReducer::launch_bucket(std::size_t bucket) {
  check(cudaStreamWaitEvent(session_.stream(), events_[bucket].gradients.get(), 0), setup_.network);
  const bool is_last = bucket + 1 == events_.size();
  if (is_last) {
    session_.note_inputs(events_[bucket].gradients.get());
  }
  if (setup_.order == NcclOrder::kNcclOrder) {
    all_reduce(bucket);
  } else {
    send_partials(bucket);
    send_sums(bucket);
  }
  if (!agrees()) {
    update_and_share(bucket);
  } else if (is_last) {
    decide_clip();
    for (std::size_t each = 0; each < events_.size(); ++each) {
      update_and_share(each);
    }
  }
  if (is_last) {
    if (setup_.viewer != nullptr) {
      setup_.viewer->all_updated(session_.stream());
    }
    session_.watch(session_.stream(), setup_.network);
  }
}

void NcclReducer::send_partials(std::size_t bucket) {
  const MessagePlan::Bucket& plan = messages_.buckets()[bucket];
  if (!plan.host_sends.empty() || !plan.host_receives.empty()) {
    session_.group(setup_.network,
                   [this, bucket](ncclComm_t comm) { enqueue_partials(bucket, comm); });
  }
}

void NcclReducer::send_sums(std::size_t bucket) {
  const MessagePlan::Bucket& plan = messages_.buckets()[bucket];
  for (const MessagePlan::SumSend& send : plan.sends) {
    const auto elements = static_cast<std::int64_t>(send.elements.size());
    if (!send.sources.empty()) {
      launch_sum({.program = messages_.host_programs()[send.sum],
                  .summands = summands(send.sources, send.elements),
                  .elements = elements,
                  .out = floats_at(host_sums_, send.buffer_offset)},
                 session_.stream());
    }
    if (setup_.wire != WireType::kFloat32) {
      const std::size_t begin = send.elements.begin;
      launch_encode({.values = values_of(send),
                     .residual = floats_at(residual_, send.sum * setup_.layout->size() + begin),
                     .out = encoded(send.sum, begin),
                     .type = setup_.wire,
                     .elements = elements},
                    session_.stream());
    }
  }
  if (!plan.sends.empty() || !plan.receives.empty()) {
    session_.group(setup_.network, [this, bucket](ncclComm_t comm) { enqueue_sums(bucket, comm); });
  }
}

const float* NcclReducer::values_of(const MessagePlan::SumSend& send) const {
  return send.sources.empty() ? setup_.partials[send.sum] + send.elements.begin
                              : floats_at(host_sums_, send.buffer_offset);
}

std::byte* NcclReducer::encoded(std::size_t sum, std::size_t element) const {
  return bytes_at(encoded_, (sum * setup_.layout->size() + element) * bytes_of(setup_.wire));
}

void NcclReducer::enqueue_partials(std::size_t bucket, ncclComm_t communicator) {
  const MessagePlan::Bucket& plan = messages_.buckets()[bucket];
  for (const MessagePlan::Receive& receive : plan.host_receives) {
    check(ncclRecv(floats_at(host_received_, receive.buffer_offset), receive.elements, ncclFloat32,
                   receive.peer, communicator, session_.stream()),
          "receiving gradients");
  }
  for (const MessagePlan::PartialSend& send : plan.host_sends) {
    check(ncclSend(setup_.partials[send.partial] + send.elements.begin, send.elements.size(),
                   ncclFloat32, send.peer, communicator, session_.stream()),
          "sending gradients");
    session_.count_sent(send.elements.size() * sizeof(float));
  }
}

void NcclReducer::enqueue_sums(std::size_t bucket, ncclComm_t communicator) {
  const MessagePlan::Bucket& plan = messages_.buckets()[bucket];
  const ncclDataType_t type = nccl_type(setup_.wire);
  for (const MessagePlan::Receive& receive : plan.receives) {
    check(ncclRecv(bytes_at(received_, receive.buffer_offset * bytes_of(setup_.wire)),
                   receive.elements, type, receive.peer, communicator, session_.stream()),
          "receiving gradients");
  }
  for (const MessagePlan::SumSend& send : plan.sends) {
    const void* const values = setup_.wire == WireType::kFloat32
                                   ? static_cast<const void*>(values_of(send))
                                   : encoded(send.sum, send.elements.begin);
    check(ncclSend(values, send.elements.size(), type, send.peer, communicator, session_.stream()),
          "sending gradients");
    session_.count_sent(send.elements.size() * bytes_of(setup_.wire));
  }
}

void NcclReducer::all_reduce(std::size_t bucket) {
  const SliceSum& sum = sums_[bucket];
  const auto elements = static_cast<std::size_t>(sum.elements);
  if (setup_.partials.empty()) {
    check(cudaMemsetAsync(sum.out, 0, elements * sizeof(float), session_.stream()), setup_.network);
  } else {
    launch_sum(sum, session_.stream());
  }
  session_.group(setup_.network, [this, bucket](ncclComm_t communicator) {
    const SliceSum& own = sums_[bucket];
    check(ncclAllReduce(own.out, own.out, static_cast<std::size_t>(own.elements), ncclFloat32,
                        ncclAvg, communicator, session_.stream()),
          "averaging gradients");
    // As in a ring: each worker sends all parts but one twice.
    const auto workers = static_cast<std::size_t>(session_.num_workers());
    session_.count_sent(2 * (workers - 1) * static_cast<std::size_t>(own.elements) * sizeof(float) /
                        workers);
  });
}

void NcclReducer::update_and_share(std::size_t bucket) {
  const SliceUpdate& update = updates_[bucket];
  if (setup_.viewer != nullptr) {
    setup_.viewer->before_update(update, updated(bucket), session_.stream());
  }
  launch_update(update, session_.stream());
  if (setup_.viewer != nullptr) {
    setup_.viewer->after_update(update, updated(bucket), session_.stream());
  }
  const MessagePlan::Bucket& plan = messages_.buckets()[bucket];
  if (setup_.order == NcclOrder::kExact) {
    exchange_weights(plan.weight_sends, plan.weight_receives);
    exchange_weights(plan.forward_sends, plan.forward_receives);
  }
  check(cudaEventRecord(events_[bucket].weights.get(), session_.stream()), setup_.network);
}

void NcclReducer::exchange_weights(const WeightMessages& sends, const WeightMessages& receives) {
  if (sends.empty() && receives.empty()) {
    return;
  }
  session_.group(setup_.network, [&](ncclComm_t communicator) {
    for (const MessagePlan::WeightMessage& receive : receives) {
      check(ncclRecv(setup_.weights + receive.elements.begin, receive.elements.size(), ncclFloat32,
                     receive.peer, communicator, session_.stream()),
            "receiving weights");
    }
    for (const MessagePlan::WeightMessage& send : sends) {
      check(ncclSend(setup_.weights + send.elements.begin, send.elements.size(), ncclFloat32,
                     send.peer, communicator, session_.stream()),
            "sending weights");
      session_.count_sent(send.elements.size() * sizeof(float));
    }
  });
}

void NcclReducer::await_bucket(std::size_t bucket, cudaStream_t stream) {
  // If updates wait for the norm, all weights are launched with the last bucket.
  const std::size_t needed = agrees() ? events_.size() : bucket + 1;
  if (launches_.num_launched() < needed) {
    throw InvariantError(
        fmt::format("network {}: the weights of bucket {} are awaited before they are launched; "
                    "please report this",
                    setup_.network, bucket));
  }
  check(cudaStreamWaitEvent(stream, events_[bucket].weights.get(), 0), setup_.network);
}

void NcclReducer::synchronise() {
  const cudaError_t result = cudaStreamSynchronize(session_.stream());
  session_.throw_if_failed();
  check(result, setup_.network);
}

const double* NcclReducer::squared_norm() const {
  return agrees() ? &scalars()->squared_norm : nullptr;
}

const int* NcclReducer::is_skipped() const {
  return setup_.skips ? &scalars()->is_skipped : nullptr;
}

}  // namespace gangway::comm
