// SPDX-License-Identifier: MIT
// Names a scope of the compute thread in NVIDIA's profilers. Header-only (NVTX 3, part of
// LibTorch's wheel): loads no library and builds no name unless a profiler runs the program. Does
// nothing without the header.
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
  /// @param name  returns the name; called only if a profiler listens
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
  /// Returns whether a profiler listens, by the environment variable that NVTX itself reads.
  static bool is_seen() {
    static const bool is_seen = std::getenv("NVTX_INJECTION64_PATH") != nullptr;
    return is_seen;
  }
};

}  // namespace gangway::worker
