// SPDX-License-Identifier: MIT
#include "launch/foreign_segments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/units.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 3;

struct KnownName {
  std::string_view prefix;
  std::string_view library;
};

/// As the libraries' sources name them.
constexpr std::array kKnownNames{
    KnownName{"vader_segment.", "Open MPI"},  // 4.x, btl/vader
    KnownName{"sm_segment.", "Open MPI"},     // 5.x, btl/sm
    KnownName{"osc_rdma.", "Open MPI"},
    KnownName{"mpich_shm_", "MPICH"},
    KnownName{"Intel_MPI_", "Intel MPI"},
    KnownName{"ucx_shm_posix_", "UCX"},
    KnownName{"psm2_shm.", "PSM2 (Omni-Path)"},
    KnownName{"psm3_shm.", "PSM3"},
    KnownName{"psm_", "Python's shared_memory"},
    KnownName{"pymp-", "Python's multiprocessing"},
    KnownName{"nccl-", "NCCL"},
    KnownName{"torch_", "PyTorch"},  // data loaders
    KnownName{"cuda.shm.", "CUDA"},
    KnownName{"sem.", "POSIX semaphores"},
};

std::string_view library_of(std::string_view name) {
  const auto known = std::ranges::find_if(
      kKnownNames, [&](const KnownName& entry) { return name.starts_with(entry.prefix); });
  return known == kKnownNames.end() ? std::string_view() : known->library;
}

/// What a mapping is known by, whatever the path under which its process sees the file.
using FileIdentity = std::pair<dev_t, std::uint64_t>;  // device, inode

/// Of a line of /proc/PID/maps: "7f…-7f… rw-s 00000000 00:1b 42      /dev/shm/name".
FileIdentity mapping_of(const std::string& line) {
  std::size_t begin = 0;
  std::array<std::string, 5> fields;
  for (std::string& field : fields) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    field = line.substr(begin, end - begin);
    begin = std::min(line.find_first_not_of(' ', end), line.size());
  }
  const std::string& device = fields[3];
  const std::size_t colon = std::min(device.find(':'), device.size());
  unsigned major = 0;
  unsigned minor = 0;
  std::uint64_t inode = 0;
  constexpr int kHexadecimal = 16;
  std::from_chars(device.data(), device.data() + colon, major, kHexadecimal);
  if (colon < device.size()) {
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), minor, kHexadecimal);
  }
  std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), inode);
  return {makedev(major, minor), inode};
}

/// Files that a living process has mapped, as far as this user may look.
std::set<FileIdentity> mapped_files(const fs::path& processes) {
  std::set<FileIdentity> mapped;
  std::error_code failure;
  for (auto entry = fs::directory_iterator(processes, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    std::ifstream maps(entry->path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      mapped.insert(mapping_of(line));
    }
  }
  return mapped;
}

std::string amount(const std::vector<const ForeignSegment*>& segments) {
  double bytes = 0.0;
  for (const ForeignSegment* segment : segments) {
    bytes += static_cast<double>(segment->bytes);
  }
  return fmt::format("{:.1f} MiB", bytes / kMebibyte);
}

/// The first few names, for a command line of the shell.
std::string names(const std::vector<const ForeignSegment*>& segments) {
  std::string text;
  for (std::size_t i = 0; i < std::min(segments.size(), kMostNamed); ++i) {
    text += " " + segments[i]->file.string();
  }
  const bool is_all = segments.size() <= kMostNamed;
  return is_all ? text : fmt::format("{} and {} more", text, segments.size() - kMostNamed);
}

std::string users_of(const std::vector<const ForeignSegment*>& segments) {
  std::set<std::string> users;
  for (const ForeignSegment* segment : segments) {
    users.insert(user_name(segment->user));
  }
  return fmt::format("{}", fmt::join(users, ", "));
}

std::vector<const ForeignSegment*> with_use(const std::vector<ForeignSegment>& segments,
                                            SegmentUse use) {
  std::vector<const ForeignSegment*> found;
  for (const ForeignSegment& segment : segments) {
    if (segment.use == use) {
      found.push_back(&segment);
    }
  }
  return found;
}

}  // namespace

std::string user_name(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("user {}", user);
}

std::vector<ForeignSegment> find_foreign_segments(const fs::path& folder,
                                                  const fs::path& processes) {
  std::vector<ForeignSegment> segments;
  const std::set<FileIdentity> mapped = mapped_files(processes);
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string_view library = library_of(entry->path().filename().string());
    struct stat status {};
    if (library.empty() || ::lstat(entry->path().c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    constexpr std::size_t kBlock = 512;  // stat(2)
    const bool sees_all = ::geteuid() == 0 || status.st_uid == ::geteuid();
    segments.push_back({.file = entry->path(),
                        .library = std::string(library),
                        .user = status.st_uid,
                        .bytes = static_cast<std::size_t>(status.st_blocks) * kBlock,
                        .use = mapped.contains({status.st_dev, status.st_ino}) ? SegmentUse::kMapped
                               : sees_all ? SegmentUse::kUnmapped
                                          : SegmentUse::kUnknown});
  }
  std::ranges::sort(segments, {}, &ForeignSegment::file);
  return segments;
}

std::string describe_segments(const std::vector<ForeignSegment>& segments) {
  std::vector<std::string> parts;
  if (const auto used = with_use(segments, SegmentUse::kMapped); !used.empty()) {
    parts.push_back(fmt::format("{} of {} in use ({})", used.size(), users_of(used), amount(used)));
  }
  if (const auto left = with_use(segments, SegmentUse::kUnmapped); !left.empty()) {
    parts.push_back(fmt::format("{} of {} that no process here has mapped ({}); to remove: rm --{}",
                                left.size(), users_of(left), amount(left), names(left)));
  }
  if (const auto others = with_use(segments, SegmentUse::kUnknown); !others.empty()) {
    parts.push_back(fmt::format("{} of {} ({})", others.size(), users_of(others), amount(others)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace gangway::launch
