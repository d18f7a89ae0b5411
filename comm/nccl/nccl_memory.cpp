// SPDX-License-Identifier: MIT
#include "comm/nccl/nccl_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/cuda/cuda_handles.hpp"

namespace gangway::comm {

NcclMemory allocate_nccl_memory(std::size_t bytes) {
  const std::size_t wanted = std::max<std::size_t>(bytes, sizeof(float));
  void* memory = nullptr;
  if (const ncclResult_t result = ncclMemAlloc(&memory, wanted); result != ncclSuccess) {
    throw EnvironmentError(
        fmt::format("{} bytes of device memory: {}; use more workers or a smaller "
                    "micro-batch",
                    wanted, ncclGetErrorString(result)));
  }
  NcclMemory owned(memory);
  check(cudaMemset(memory, 0, wanted), "zeroing device memory");
  // Streams other than the default stream are not ordered after cudaMemset.
  check(cudaStreamSynchronize(nullptr), "zeroing device memory");
  return owned;
}

}  // namespace gangway::comm
