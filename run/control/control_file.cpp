// SPDX-License-Identifier: MIT
#include "run/control/control_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "run/json_members.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using ControlJson = nlohmann::ordered_json;

constexpr std::size_t kControlLimitBytes = 65'536;
constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kSocketNameBytes = 32;  // "/0123456789abcdef.sock", and spare

bool is_own_folder(const fs::path& folder) {
  struct stat found = {};
  return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & 077U) == 0;
}

bool make_own_folder(const fs::path& folder) {
  (void)::mkdir(folder.c_str(), 0700);
  return is_own_folder(folder);
}

/// Returns the folder to use if another user owns the usual name. It is an earlier one of this
/// user, else a new one with a random name. Empty: none can be made.
fs::path other_folder(const std::string& usual) {
  std::error_code failure;
  for (auto entry = fs::directory_iterator(fs::path(usual).parent_path(), failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (entry->path().string().starts_with(usual + "-") && is_own_folder(entry->path())) {
      return entry->path();
    }
  }
  std::string made = usual + "-XXXXXX";
  return ::mkdtemp(made.data()) == nullptr ? fs::path() : fs::path(made);
}

}  // namespace

void write_private(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".tmp";
  (void)::unlink(temporary.c_str());
  const FileDescriptor file{
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  const auto put = [&] {
    ssize_t size = 0;
    do {  // a library's signal may interrupt the write
      size = ::write(file.get(), text.data(), text.size());
    } while (size < 0 && errno == EINTR);
    return size == static_cast<ssize_t>(text.size());
  };
  if (!file || !put() || ::rename(temporary.c_str(), path.c_str()) != 0) {
    throw EnvironmentError(fmt::format("{}: cannot be written: {}; look at the disk", path.string(),
                                       std::generic_category().message(errno)));
  }
}

std::string ControlPlace::socket() const {
  return address.starts_with(kUnix) ? address.substr(kUnix.size()) : std::string();
}

fs::path control_folder(const std::string& runtime_directory, const fs::path& temporary) {
  if (!runtime_directory.empty()) {
    const fs::path folder = fs::path(runtime_directory) / "gangway";
    if (folder.is_absolute() && folder.string().size() + kSocketNameBytes <= kLongestSocketPath &&
        make_own_folder(folder)) {
      return folder;
    }
  }
  const std::string usual = (temporary / fmt::format("gangway-{}", ::geteuid())).string();
  if (make_own_folder(usual)) {
    return usual;
  }
  const fs::path other = other_folder(usual);
  if (other.empty()) {
    throw EnvironmentError(fmt::format(
        "{}: is not a folder of this user alone (0700): remove it, or set XDG_RUNTIME_DIR", usual));
  }
  return other;
}

void remove_dead_sockets(const fs::path& folder) {
  constexpr std::chrono::minutes kSurelyListens{1};
  std::error_code failure;
  for (auto entry = fs::directory_iterator(folder, failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const std::string path = entry->path().string();
    std::error_code gone;  // another start may remove it at the same time
    const auto age = fs::file_time_type::clock::now() - entry->last_write_time(gone);
    if (gone || age < kSurelyListens || !entry->is_socket(gone) ||
        path.size() > kLongestSocketPath) {
      continue;
    }
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, kLongestSocketPath);
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket &&
        ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 &&
        errno == ECONNREFUSED) {
      (void)::unlink(path.c_str());
    }
  }
}

void write_control(const fs::path& run, const ControlPlace& place, const ControlTokens& tokens) {
  write_private(run / kReadTokenFile, tokens.read + "\n");
  write_private(run / kSteerTokenFile, tokens.steer + "\n");
  ControlJson json{{"protocol", "gangway.control.v1"},
                   {"host", place.host},
                   {"pid", place.pid},
                   {"address", place.address}};
  if (!place.certificate.empty()) {
    json["certificate"] = place.certificate;
  }
  write_private(run / kControlFile,
                json.dump(2, ' ', false, ControlJson::error_handler_t::replace) + "\n");
}

void remove_control(const fs::path& run) noexcept {
  try {
    const auto place = read_control(run);
    if (place && !place->socket().empty() && place->socket().ends_with(".sock")) {
      struct stat found = {};
      if (::lstat(place->socket().c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
        (void)::unlink(place->socket().c_str());
      }
    }
  } catch (const std::exception&) {  // the files are removed even if they cannot be read
  }
  for (const std::string_view name : {kControlFile, kReadTokenFile, kSteerTokenFile}) {
    (void)::unlink((run / name).c_str());
  }
}

std::optional<ControlPlace> read_control(const fs::path& run) {
  const auto text = read_small_file(run / kControlFile, kControlLimitBytes);
  const ControlJson json =
      text ? ControlJson::parse(*text, nullptr, /*allow_exceptions=*/false) : ControlJson();
  ControlPlace place{.host = text_in(json, "host"),
                     .pid = whole_in(json, "pid"),
                     .address = text_in(json, "address"),
                     .certificate = text_in(json, "certificate")};
  return place.address.empty() ? std::nullopt : std::optional(std::move(place));
}

std::optional<std::string> read_own_token(const fs::path& file) {
  const FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened && errno == ENOENT) {
    return std::nullopt;
  }
  struct stat found = {};
  if (!opened || ::fstat(opened.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_uid != ::geteuid() || (found.st_mode & 077U) != 0) {
    throw EnvironmentError(
        fmt::format("{}: is no file that this user alone can read; for another user's run, name "
                    "the token file from its owner with --token-file",
                    file.string()));
  }
  return read_token(fmt::format("/proc/self/fd/{}", opened.get()));
}

std::optional<std::string> read_token(const fs::path& file) {
  auto token = read_small_file(file, kControlLimitBytes);
  while (token && (token->ends_with('\n') || token->ends_with(' '))) {
    token->pop_back();
  }
  return token;
}

}  // namespace gangway
