// SPDX-License-Identifier: MIT
// What a host has that others of the same job should have too: read on that host by `gangway
// host-facts`, which `gangway doctor --hosts` starts there. Reads files and asks mpirun for its
// version; loads no library of CUDA.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::launch {

struct HostFacts {
  std::string build;  ///< base/build_id.hpp
  std::string mpi;    ///< versions; "none" where there is none
  std::string libtorch;
  std::string nccl;
  std::string processor;  ///< maker and highest level: "AuthenticAMD avx512"
  std::string driver;     ///< NVIDIA's
  std::string interface;  ///< by which packets for the asking host leave
  int gpus = 0;
  int cores = 0;
  double memory_gib = 0;         ///< available
  double shared_memory_gib = 0;  ///< free in /dev/shm
  bool operator==(const HostFacts&) const = default;
};

/// Of this host. @param libtorch  folder of LibTorch's wheel
/// @param asking  numeric addresses of the host that asks, the best first
[[nodiscard]] HostFacts read_host_facts(const std::filesystem::path& libtorch,
                                        const std::vector<std::string>& asking);

/// On one line, without its end; and back: nothing where it is none.
[[nodiscard]] std::string facts_line(const HostFacts& facts);
[[nodiscard]] std::optional<HostFacts> parse_facts(std::string_view line);

/// LibTorch's version, from a file of its wheel: loading it takes seconds. Nothing: none is there.
[[nodiscard]] std::optional<std::string> libtorch_version(const std::filesystem::path& libtorch);

// What `gangway host-facts` says, line by line: first kFactsWord and the facts, then for each line
// that it is sent kClockWord and its clock, in nanoseconds of Unix time.
inline constexpr std::string_view kFactsWord = "gangway-facts ";
inline constexpr std::string_view kClockWord = "gangway-clock ";

/// The body of `gangway host-facts`; ends with its standard input.
[[nodiscard]] int tell_host_facts(const HostFacts& facts);

}  // namespace gangway::launch
