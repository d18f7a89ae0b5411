// SPDX-License-Identifier: MIT
#include "coordinator/http/run_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "report/log_file.hpp"
#include "run/run_files.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNameBytes = 100;
constexpr std::array<std::string_view, 2> kPictureEnds{".png", ".wav"};

/// Returns the last `most` bytes of a regular file. Does not open a link or a pipe.
std::optional<std::string> end_of_file(const fs::path& path, std::size_t most) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text(std::min(size, most), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::pread(file.get(), text.data() + done, text.size() - done,
                                static_cast<off_t>(size - text.size() + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return std::nullopt;
    }
    done += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace

bool is_picture_name(std::string_view name) {
  const auto is_plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '.' || letter == '_' || letter == '-';
  };
  const auto is_end = [name](std::string_view end) { return name.ends_with(end); };
  return name.size() <= kMaxNameBytes && std::ranges::any_of(kPictureEnds, is_end) &&
         name.front() != '.' && std::ranges::all_of(name, is_plain);
}

RunReader::RunReader(fs::path run_directory)
    : run_directory_(std::move(run_directory)), view_(run_directory_) {}

std::string RunReader::open_document() {
  std::string text =
      view_.document().dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.pop_back();
  return text;
}

std::optional<std::string> RunReader::picture(const std::string& name) const {
  if (!is_picture_name(name)) {
    return std::nullopt;
  }
  auto bytes = end_of_file(run_directory_ / name, kMaxPictureBytes + 1);
  return bytes && bytes->size() <= kMaxPictureBytes ? std::move(bytes) : std::nullopt;
}

std::optional<std::string> RunReader::log_end(Rank rank) const {
  auto text = end_of_file(run_directory_ / kLogsFolder / report::log_file_name(rank), kMaxLogBytes);
  if (text && text->size() == kMaxLogBytes) {
    text->erase(0, text->find('\n') + 1);
  }
  return text;
}

}  // namespace gangway::coordinator
