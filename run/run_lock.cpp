// SPDX-License-Identifier: MIT
// Implements RunLock by flock(2) on a file that names its holder.
#include "run/run_lock.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/system/poll_until.hpp"
#include "base/text/utf8.hpp"
#include "base/this_host.hpp"
#include "run/run_files.hpp"

namespace gangway {
namespace {

/// Returns the holder's text, `pid 123 on HOST`. The file is empty until a new holder has written.
std::string holder_of(int file) {
  constexpr std::chrono::milliseconds kPatience{200};
  constexpr std::chrono::milliseconds kMoment{10};
  std::string holder;
  const bool is_named = poll_until(kPatience, kMoment, [&] {
    std::array<char, 256> text{};
    const ssize_t size = ::pread(file, text.data(), text.size(), 0);
    holder.assign(text.data(), static_cast<std::size_t>(size > 0 ? size : 0));
    holder.erase(std::min(holder.find('\n'), holder.size()));
    return !holder.empty();
  });
  return is_named ? shown(holder) : "a process that has not named itself yet";
}

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw EnvironmentError(
      fmt::format("{}: cannot be locked: {}; choose an --outdir that you may write to",
                  path.string(), std::generic_category().message(errno)));
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& run_directory) {
  const std::filesystem::path path = run_directory / kLockFile;
  file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_) {
    fail(path);
  }
  (void)::fchmod(file_.get(), 0600);  // older versions made it 0644, which any user can lock
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      fail(path);
    }
    throw EnvironmentError(
        fmt::format("{}: in use by {}; wait for that job to end, or give this one another --run",
                    run_directory.string(), holder_of(file_.get())));
  }
  const std::string holder = fmt::format("pid {} on {}\n", ::getpid(), host_name());
  // Overwrite, then cut: the file is never empty between two holders' names.
  const auto size = static_cast<off_t>(holder.size());
  if (::pwrite(file_.get(), holder.data(), holder.size(), 0) != size ||
      ::ftruncate(file_.get(), size) != 0) {
    fail(path);
  }
}

}  // namespace gangway
