// SPDX-License-Identifier: MIT
// A driver's library for tests with two GPUs. The second is like a slice of a GPU (MIG), for which
// the driver reports few figures.
#include <string_view>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

struct Gpu {
  bool tells_all;
  unsigned int celsius;
};
Gpu whole{.tells_all = true, .celsius = 40};
Gpu slice{.tells_all = false, .celsius = 0};
int users = 0;
unsigned long long reasons = 0x01;  // idle
unsigned int megahertz = 990;       // of 1980

}  // namespace

extern "C" {

int fake_nvml_users() { return users; }

void fake_nvml_clock(unsigned int new_megahertz, unsigned long long new_reasons) {
  megahertz = new_megahertz;
  reasons = new_reasons;
}

int nvmlInit_v2() {
  ++users;
  return kSuccess;
}

int nvmlShutdown() {
  --users;
  return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (users == 0) {
    return kNotFound;
  }
  *device = std::string_view(bus) == "0000:65:00.0"   ? &whole
            : std::string_view(bus) == "0000:66:00.0" ? &slice
                                                      : nullptr;
  return *device == nullptr ? kNotFound : kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned int* percent) {
  percent[0] = 75;
  percent[1] = 12;
  return static_cast<Gpu*>(device)->tells_all ? kSuccess : kNotSupported;
}

int nvmlDeviceGetMemoryInfo(void* /*device*/, unsigned long long* bytes) {
  bytes[0] = 80'000'000'000;
  bytes[1] = 50'000'000'000;
  bytes[2] = 30'000'000'000;
  return kSuccess;
}

/// Adds a degree at each call.
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned int* celsius) {
  *celsius = ++static_cast<Gpu*>(device)->celsius;
  return sensor == 0 && static_cast<Gpu*>(device)->tells_all ? kSuccess : kNotSupported;
}

int nvmlDeviceGetClockInfo(void* device, int clock, unsigned int* value) {
  *value = megahertz;
  return clock == 1 && static_cast<Gpu*>(device)->tells_all ? kSuccess : kNotSupported;
}

int nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned int* value) {
  *value = 1980;
  return clock == 1 && static_cast<Gpu*>(device)->tells_all ? kSuccess : kNotSupported;
}

/// The older name, because the driver is old.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* now) {
  *now = reasons;
  return static_cast<Gpu*>(device)->tells_all ? kSuccess : kNotSupported;
}

// nvmlDeviceGetPowerUsage is missing, as in old drivers.

}  // extern "C"
