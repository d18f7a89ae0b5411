// SPDX-License-Identifier: MIT
// A stretch of the compute thread that NVIDIA's profilers show under a name. Header-only (NVTX 3,
// which LibTorch's wheel brings along): nothing is loaded, and no name is made, unless a profiler
// runs the program; without the header it is nothing.
#pragma once

#include <cstdlib>
#include <string>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GANGWAY_HAS_NVTX 1
#else
#define GANGWAY_HAS_NVTX 0
#endif

namespace gangway::worker {

class NvtxRange {
 public:
  /// @param name  returns the name; not called where nobody would see it
  template <typename Name>
  explicit NvtxRange([[maybe_unused]] const Name& name) {
#if GANGWAY_HAS_NVTX
    if (is_seen()) {
      (void)nvtxRangePushA(std::string(name()).c_str());
    }
#endif
  }
  ~NvtxRange() {
#if GANGWAY_HAS_NVTX
    if (is_seen()) {
      (void)nvtxRangePop();
    }
#endif
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  /// NVTX's own sign, by which a profiler names the library that listens.
  static bool is_seen() {
    static const bool is_seen = std::getenv("NVTX_INJECTION64_PATH") != nullptr;
    return is_seen;
  }
};

}  // namespace gangway::worker
