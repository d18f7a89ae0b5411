// SPDX-License-Identifier: MIT
#include "base/system/trusted_code.hpp"

#include <array>
#include <cerrno>
#include <deque>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/errors.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the kernel's limit, path_resolution(7)

/// Whether `group` is the caller's private group: named like the user, without other members. Many
/// systems give one to each user, with a umask of 002.
bool is_own_group(gid_t group) {
  std::array<char, 16'384> user_text{};
  std::array<char, 16'384> group_text{};
  passwd user{};
  passwd* found_user = nullptr;
  struct group entry {};
  struct group* found_group = nullptr;
  if (::getpwuid_r(::geteuid(), &user, user_text.data(), user_text.size(), &found_user) != 0 ||
      ::getgrgid_r(group, &entry, group_text.data(), group_text.size(), &found_group) != 0 ||
      found_user == nullptr || found_group == nullptr || user.pw_gid != group ||
      std::string_view(user.pw_name) != entry.gr_name) {
    return false;
  }
  char** member = entry.gr_mem;
  while (*member != nullptr && std::string_view(*member) == user.pw_name) {
    ++member;
  }
  return *member == nullptr;
}

std::string complaint_about(const fs::path& place, const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fmt::format("{} belongs to user {}", place.string(), status.st_uid);
  }
  if (S_ISLNK(status.st_mode)) {  // a link's mode has no meaning: the folder's owner may replace it
    return {};
  }
  // In a sticky folder others can make files, but cannot replace the next part of the path. The
  // loop checks that part's owner, too.
  const bool is_shared_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  const bool is_for_all = (status.st_mode & S_IWOTH) != 0;
  const bool is_for_group = (status.st_mode & S_IWGRP) != 0 && !is_own_group(status.st_gid);
  if (is_shared_folder || (!is_for_all && !is_for_group)) {
    return {};
  }
  return fmt::format("{} can be written to by {} (mode {:04o})", place.string(),
                     is_for_all ? "everybody" : "its group", status.st_mode & 07777U);
}

}  // namespace

std::string why_not_trusted(const fs::path& path) {
  const fs::path absolute = fs::absolute(path);
  std::deque<fs::path> rest(absolute.begin(), absolute.end());
  fs::path place;
  bool is_shared = false;  // others can make files in `place`
  for (int links = 0; !rest.empty();) {
    const fs::path part = rest.front();
    rest.pop_front();
    if (part == "..") {  // `place` is a real folder: earlier links are resolved
      place = place.parent_path();
      continue;
    }
    const fs::path next = part == "." || part.empty() ? place : place / part;
    struct stat status {};
    if (::lstat(next.c_str(), &status) != 0) {
      // A missing file is fine if only the caller can make files in `place`.
      return errno == ENOENT && !is_shared
                 ? std::string()
                 : fmt::format("{} cannot be looked at ({})", next.string(),
                               std::generic_category().message(errno));
    }
    if (std::string complaint = complaint_about(next, status); !complaint.empty()) {
      return complaint;
    }
    if (!S_ISLNK(status.st_mode)) {
      place = next;
      is_shared = (status.st_mode & S_ISVTX) != 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
      continue;
    }
    std::error_code error;
    const fs::path target = fs::read_symlink(next, error);
    if (error || ++links > kMostLinks) {
      return fmt::format("{} leads nowhere", next.string());
    }
    rest.insert(rest.begin(), target.begin(), target.end());
    if (target.is_absolute()) {
      place.clear();
    }
  }
  return {};
}

void require_trusted(const fs::path& path) {
  if (path.empty() || read_environment().contains(kTrustVariable)) {
    return;
  }
  if (const std::string complaint = why_not_trusted(path); !complaint.empty()) {
    throw ConfigError(fmt::format(
        "{}: {}, and this has or names code that would run as you: chmod go-w or a copy "
        "of your own helps, --trust runs it as it is (SECURITY.md)",
        path.string(), complaint));
  }
}

}  // namespace gangway
