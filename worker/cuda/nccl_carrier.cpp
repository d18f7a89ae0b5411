// SPDX-License-Identifier: MIT
#include "worker/cuda/nccl_carrier.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/transport/peer_error.hpp"
#include "worker/cuda/torch_cuda.hpp"

namespace gangway::worker {
namespace {

/// Steps of each list of instructions through host memory: in the first, libraries choose kernels
/// and take memory; in the second, the host runs ahead of the device.
constexpr int kStagedSteps = 2;
/// Share of the allocator's memory to add as reserve: later steps request the same sizes in other
/// orders, and not all fit the free blocks.
constexpr std::size_t kShareInReserve = 4;

/// Returns the next notice number; it wraps around, because few are under way at once.
std::int32_t after(std::int32_t number) {
  return number == std::numeric_limits<std::int32_t>::max() ? 0 : number + 1;
}

}  // namespace

NcclCarrier::NcclCarrier(const CarrierSetup& setup, ComputingDevice device,
                         std::map<comm::TensorEdge, comm::NcclSession*> sessions)
    : device_(device),
      staged_(setup, device),
      edges_(setup.lane, {.worker = setup.transport.worker(),
                          .sessions = std::move(sessions),
                          .compute = device.compute}) {}

comm::TensorKey NcclCarrier::key_of_notice(std::int64_t step, std::int32_t number) {
  constexpr std::int32_t kNoNode = -1;  // differs from every tensor's key
  return {.step = step, .node = kNoNode, .reserved = number};
}

void NcclCarrier::begin_step(int performed) {
  is_staged_ = performed < kStagedSteps;
  held_.clear();
  if (performed == kStagedSteps) {
    take_room();
  }
}

void NcclCarrier::expect(int peer, int count) {
  incoming_[peer].num_announced += count;
  staged_.expect(peer, count);
}

void NcclCarrier::send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) {
  const comm::TensorShape shape = shape_of(tensor);
  const auto notice =
      std::make_shared<const Notice>(Notice{key, shape, is_staged_ && shape.bytes > 0});
  std::int32_t& number = sent_[peer];
  staged_.send_message(peer, key_of_notice(key.step, number),
                       std::as_bytes(std::span(notice.get(), 1)), notice);
  number = after(number);
  if (notice->is_staged) {
    Sent& sent = held_[peer];
    sent.held.push_back({tensor, sent.received});
    staged_.send(peer, key, tensor);
  } else if (shape.bytes > 0) {
    edges_.send(peer, {.bytes = const_cast<void*>(tensor.const_data_ptr()),
                       .size = shape.bytes,
                       .owner = std::make_shared<const at::Tensor>(tensor)});
  }
}

at::Tensor NcclCarrier::receive(int peer, const comm::TensorKey& key) {
  Incoming& incoming = incoming_[peer];
  while (!incoming.coming.contains(key)) {
    if (incoming.num_announced == 0) {
      throw InvariantError(fmt::format(
          "rank {} has sent all that it should, and not {} of step {}, phase {}, micro-batch {}; "
          "please report this",
          rank_of(WorkerIndex(peer)), key.is_gradient != 0 ? "a gradient" : "a tensor", key.step,
          key.phase, key.microbatch));
    }
    ask_for_next(peer, key.step, incoming);
  }
  const Coming one = std::move(incoming.coming.extract(key).mapped());
  if (one.is_staged) {
    at::Tensor tensor = staged_.receive(peer, key);
    Sent& sent = held_[peer];
    ++sent.received;
    while (!sent.held.empty() &&
           sent.held.front().received + comm::TensorEdges::kMostAhead < sent.received) {
      sent.held.pop_front();
    }
    return tensor;
  }
  if (one.ticket) {
    edges_.await(*one.ticket);
  }
  return one.tensor;
}

void NcclCarrier::ask_for_next(int peer, std::int64_t step, Incoming& incoming) {
  const comm::ReceivedTensor message =
      staged_.receive_message(peer, key_of_notice(step, incoming.next));
  --incoming.num_announced;
  incoming.next = after(incoming.next);
  Notice notice;
  std::memcpy(&notice, message.memory.get(), sizeof notice);
  Coming one{.is_staged = notice.is_staged};
  if (notice.is_staged) {
    staged_.expect(peer, 1);
  } else if (notice.shape.axes >= 0) {
    one.tensor = empty_of(notice.shape, device_.torch);
  }
  if (notice.shape.bytes > 0 && !notice.is_staged) {
    one.ticket = edges_.receive(peer, {.bytes = one.tensor.mutable_data_ptr(),
                                       .size = notice.shape.bytes,
                                       .owner = std::make_shared<const at::Tensor>(one.tensor)});
  }
  if (!incoming.coming.emplace(notice.key, std::move(one)).second) {
    throw InvariantError(
        fmt::format("rank {} sent a tensor twice; please report this", rank_of(WorkerIndex(peer))));
  }
}

void NcclCarrier::finish() {
  staged_.finish();
  edges_.finish_sending();
}

void NcclCarrier::take_room() const {
  messages::MemoryFigures has;
  tell_allocator(device_.index, has);
  std::size_t free = 0;
  std::size_t total = 0;
  comm::check(cudaMemGetInfo(&free, &total), "asking for the GPU's memory");
  const std::size_t more = std::min<std::size_t>(has.reserved_bytes / kShareInReserve, free / 2);
  (void)at::empty({static_cast<std::int64_t>(more)}, at::device(device_.torch).dtype(at::kByte));
}

}  // namespace gangway::worker
