// SPDX-License-Identifier: MIT
// Prints a line per CUDA device; exits with 77 if there is none. For tests/gpu/run.
#include <fmt/format.h>

#include "tests/gpu/device_memory.hpp"

int main() {
  const int devices = gangway::num_devices();
  for (int device = 0; device < devices; ++device) {
    cudaDeviceProp properties{};
    gangway::comm::check(cudaGetDeviceProperties(&properties, device), "asking for the device");
    fmt::print("{}, {:.0f} GiB, compute capability {}.{}\n",
               static_cast<const char*>(properties.name),
               static_cast<double>(properties.totalGlobalMem) / (1U << 30U), properties.major,
               properties.minor);
  }
  return devices > 0 ? 0 : 77;
}
