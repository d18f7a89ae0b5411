// SPDX-License-Identifier: MIT
#include "worker/gauges/gpu_gauges.hpp"

#include <utility>

#include <dlfcn.h>

#include "base/unique_handle.hpp"

namespace gangway::worker {
namespace {

// Copied from nvml.h (NVML API reference, version 13), which only CUDA toolkits contain. None of it
// has changed since version 2 of the library.
using Result = int;
constexpr Result kSuccess = 0;
constexpr int kOfTheChip = 0;  // NVML_TEMPERATURE_GPU
struct DeviceOfNvml;
using Device = DeviceOfNvml*;
struct Utilization {
  unsigned int gpu = 0;  ///< percent
  unsigned int memory = 0;
};
struct Memory {
  unsigned long long total = 0;  // NOLINT(google-runtime-int): as it is declared there
  unsigned long long free = 0;   // NOLINT(google-runtime-int)
  unsigned long long used = 0;   // NOLINT(google-runtime-int)
};
constexpr int kOfMultiprocessors = 1;  // NVML_CLOCK_SM
// nvmlClocksEventReasons, without an idle GPU and clocks set by a user.
using Reasons = unsigned long long;  // NOLINT(google-runtime-int): as it is declared there
constexpr Reasons kPowerReasons = 0x04 | 0x80;  // SwPowerCap, HwPowerBrakeSlowdown
constexpr Reasons kHeatReasons = 0x20 | 0x40;   // SwThermalSlowdown, HwThermalSlowdown
constexpr Reasons kHardwareReason = 0x08;       // HwSlowdown
constexpr double kPercent = 0.01;
constexpr double kMilliwatt = 0.001;

std::uint64_t slowed_by(Reasons reasons) {
  using messages::SlowedBy;
  std::uint64_t found = 0;
  found |= (reasons & kPowerReasons) != 0 ? SlowedBy::kPower : 0;
  found |= (reasons & kHeatReasons) != 0 ? SlowedBy::kHeat : 0;
  // The hardware flag accompanies the two flags that name the cause.
  return found == 0 && (reasons & kHardwareReason) != 0 ? SlowedBy::kHardware : found;
}

/// A function of the library; if the library lacks it, every call fails.
template <typename... Arguments>
class Function {
 public:
  void find(void* library, const char* name) {
    function_ = reinterpret_cast<Result (*)(Arguments...)>(::dlsym(library, name));
  }
  [[nodiscard]] bool succeeds(Arguments... arguments) const {
    return function_ != nullptr && function_(arguments...) == kSuccess;
  }

 private:
  Result (*function_)(Arguments...) = nullptr;
};

}  // namespace

struct GpuGauges::Library {
  ~Library() {
    if (is_begun) {
      (void)end.succeeds();
    }
  }

  UniqueHandle<void*, ::dlclose> handle;
  Function<> begin;
  Function<> end;
  Function<const char*, Device*> find_device;
  Function<Device, Utilization*> utilization;
  Function<Device, Memory*> memory;
  Function<Device, int, unsigned int*> temperature;
  Function<Device, unsigned int*> power;
  Function<Device, int, unsigned int*> clock;
  Function<Device, int, unsigned int*> highest_clock;
  Function<Device, Reasons*> reasons;
  Function<Device, Reasons*> reasons_by_older_name;
  bool is_begun = false;
  Device device = nullptr;
};

std::unique_ptr<GpuGauges> GpuGauges::open(const std::string& name, const std::string& bus) {
  auto library = std::make_unique<Library>();
  library->handle.reset(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  void* const handle = library->handle.get();
  if (handle == nullptr) {
    return nullptr;
  }
  library->begin.find(handle, "nvmlInit_v2");
  library->end.find(handle, "nvmlShutdown");
  library->find_device.find(handle, "nvmlDeviceGetHandleByPciBusId_v2");
  library->utilization.find(handle, "nvmlDeviceGetUtilizationRates");
  library->memory.find(handle, "nvmlDeviceGetMemoryInfo");
  library->temperature.find(handle, "nvmlDeviceGetTemperature");
  library->power.find(handle, "nvmlDeviceGetPowerUsage");
  library->clock.find(handle, "nvmlDeviceGetClockInfo");
  library->highest_clock.find(handle, "nvmlDeviceGetMaxClockInfo");
  library->reasons.find(handle, "nvmlDeviceGetCurrentClocksEventReasons");
  library->reasons_by_older_name.find(handle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library->is_begun = library->begin.succeeds();
  if (!library->is_begun || !library->find_device.succeeds(bus.c_str(), &library->device)) {
    return nullptr;
  }
  return std::make_unique<GpuGauges>(std::move(library));
}

GpuGauges::GpuGauges(std::unique_ptr<Library> library) : library_(std::move(library)) {}
GpuGauges::~GpuGauges() = default;

messages::DeviceGauges GpuGauges::read() const {
  messages::DeviceGauges gauges;
  if (Utilization rates; library_->utilization.succeeds(library_->device, &rates)) {
    gauges.busy = kPercent * rates.gpu;
  }
  if (Memory memory; library_->memory.succeeds(library_->device, &memory)) {
    gauges.used_bytes = memory.used;
    gauges.total_bytes = memory.total;
  }
  if (unsigned int celsius = 0;
      library_->temperature.succeeds(library_->device, kOfTheChip, &celsius)) {
    gauges.celsius = celsius;
  }
  if (unsigned int milliwatts = 0; library_->power.succeeds(library_->device, &milliwatts)) {
    gauges.watts = kMilliwatt * milliwatts;
  }
  unsigned int megahertz = 0;
  if (unsigned int highest = 0;
      library_->clock.succeeds(library_->device, kOfMultiprocessors, &megahertz) &&
      library_->highest_clock.succeeds(library_->device, kOfMultiprocessors, &highest) &&
      highest > 0) {
    gauges.clock = static_cast<double>(megahertz) / highest;
  }
  if (Reasons reasons = 0; library_->reasons.succeeds(library_->device, &reasons) ||
                           library_->reasons_by_older_name.succeeds(library_->device, &reasons)) {
    gauges.slowed_by = slowed_by(reasons);
  }
  return gauges;
}

}  // namespace gangway::worker
