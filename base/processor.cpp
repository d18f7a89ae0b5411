// SPDX-License-Identifier: MIT
#include "base/processor.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gangway {
namespace {

struct Level {
  std::string_view name;
  std::vector<std::string_view> flags;  ///< in addition to those of the levels below
};

/// Returns the flags that LibTorch, oneDNN and MKL require before they use kernels of a level.
const std::vector<Level>& levels() {
  static const std::vector<Level> all{
      {"sse4", {"sse4_1", "sse4_2"}},
      {"avx2", {"avx", "avx2", "fma"}},
      {"avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}};
  return all;
}

std::string behind_colon(const std::string& line) {
  const std::size_t first =
      line.find_first_not_of(" \t", std::min(line.size(), line.find(':') + 1));
  const std::size_t last = line.find_last_not_of(" \t");
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

}  // namespace

Processor parse_processor(std::string_view cpuinfo) {
  Processor found;
  std::istringstream lines{std::string(cpuinfo)};
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.starts_with("vendor_id")) {
      found.maker = behind_colon(line);
    } else if (line.starts_with("model name")) {
      found.model = behind_colon(line);
    } else if (line.starts_with("flags") || line.starts_with("Features")) {  // on ARM processors
      std::istringstream words(behind_colon(line));
      found.flags = {std::istream_iterator<std::string>(words), {}};
    }
  }
  return found;
}

Processor this_processor() {
  std::ifstream file("/proc/cpuinfo");
  return parse_processor(std::string{std::istreambuf_iterator<char>(file), {}});
}

std::vector<std::string> lacking_flags(const Processor& processor, std::string_view level) {
  std::vector<std::string> lacking;
  for (const Level& one : levels()) {
    for (const std::string_view flag : one.flags) {
      if (std::ranges::find(processor.flags, flag) == processor.flags.end()) {
        lacking.emplace_back(flag);
      }
    }
    if (one.name == level) {
      break;
    }
  }
  return lacking;
}

std::string best_level(const Processor& processor) {
  std::string best;
  for (const Level& level : levels()) {
    if (lacking_flags(processor, level.name).empty()) {
      best = level.name;
    }
  }
  return best;
}

}  // namespace gangway
