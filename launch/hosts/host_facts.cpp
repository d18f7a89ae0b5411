// SPDX-License-Identifier: MIT
#include "launch/hosts/host_facts.hpp"

#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include "base/build_id.hpp"
#include "base/file_descriptor.hpp"
#include "base/processor.hpp"
#include "base/shared_segment.hpp"
#include "base/system/usable_cores.hpp"
#include "base/this_host.hpp"
#include "base/units.hpp"
#include "launch/process/command_output.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoneThere = "none";

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first group of `pattern` in `text`, or "none".
std::string found_in(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : kNoneThere;
}

/// By the name that pip gave the folder of its notes.
std::string nccl_version(const fs::path& libtorch) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(libtorch.parent_path(), ignored)) {
    const std::string version =
        found_in(entry.path().filename().string(), "^nvidia_nccl_cu[0-9]+-([0-9.]+)[.]dist-info$");
    if (version != kNoneThere) {
      return version;
    }
  }
  return kNoneThere;
}

double available_gib() {
  constexpr double kKibibyte = 1024;
  const std::string kib = found_in(content_of("/proc/meminfo"), "MemAvailable: +([0-9]+) kB");
  return kib == kNoneThere ? 0 : std::stod(kib) * kKibibyte / kGibibyte;
}

double free_gib(const char* folder) {
  struct statvfs status {};
  return ::statvfs(folder, &status) == 0 ? static_cast<double>(status.f_bavail) *
                                               static_cast<double>(status.f_frsize) / kGibibyte
                                         : 0;
}

/// As the kernel would choose it; nothing is sent.
std::optional<std::string> interface_towards(const std::string& address) {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(1);
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  socklen_t length = sizeof(own);
  std::array<char, INET_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET, address.c_str(), &peer.sin_addr) != 1 || !socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      ::inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) == nullptr) {
    return std::nullopt;
  }
  for (const OwnAddress& candidate : own_addresses()) {
    if (candidate.address == text.data()) {
      return fmt::format("{} {}", candidate.interface, candidate.address);
    }
  }
  return std::nullopt;
}

std::string chosen_interface(const std::vector<std::string>& asking) {
  for (const std::string& address : asking) {
    if (const auto found = interface_towards(address)) {
      return *found;
    }
  }
  return kNoneThere;
}

/// MKL looks at the maker too.
std::string processor_text(const Processor& processor) {
  const std::string level = best_level(processor);
  return level.empty() ? kNoneThere : fmt::format("{} {}", processor.maker, level);
}

}  // namespace

std::optional<std::string> libtorch_version(const fs::path& libtorch) {
  const std::string version =
      found_in(content_of(libtorch / "version.py"), "__version__ *= *'([^']+)'");
  return version == kNoneThere ? std::nullopt : std::optional(version);
}

HostFacts read_host_facts(const fs::path& libtorch, const std::vector<std::string>& asking) {
  return {.build = std::string(build_id()),
          .mpi = found_in(output_of("mpirun --version").text, "Open MPI\\) ([^\\s]+)"),
          .libtorch = libtorch_version(libtorch).value_or(kNoneThere),
          .nccl = nccl_version(libtorch),
          .processor = processor_text(this_processor()),
          .driver = found_in(content_of("/sys/module/nvidia/version"), "([0-9.]+)"),
          .interface = chosen_interface(asking),
          .gpus = num_gpus(),
          .cores = usable_cores(),
          .memory_gib = available_gib(),
          .shared_memory_gib = free_gib(kSharedMemoryFolder)};
}

std::string facts_line(const HostFacts& facts) {
  return nlohmann::ordered_json{{"build", facts.build},
                                {"mpi", facts.mpi},
                                {"libtorch", facts.libtorch},
                                {"nccl", facts.nccl},
                                {"processor", facts.processor},
                                {"driver", facts.driver},
                                {"interface", facts.interface},
                                {"gpus", facts.gpus},
                                {"cores", facts.cores},
                                {"memory_gib", facts.memory_gib},
                                {"shared_memory_gib", facts.shared_memory_gib}}
      .dump();
}

std::optional<HostFacts> parse_facts(std::string_view line) {
  try {
    const auto facts = nlohmann::json::parse(line);
    return HostFacts{.build = facts.at("build"),
                     .mpi = facts.at("mpi"),
                     .libtorch = facts.at("libtorch"),
                     .nccl = facts.at("nccl"),
                     .processor = facts.at("processor"),
                     .driver = facts.at("driver"),
                     .interface = facts.at("interface"),
                     .gpus = facts.at("gpus"),
                     .cores = facts.at("cores"),
                     .memory_gib = facts.at("memory_gib"),
                     .shared_memory_gib = facts.at("shared_memory_gib")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

int tell_host_facts(const HostFacts& facts) {
  std::cout << kFactsWord << facts_line(facts) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    std::cout << kClockWord << now.count() << std::endl;
  }
  return 0;
}

}  // namespace gangway::launch
