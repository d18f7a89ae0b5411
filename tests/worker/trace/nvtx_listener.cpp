// SPDX-License-Identifier: MIT
// A stand-in for NVIDIA's profilers: a library that NVTX_INJECTION64_PATH names, and that NVTX
// calls for each range. Writes lines "push NAME" and "pop" to NVTX_LISTENER_FOLDER/PID.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

namespace {

std::FILE* file() {
  static std::FILE* const file = [] {
    const char* const folder = std::getenv("NVTX_LISTENER_FOLDER");
    return folder == nullptr
               ? nullptr
               : std::fopen((std::string(folder) + "/" + std::to_string(::getpid())).c_str(), "w");
  }();
  return file;
}

void write_line(const std::string& line) {
  if (file() != nullptr) {
    (void)std::fprintf(file(), "%s\n", line.c_str());
    (void)std::fflush(file());  // workers leave without closing
  }
}

int NVTX_API push(const char* name) {
  write_line(std::string("push ") + name);
  return 0;
}

int NVTX_API pop() {
  write_line("pop");
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
