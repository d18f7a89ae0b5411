// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_staging.hpp"

#include <algorithm>
#include <utility>

#include "base/errors.hpp"
#include "gan/cuda/input_kernels.hpp"

namespace gangway::worker {
namespace {

using comm::check;

/// Slots beyond those in use at once: some batches are ahead, and the host need not wait for a
/// device that is a step behind.
constexpr std::size_t kSlotsAhead = 3;
/// Kept examples may take one part in this many of the device's memory.
constexpr std::size_t kShareOfKept = 10;
/// Batches between loader and slots: one on its way to a slot, and one on its way back.
constexpr std::size_t kBatchesBetween = 2;
constexpr std::size_t kPageBytes = 4096;

cuda::InputShape shape_of(const std::vector<std::int64_t>& sizes) {
  cuda::InputShape shape{.count = sizes[0], .channels = sizes[1]};
  for (std::size_t i = 2; i < sizes.size(); ++i) {
    shape.pixels *= sizes[i];
  }
  return shape;
}

std::shared_ptr<std::byte> lock_pages(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes), "allocating page-locked memory");
  return {static_cast<std::byte*>(memory), [](std::byte* pages) { (void)cudaFreeHost(pages); }};
}

at::Tensor over(const comm::CudaMemory& memory, const std::vector<std::int64_t>& sizes,
                at::IntArrayRef strides, at::TensorOptions options) {
  return at::for_blob(memory.get(), sizes)
      .strides(strides)
      .options(options)
      .target_device(options.device())
      .make_tensor();
}

}  // namespace

CudaStaging::CudaStaging(const StagingSetup& setup, ComputingDevice device)
    : setup_(setup),
      device_(device),
      count_(static_cast<std::size_t>(setup.shape.front())),
      values_(static_cast<std::size_t>(shape_of(setup.shape).elements())),
      copies_(make_stream(device.index, "making the copy stream")),
      slots_(setup.num_places + kSlotsAhead),
      block_bytes_((data::packed_capacity(count_, values_) + kPageBytes - 1) / kPageBytes *
                   kPageBytes),
      num_blocks_(setup.num_read + slots_.size() + kBatchesBetween),
      blocks_(lock_pages(num_blocks_ * block_bytes_)) {
  cuda::load_input_kernels();
  for (Slot& slot : slots_) {
    slot.memory = comm::allocate_on_device(data::packed_capacity(count_, values_));
    slot.arrived = comm::make_event();
    slot.taken_in = comm::make_event();
  }
  for (std::size_t i = 0; i < setup_.num_places; ++i) {
    add_place();
  }
  make_kept();
}

void CudaStaging::make_kept() {
  const std::size_t bytes =
      setup_.examples * (values_ / std::max<std::size_t>(count_, 1) + sizeof(std::int64_t));
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the GPU's memory");
  if (bytes == 0 || bytes > total / kShareOfKept || bytes > free / 2) {
    return;
  }
  kept_.emplace(
      Kept{.examples = data::KeptExamples(setup_.examples),
           .images = comm::allocate_on_device(bytes - setup_.examples * sizeof(std::int64_t)),
           .labels = comm::allocate_on_device(setup_.examples * sizeof(std::int64_t))});
}

void CudaStaging::keep(const Slot& slot) {
  const auto* const bytes = static_cast<const std::byte*>(slot.memory.get());
  cuda::launch_keep(
      {.values = reinterpret_cast<const std::uint8_t*>(bytes + data::packed_images_offset(count_)),
       .labels = reinterpret_cast<const std::int64_t*>(bytes),
       .places = reinterpret_cast<const std::int64_t*>(bytes + data::packed_places_offset(count_)),
       .shape = shape_of(setup_.shape),
       .kept_values = static_cast<std::uint8_t*>(kept_->images.get()),
       .kept_labels = static_cast<std::int64_t*>(kept_->labels.get())},
      device_.compute);
  kept_->examples.keep(slot.places);  // later readers are ordered after it on the stream
}

CudaStaging::~CudaStaging() {
  (void)cudaStreamSynchronize(copies_.get());
  (void)cudaStreamSynchronize(device_.compute);
}

void CudaStaging::add_place() {
  StagedBatch& place = places_.emplace_back();
  place.images = comm::allocate_on_device(values_ * sizeof(float));
  place.labels = comm::allocate_on_device(count_ * sizeof(std::int64_t));
  const bool last = setup_.format == MemoryFormat::kChannelsLast && setup_.shape.size() == 4;
  // Same strides as on a CPU: a contiguous tensor of one channel is also channels-last, and kernels
  // choose by strides.
  const std::vector<std::int64_t> strides =
      at::empty(setup_.shape, at::kFloat)
          .contiguous(last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous)
          .strides()
          .vec();
  place.batch.images =
      over(place.images, setup_.shape, strides, at::device(device_.torch).dtype(at::kFloat));
  place.batch.labels =
      over(place.labels, {setup_.shape.front()}, {1}, at::device(device_.torch).dtype(at::kLong));
}

