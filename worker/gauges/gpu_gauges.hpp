// SPDX-License-Identifier: MIT
// Reads a GPU's gauges from its driver through NVML (libnvidia-ml, part of the driver), loaded at
// run time if present. One thread at a time; a call may take milliseconds, or block if the driver
// hangs.
#pragma once

#include <memory>
#include <string>

#include "run/messages/messages.hpp"

namespace gangway::worker {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

class GpuGauges {
  struct Library;

 public:
  /// @param library  kNvmlLibrary, except in tests
  /// @param bus  the GPU's PCI address, as "0000:65:00.0": indices differ between processes
  /// @return null if the library is missing or does not know that GPU
  [[nodiscard]] static std::unique_ptr<GpuGauges> open(const std::string& library,
                                                       const std::string& bus);
  explicit GpuGauges(std::unique_ptr<Library> library);  ///< of open()
  ~GpuGauges();
  GpuGauges(const GpuGauges&) = delete;
  GpuGauges& operator=(const GpuGauges&) = delete;

  /// Returns the GPU's present gauges.
  [[nodiscard]] messages::DeviceGauges read() const;

 private:
  std::unique_ptr<Library> library_;
};

}  // namespace gangway::worker
