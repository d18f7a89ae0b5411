// SPDX-License-Identifier: MIT
// The GPUs of this host as nvidia-smi tells of them. Asked by `gangway doctor`; loads no library of
// CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/hosts/findings.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct Gpu {
  std::string name;  ///< "NVIDIA H100 80GB HBM3"
  double memory_gib = 0;
  std::string driver;                         ///< its version: "580.65.06"
  std::string capability;                     ///< "9.0"
  std::string ecc;                            ///< "Enabled", "Disabled"; else it has none
  std::optional<std::int64_t> memory_faults;  ///< that ECC could not mend since the driver's start
  bool operator==(const Gpu&) const = default;
};

/// What `nvidia-smi --query-gpu` is asked for.
inline constexpr std::string_view kGpuQuery =
    "name,memory.total,driver_version,compute_cap,ecc.mode.current,"
    "ecc.errors.uncorrected.volatile.total";

/// By their order on the host. @param lines  its answer, --format=csv,noheader,nounits. Lines that
/// are none of a GPU are passed over.
[[nodiscard]] std::vector<Gpu> parse_gpus(std::string_view lines);

/// Of this host. Empty: there are none, or nvidia-smi does not answer within seconds.
[[nodiscard]] std::vector<Gpu> read_gpus();

/// A table of `nvidia-smi topo` (-m, or -p2p r): what stands in row and column of two GPUs, "NV18",
/// "SYS", "OK", "X" for one with itself. Rows that lack columns are left out.
[[nodiscard]] std::vector<std::vector<std::string>> parse_topology(std::string_view text);

/// What is amiss with these, an item each, and what they are. @param toolkit  the CUDA that this
/// program was built with, "13.0.88"; empty: none
[[nodiscard]] std::vector<Finding> judge_gpus(const std::vector<Gpu>& gpus,
                                              std::string_view toolkit);

/// How two GPUs and more reach one another. @param links, peers  parse_topology of -m and -p2p r
[[nodiscard]] std::optional<Finding> judge_gpu_links(
    const std::vector<std::vector<std::string>>& links,
    const std::vector<std::vector<std::string>>& peers);

/// What an all-reduce over NCCL says of them. @param gigabytes_per_second  its bus bandwidth
[[nodiscard]] Finding judge_nccl(std::size_t gpus, double gigabytes_per_second, bool has_nvlink);

/// All of that of this host, with a short all-reduce over NCCL where there are several. Empty: it
/// has no GPU.
[[nodiscard]] std::vector<Finding> examine_gpus(std::string_view toolkit,
                                                const Environment& environment);

}  // namespace gangway::launch
