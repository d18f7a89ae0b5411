// SPDX-License-Identifier: MIT
// A stretch of the compute thread that NVIDIA's profilers show under a name. Header-only (NVTX 3,
// which LibTorch's wheel brings along): nothing is loaded unless a profiler runs the program;
// without the header it is nothing.
#pragma once

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
    (void)nvtxRangePushA(std::string(name()).c_str());
#endif
  }
  ~NvtxRange() {
#if GANGWAY_HAS_NVTX
    (void)nvtxRangePop();
#endif
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace gangway::worker
