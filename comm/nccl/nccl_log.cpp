// SPDX-License-Identifier: MIT
#include "comm/nccl/nccl_log.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gangway::comm {

NcclLog::NcclLog() : file_(::memfd_create("NCCL's log", MFD_CLOEXEC)) {}

std::string NcclLog::path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

std::string NcclLog::network() const {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  std::string log(kMostBytes, '\0');
  const ssize_t bytes = ::pread(file_.get(), log.data(), log.size(), 0);
  log.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return network_in(log);
}

std::string network_in(std::string_view log) {
  const auto line_behind = [&](const std::string& words) {
    const std::size_t found = log.rfind(words);
    const std::size_t begin = found == std::string_view::npos ? log.size() : found + words.size();
    return std::string(log.substr(begin, log.find('\n', begin) - begin));
  };
  const std::string name = line_behind("NCCL INFO Using network ");
  const std::string devices =
      name.empty() ? "" : line_behind(fmt::format("NCCL INFO NET/{} : Using ", name));
  return devices.empty() ? name : fmt::format("{}, {}", name, devices);
}

}  // namespace gangway::comm
