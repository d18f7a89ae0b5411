// SPDX-License-Identifier: MIT
#include "launch/process/gpus.hpp"

#include <array>
#include <cstddef>
#include <filesystem>

#include <dlfcn.h>

#include "base/processor.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {
namespace {

/// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR of cuda.h.
constexpr int kCapabilityAttribute = 75;
/// First with bf16 products (Ampere).
constexpr int kBf16Capability = 8;

template <typename Function>
Function* find(void* driver, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(driver, name));
}

Gpu describe_gpu(void* driver, int index) {
  Gpu gpu;
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  int capability = 0;
  int device = 0;
  const auto get = find<int(int*, int)>(driver, "cuDeviceGet");
  if (get == nullptr || get(&device, index) != 0) {
    return gpu;
  }
  if (const auto ask = find<int(char*, int, int)>(driver, "cuDeviceGetName");
      ask != nullptr && ask(name.data(), static_cast<int>(name.size()) - 1, device) == 0) {
    gpu.name = name.data();
  }
  if (const auto ask = find<int(std::size_t*, int)>(driver, "cuDeviceTotalMem_v2");
      ask != nullptr && ask(&bytes, device) == 0) {
    gpu.memory_bytes = static_cast<std::int64_t>(bytes);
  }
  if (const auto ask = find<int(int*, int, int)>(driver, "cuDeviceGetAttribute");
      ask != nullptr && ask(&capability, kCapabilityAttribute, device) == 0) {
    gpu.multiplies_bf16 = capability >= kBf16Capability;
  }
  return gpu;
}

std::vector<Gpu> ask_driver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    return {};
  }
  const auto init = find<int(unsigned)>(driver, "cuInit");
  const auto ask = find<int(int*)>(driver, "cuDeviceGetCount");
  int count = 0;
  if (init == nullptr || ask == nullptr || init(0) != 0 || ask(&count) != 0) {
    return {};
  }
  std::vector<Gpu> found;
  for (int index = 0; index < count; ++index) {
    found.push_back(describe_gpu(driver, index));
  }
  return found;
}

}  // namespace

const std::vector<Gpu>& gpus() {
  static const std::vector<Gpu> found = ask_driver();
  return found;
}

int num_gpus() { return static_cast<int>(gpus().size()); }

int usable_gpus() {
  return std::filesystem::exists(program_folder() / "gangway-worker-cuda") ? num_gpus() : 0;
}

DeviceFacts facts_of_device(DeviceKind kind) {
  const std::filesystem::path folder = share_folder() / "devices";
  return kind == DeviceKind::kCuda ? facts_of_gpu(folder, gpus().empty() ? Gpu() : gpus().front())
                                   : facts_of_processor(folder / "processors", this_processor());
}

}  // namespace gangway::launch
