// SPDX-License-Identifier: MIT
#include "comm/nccl/device_arena.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/cuda/cuda_handles.hpp"

namespace gangway::comm {
namespace {

/// Resolved at run time, because build machines have no driver to link with.
struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
};

template <typename Function>
void find(Function& function, const char* name) {
  constexpr unsigned int kSince = 12'000;  // these calls have their CUDA 12.0 signatures
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion(name, &found, kSince, cudaEnableDefault, &result),
        "asking the driver for its calls");
  if (result != cudaDriverEntryPointSuccess) {
    throw EnvironmentError(
        fmt::format("the driver of the GPU has no {}; install one for CUDA 12 or newer", name));
  }
  function = reinterpret_cast<Function>(found);
}

const Driver& driver() {
  static const Driver kDriver = [] {
    Driver found;
    find(found.granularity, "cuMemGetAllocationGranularity");
    find(found.reserve, "cuMemAddressReserve");
    find(found.free, "cuMemAddressFree");
    find(found.create, "cuMemCreate");
    find(found.release, "cuMemRelease");
    find(found.map, "cuMemMap");
    find(found.unmap, "cuMemUnmap");
    find(found.set_access, "cuMemSetAccess");
    return found;
  }();
  return kDriver;
}

void require(CUresult result, const char* what, std::size_t bytes) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw EnvironmentError(fmt::format(
        "{} bytes of device memory: out of memory; use more workers or a smaller micro-batch",
        bytes));
  }
  if (result != CUDA_SUCCESS) {
    throw EnvironmentError(
        fmt::format("{}: the driver's error {}; check the device and its driver with nvidia-smi",
                    what, static_cast<int>(result)));
  }
}

CUmemAllocationProp on_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  return properties;
}

/// The driver's allocation unit, in bytes.
std::size_t granule() {
  const CUmemAllocationProp properties = on_current_device();
  std::size_t bytes = 0;
  require(driver().granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "asking for the granularity of device memory", 0);
  return bytes;
}

}  // namespace

void free_addresses(DeviceBlock block) noexcept { (void)driver().free(block.address, block.bytes); }

void unmap(DeviceBlock block) noexcept { (void)driver().unmap(block.address, block.bytes); }

DeviceArena::DeviceArena(std::size_t elements, std::span<const ElementRange> held,
                         std::size_t copies)
    : elements_(copies * elements) {
  if (held.size() == 1 && held.front() == ElementRange{0, elements}) {
    whole_ = allocate_nccl_memory(elements_ * sizeof(float));
    return;
  }
  const std::size_t unit = granule();
  const auto up = [unit](std::size_t bytes) { return (bytes + unit - 1) / unit * unit; };
  const std::size_t bytes = up(std::max(elements_ * sizeof(float), unit));
  DeviceBlock reserved{.bytes = bytes};
  require(driver().reserve(&reserved.address, bytes, 0, 0, 0), "reserving addresses", bytes);
  addresses_.reset(reserved);
  std::size_t mapped = 0;  // elements are mapped up to this byte
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (const ElementRange& range : held) {
      const std::size_t first = (copy * elements + range.begin) * sizeof(float) / unit * unit;
      const std::size_t begin = std::max(mapped, first);
      const std::size_t end = up((copy * elements + range.end) * sizeof(float));
      if (begin < end) {
        map({.address = reserved.address + begin, .bytes = end - begin});
        mapped = end;
      }
    }
  }
  // Streams other than the default stream are not ordered after cudaMemset.
  check(cudaStreamSynchronize(nullptr), "zeroing device memory");
}

void DeviceArena::map(DeviceBlock block) {
  const CUmemAllocationProp properties = on_current_device();
  CUmemGenericAllocationHandle memory{};
  require(driver().create(&memory, block.bytes, &properties, 0), "allocating", block.bytes);
  const CUresult mapped = driver().map(block.address, block.bytes, 0, memory, 0);
  (void)driver().release(memory);  // the mapping keeps it alive
  require(mapped, "mapping device memory", block.bytes);
  mappings_.emplace_back(block);
  const CUmemAccessDesc access{.location = properties.location,
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  require(driver().set_access(block.address, block.bytes, &access, 1), "opening device memory",
          block.bytes);
  check(cudaMemset(reinterpret_cast<void*>(block.address), 0, block.bytes),
        "zeroing device memory");
}

float* DeviceArena::data() const {
  return whole_ ? static_cast<float*>(whole_.get())
                : reinterpret_cast<float*>(addresses_.get().address);
}

std::span<float> DeviceArena::registrable() const {
  return whole_ ? std::span(data(), elements_) : std::span<float>();
}

}  // namespace gangway::comm
