// SPDX-License-Identifier: MIT
// Reads what is known of kinds of GPUs and processors: share/devices/KIND.yaml and
// share/devices/processors/KIND.yaml. `gangway run` and `gangway train` settle a job's auto keys by
// it, and `gangway plan` predicts by it. Pure but for reading the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/processor.hpp"
#include "job/layout_choice.hpp"
#include "job/precision.hpp"

namespace gangway {

struct DeviceFacts {
  std::string name = {};   ///< for people: "h100", "this processor (amx_bf16)"
  std::string match = {};  ///< words of the driver's name of a GPU, or flag of a processor
  // For predictions.
  double speed = 1.0;             ///< relative to the profiled device
  std::int64_t memory_bytes = 0;  ///< 0: unknown
  std::optional<double> launch_seconds = {};
  // Values of auto.
  Precision precision = Precision::kFp32;
  std::vector<Precision> contiguous = {};  ///< precisions in which contiguous images are faster
  GraphChoice cuda_graph = GraphChoice::kAuto;  ///< kAuto: the workers decide
  int nccl_ctas = 0;                            ///< 0: comm/nccl decides
  std::int64_t bucket_bytes = 0;                ///< least mean bytes of a bucket; 0: comm decides
  bool operator==(const DeviceFacts&) const = default;
};

/// Returns the kinds in `folder`, sorted: "a100".
[[nodiscard]] std::vector<std::string> device_kinds(const std::filesystem::path& folder);

/// Reads FOLDER/KIND.yaml. @throws ConfigError, one line with file and line, if a fact is wrong
[[nodiscard]] DeviceFacts read_device(const std::filesystem::path& folder, const std::string& kind);

/// A GPU as its driver describes it.
struct Gpu {
  std::string name = {};          ///< "NVIDIA H100 80GB HBM3"; empty: unknown
  std::int64_t memory_bytes = 0;  ///< 0: unknown
  bool multiplies_bf16 = true;    ///< compute capability 8.0 or later
};

/// Returns the facts of the first kind whose `gpu` are words of the GPU's name. Else those of an
/// unknown GPU: bf16 if it multiplies it, and contiguous images in fp32.
[[nodiscard]] DeviceFacts facts_of_gpu(const std::filesystem::path& folder, const Gpu& gpu);

/// Returns the facts of the first kind whose `flag` the processor has; else those of a processor
/// without bf16 products.
[[nodiscard]] DeviceFacts facts_of_processor(const std::filesystem::path& folder,
                                             const Processor& processor);

}  // namespace gangway
