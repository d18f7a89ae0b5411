// SPDX-License-Identifier: MIT
#include "base/message_segments.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text/parse_number.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

/// Device and inode, as /proc/PID/maps writes them.
using FileIdentity = std::string;

struct Segment {
  fs::path path;
  FileIdentity identity;
  std::uintmax_t bytes = 0;
  std::chrono::system_clock::time_point touched;  ///< last change, by the file system's clock
};

std::vector<Segment> own_segments(const fs::path& folder) {
  std::vector<Segment> segments;
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    struct stat status {};
    const std::string name = entry->path().filename().string();
    const bool is_open_mpis = std::ranges::any_of(
        kMessageSegmentPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (!is_open_mpis || ::lstat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != ::geteuid()) {
      continue;
    }
    constexpr std::uintmax_t kBlock = 512;  // stat(2)
    segments.push_back({.path = entry->path(),
                        .identity = fmt::format("{:02x}:{:02x} {}", major(status.st_dev),
                                                minor(status.st_dev), status.st_ino),
                        .bytes = static_cast<std::uintmax_t>(status.st_blocks) * kBlock,
                        .touched = std::chrono::system_clock::from_time_t(
                            std::max(status.st_mtime, status.st_ctime))});
  }
  return segments;
}

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char byte) { return std::isdigit(byte) != 0; });
}

/// Returns the files mapped by all processes whose maps this process may read.
std::set<FileIdentity> mapped_files() {
  std::set<FileIdentity> mapped;
  std::error_code failure;
  for (auto process = fs::directory_iterator("/proc", failure);
       !failure && process != fs::directory_iterator(); process.increment(failure)) {
    if (!is_number(process->path().filename().string())) {
      continue;
    }
    std::ifstream maps(process->path() / "maps");
    std::string range;
    std::string rights;
    std::string offset;
    std::string device;
    std::string inode;
    std::string rest;
    while (maps >> range >> rights >> offset >> device >> inode && std::getline(maps, rest)) {
      if (inode != "0") {
        mapped.insert(device + " " + inode);
      }
    }
  }
  return mapped;
}

ReapedMessageSegments remove(const std::vector<Segment>& segments,
                             const std::function<bool(const Segment&)>& is_left) {
  ReapedMessageSegments reaped;
  for (const Segment& segment : segments) {
    if (is_left(segment) && ::unlink(segment.path.c_str()) == 0) {
      ++reaped.removed;
      reaped.bytes += segment.bytes;
    }
  }
  return reaped;
}

}  // namespace

ReapedMessageSegments reap_message_segments(const fs::path& folder, std::chrono::seconds age) {
  const std::vector<Segment> segments = own_segments(folder);
  if (segments.empty()) {
    return {};
  }
  const std::set<FileIdentity> mapped = mapped_files();
  const auto latest = std::chrono::system_clock::now() - age;
  return remove(segments, [&](const Segment& segment) {
    return segment.touched <= latest && !mapped.contains(segment.identity);
  });
}

std::uint32_t message_job(std::string_view name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string_view::npos) {
    return parse_number<std::uint32_t>(name).value_or(0);
  }
  // Open MPI 5: a hash (Jenkins' one-at-a-time) of the text before '@', folded to 16 bits, then the
  // number after it (opal_pmix_convert_nspace).
  std::uint32_t hash = 0;
  for (const char letter : name.substr(0, at)) {
    hash += static_cast<unsigned char>(letter);
    hash += hash << 10U;
    hash ^= hash >> 6U;
  }
  hash += hash << 3U;
  hash ^= hash >> 11U;
  hash += hash << 15U;
  const auto number = parse_number<std::uint16_t>(name.substr(at + 1));
  return number ? (hash ^ hash >> 16U) << 16U | *number : 0;
}

ReapedMessageSegments remove_message_segments(std::uint32_t job, const fs::path& folder) {
  const std::string middle = fmt::format(".{}.{:x}.", ::geteuid(), job);
  return remove(own_segments(folder), [&](const Segment& segment) {
    return segment.path.filename().string().find(middle) != std::string::npos;
  });
}

}  // namespace gangway
