// SPDX-License-Identifier: MIT
// What the driver of a GPU tells of it: NVML (libnvidia-ml, which comes with the driver), loaded
// where it is there. Used by one thread; a call may take milliseconds, and waits with a driver that
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
  /// @param library  kNvmlLibrary, but for tests
  /// @param bus  the GPU's PCI address, as "0000:65:00.0": indices differ from process to process
  /// @return null where there is no such library, or it does not know that GPU
  [[nodiscard]] static std::unique_ptr<GpuGauges> open(const std::string& library,
                                                       const std::string& bus);
  explicit GpuGauges(std::unique_ptr<Library> library);  ///< of open()
  ~GpuGauges();
  GpuGauges(const GpuGauges&) = delete;
  GpuGauges& operator=(const GpuGauges&) = delete;

  /// How it is with the GPU now.
  [[nodiscard]] messages::DeviceGauges read() const;

 private:
  std::unique_ptr<Library> library_;
};

}  // namespace gangway::worker
