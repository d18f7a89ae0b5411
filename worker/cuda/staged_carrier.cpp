// SPDX-License-Identifier: MIT
#include "worker/cuda/staged_carrier.hpp"

#include <cstring>
#include <utility>

namespace gangway::worker {

using comm::check;

namespace {

constexpr const char* kCopying = "copying a tensor";

comm::CudaStream make_leaving_stream(int device) {
  check(cudaSetDevice(device), "choosing the GPU");
  return comm::make_priority_stream();
}

}  // namespace

StagedCarrier::StagedCarrier(const CarrierSetup& setup, ComputingDevice device)
    : lane_(setup.lane),
      device_(device),
      channel_(setup.transport, setup.lane, setup.channel),
      copies_(make_leaving_stream(device.index)) {
  lane_.attach(*this);
}

StagedCarrier::~StagedCarrier() {
  lane_.detach(*this);
  (void)cudaStreamSynchronize(copies_.get());
  (void)cudaStreamSynchronize(device_.compute);
}

void StagedCarrier::send(int peer, const comm::TensorKey& key, const at::Tensor& tensor) {
  const comm::TensorShape shape = shape_of(tensor);
  if (shape.bytes == 0) {
    return channel_.send(peer, key, shape, {}, nullptr);
  }
  const std::shared_ptr<std::byte> buffer = buffers_.take(shape.bytes);
  Leaving one{.peer = peer,
              .key = key,
              .shape = shape,
              .tensor = tensor,
              .bytes = {buffer.get(), shape.bytes},
              .owner = buffer,
              .copied = comm::make_event()};
  const comm::CudaEvent ready = comm::make_event();
  check(cudaEventRecord(ready.get(), device_.compute), kCopying);
  check(cudaStreamWaitEvent(copies_.get(), ready.get(), 0), kCopying);
  check(cudaMemcpyAsync(buffer.get(), tensor.const_data_ptr(), shape.bytes, cudaMemcpyDeviceToHost,
                        copies_.get()),
        kCopying);
  check(cudaEventRecord(one.copied.get(), copies_.get()), kCopying);
  add(std::move(one));
}

void StagedCarrier::send_message(int peer, const comm::TensorKey& key,
                                 std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner) {
  const comm::TensorShape shape{.axes = 0, .bytes = bytes.size()};
  if (num_leaving_.load(std::memory_order_acquire) == 0) {
    return channel_.send(peer, key, shape, bytes, std::move(owner));
  }
  add({.peer = peer,
       .key = key,
       .shape = shape,
       .tensor = {},
       .bytes = bytes,
       .owner = std::move(owner),
       .copied = {}});
}

void StagedCarrier::add(Leaving one) {
  {
    const MutexLock lock(mutex_);
    leaving_.push_back(std::move(one));
    num_leaving_.fetch_add(1, std::memory_order_release);
  }
  lane_.wake();
}

at::Tensor StagedCarrier::receive(int peer, const comm::TensorKey& key) {
  const comm::ReceivedTensor received = channel_.receive(peer, key);
  if (received.shape.axes < 0) {
    return {};
  }
  at::Tensor tensor = empty_of(received.shape, device_.torch);
  const std::size_t bytes = received.shape.bytes;
  if (bytes == 0) {
    return tensor;
  }
  // Pinned, because a copy from other pages would wait for the whole compute stream.
  Arriving one{.tensor = tensor, .buffer = buffers_.take(bytes), .arrived = comm::make_event()};
  std::memcpy(one.buffer.get(), received.memory.get(), bytes);
  check(cudaMemcpyAsync(tensor.mutable_data_ptr(), one.buffer.get(), bytes, cudaMemcpyHostToDevice,
                        device_.compute),
        kCopying);
  check(cudaEventRecord(one.arrived.get(), device_.compute), kCopying);
  arriving_.push_back(std::move(one));
  while (!arriving_.empty() && has_come(arriving_.front().arrived, kCopying)) {
    arriving_.pop_front();
  }
  return tensor;
}

void StagedCarrier::finish() {
  lane_.wait(*this);
  channel_.finish_sending();
}

bool StagedCarrier::advance() {
  if (needs() == Need::kNothing) {
    return false;
  }
  check(cudaSetDevice(device_.index), "choosing the GPU");  // for the lane's thread
  bool moved = false;
  while (needs() != Need::kNothing) {
    Leaving one;
    {
      const MutexLock lock(mutex_);
      if (leaving_.front().copied && !has_come(leaving_.front().copied, kCopying)) {
        return moved;
      }
      one = std::move(leaving_.front());
      leaving_.pop_front();
    }
    channel_.send(one.peer, one.key, one.shape, one.bytes, std::move(one.owner));
    num_leaving_.fetch_sub(1, std::memory_order_release);
    moved = true;
  }
  return moved;
}

}  // namespace gangway::worker
