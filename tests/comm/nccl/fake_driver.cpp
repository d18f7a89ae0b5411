// SPDX-License-Identifier: MIT
// The driver's calls for memory that is mapped in parts, on the host's memory. Reserved but
// unmapped memory can be neither read nor written.
#include <cstring>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "tests/comm/nccl/fake_cuda.hpp"

namespace {

constexpr std::size_t kGranule = 4'096;  // the host's page; small networks then have several parts

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult granularity(std::size_t* bytes, const CUmemAllocationProp* /*properties*/,
                     CUmemAllocationGranularity_flags /*option*/) {
  *bytes = kGranule;
  return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr* address, std::size_t bytes, std::size_t /*alignment*/,
                 CUdeviceptr /*wanted*/, unsigned long long /*flags*/) {
  void* const found =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *address = reinterpret_cast<CUdeviceptr>(found);
  return found == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult release_addresses(CUdeviceptr address, std::size_t bytes) {
  return ::munmap(at(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult create(CUmemGenericAllocationHandle* memory, std::size_t bytes,
                const CUmemAllocationProp* /*properties*/, unsigned long long /*flags*/) {
  *memory = bytes;
  return bytes % kGranule == 0 && bytes > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult release(CUmemGenericAllocationHandle /*memory*/) { return CUDA_SUCCESS; }
CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t /*offset*/,
             CUmemGenericAllocationHandle memory, unsigned long long /*flags*/) {
  if (memory != bytes || address % kGranule != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  gangway::fake::count_device_bytes(static_cast<std::int64_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr address, std::size_t bytes) {
  gangway::fake::count_device_bytes(-static_cast<std::int64_t>(bytes));
  return ::mprotect(at(address), bytes, PROT_NONE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* /*access*/,
                    std::size_t /*count*/) {
  return ::mprotect(at(address), bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_VALUE;
}

struct Call {
  const char* name;
  void* function;
};
template <typename Function>
Call call(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the runtime's names
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned int /*version*/, unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* result) {
  static const Call kCalls[] = {
      call("cuMemGetAllocationGranularity", granularity),
      call("cuMemAddressReserve", reserve),
      call("cuMemAddressFree", release_addresses),
      call("cuMemCreate", create),
      call("cuMemRelease", release),
      call("cuMemMap", map),
      call("cuMemUnmap", unmap),
      call("cuMemSetAccess", set_access),
  };
  *result = cudaDriverEntryPointSymbolNotFound;
  for (const Call& one : kCalls) {
    if (std::strcmp(symbol, one.name) == 0) {
      *function = one.function;
      *result = cudaDriverEntryPointSuccess;
    }
  }
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