std::shared_ptr<std::byte> CudaStaging::allocate(std::size_t bytes) {
  if (bytes <= block_bytes_) {
    if (const std::size_t block = num_given_++; block < num_blocks_) {
      return {blocks_, blocks_.get() + block * block_bytes_};
    }
  }
  check(cudaSetDevice(device_.index), "choosing the GPU");  // for the loader's thread
  return lock_pages(bytes);
}

bool CudaStaging::is_free(Slot& slot) {
  if (slot.batch) {
    if (!has_come(slot.arrived, "copying a batch")) {
      return false;
    }
    copied_.push_back(*std::exchange(slot.batch, std::nullopt));
  }
  return !slot.is_staged;
}

bool CudaStaging::has_room() {
  return std::ranges::any_of(slots_, [this](Slot& slot) { return is_free(slot); });
}

std::size_t CudaStaging::free_slot() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (is_free(slots_[i])) {
      return i;
    }
  }
  // All slots are staged: copies are slow, or the device is far behind.
  const auto put = std::ranges::find(slots_, false, &Slot::is_staged);
  if (put == slots_.end()) {
    throw InvariantError("a batch is staged where there is no room; please report this");
  }
  check(cudaEventSynchronize(put->arrived.get()), "copying a batch");
  (void)is_free(*put);
  return static_cast<std::size_t>(put - slots_.begin());
}

void CudaStaging::stage(data::Batch&& batch) {
  const std::size_t index = free_slot();
  Slot& slot = slots_[index];
  if (std::exchange(slot.was_used, true)) {
    check(cudaStreamWaitEvent(copies_.get(), slot.taken_in.get(), 0), "copying a batch");
  }
  const data::PackedBatch& packed = batch.packed;
  check(cudaMemcpyAsync(slot.memory.get(), packed.memory.get(), packed.bytes,
                        cudaMemcpyHostToDevice, copies_.get()),
        "copying a batch");
  check(cudaEventRecord(slot.arrived.get(), copies_.get()), "copying a batch");
  slot.request = batch.request;
  slot.is_8_bit = packed.is_8_bit;
  slot.is_kept = packed.is_kept;
  slot.places = batch.places;
  slot.is_staged = true;
  slot.batch = std::move(batch);
  staged_.push_back(index);
}

const RealBatch& CudaStaging::put(std::size_t place) {
  Slot& slot = slots_[staged_.front()];
  staged_.pop_front();
  slot.is_staged = false;
  const StagedBatch& at = places_[place];
  const auto* const bytes = static_cast<const std::byte*>(slot.memory.get());
  check(cudaStreamWaitEvent(device_.compute, slot.arrived.get(), 0), "taking in a batch");
  const auto* const examples =
      reinterpret_cast<const std::int64_t*>(bytes + data::packed_places_offset(count_));
  if (slot.is_kept) {
    cuda::launch_kept_labels(static_cast<const std::int64_t*>(kept_->labels.get()), examples,
                             static_cast<std::int64_t>(count_),
                             static_cast<std::int64_t*>(at.labels.get()), device_.compute);
  } else {
    check(cudaMemcpyAsync(at.labels.get(), bytes, count_ * sizeof(std::int64_t),
                          cudaMemcpyDeviceToDevice, device_.compute),
          "taking in a batch");
  }
  const bool is_permuted = setup_.format == MemoryFormat::kChannelsLast && setup_.shape.size() == 4;
  cuda::launch_input(
      {.values = slot.is_kept ? kept_->images.get() : bytes + data::packed_images_offset(count_),
       .places = slot.is_kept ? examples : nullptr,
       .is_8_bit = slot.is_8_bit,
       .shape = shape_of(setup_.shape),
       .order = is_permuted ? cuda::InputOrder::kChannelsLast : cuda::InputOrder::kAsRead,
       .out = static_cast<float*>(at.images.get())},
      device_.compute);
  if (kept_ && slot.is_8_bit && !slot.is_kept) {
    keep(slot);
  }
  check(cudaEventRecord(slot.taken_in.get(), device_.compute), "taking in a batch");
  return at.batch;
}

std::optional<data::Batch> CudaStaging::take_copied() {
  if (copied_.empty()) {
    return std::nullopt;
  }
  data::Batch batch = std::move(copied_.back());
  copied_.pop_back();
  return batch;
}

}  // namespace gangway::worker
