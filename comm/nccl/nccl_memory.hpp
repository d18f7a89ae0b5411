// SPDX-License-Identifier: MIT
// Allocates device memory that NCCL transfers without copies. The memory outlives sessions; each
// epoch registers it again.
#pragma once

#include <cstddef>

#include <nccl.h>

#include "base/unique_handle.hpp"
#include "comm/nccl/nccl_session.hpp"

namespace gangway::comm {

using NcclMemory = UniqueHandle<void*, ncclMemFree>;

/// Allocates zeroed memory on the current device. @throws EnvironmentError if it is exhausted.
[[nodiscard]] NcclMemory allocate_nccl_memory(std::size_t bytes);

/// Registers memory with one session, which outlives the registration.
class NcclRegistration {
 public:
  NcclRegistration(NcclSession& session, void* memory, std::size_t bytes)
      : session_(session), handle_(session.register_memory(memory, bytes)) {}
  ~NcclRegistration() { session_.deregister_memory(handle_); }
  NcclRegistration(const NcclRegistration&) = delete;
  NcclRegistration& operator=(const NcclRegistration&) = delete;

 private:
  NcclSession& session_;
  void* handle_;
};

}  // namespace gangway::comm
