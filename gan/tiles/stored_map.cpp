// SPDX-License-Identifier: MIT
#include "gan/tiles/stored_map.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::gan {
namespace {

[[noreturn]] void fail(const std::filesystem::path& folder, const char* done) {
  throw EnvironmentError(fmt::format(
      "{}: a scratch file there cannot be {}: {}; free some space, or give more --memory",
      folder.string(), done, std::generic_category().message(errno)));
}

at::Tensor empty_maps(at::IntArrayRef shape, at::Device device) {
  return at::empty(shape, at::TensorOptions(at::kFloat).device(device),
                   at::MemoryFormat::ChannelsLast);
}

}  // namespace

StoredMap::StoredMap(const MapSize& size, std::int64_t channels, at::Device device,
                     const std::filesystem::path& folder)
    : size_(size), channels_(channels), device_(device), folder_(folder) {
  if (folder.empty()) {
    memory_ = empty_maps({size.count, channels, size.height, size.width}, device);
    return;
  }
  file_.reset(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  std::string name = (folder / ".gangway-XXXXXX").string();
  if (!file_) {  // NFS, for example, has no such files
    file_.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (!file_ || ::unlink(name.c_str()) != 0) {
      fail(folder, "made");
    }
  }
}

template <typename Move>
void StoredMap::move_rows(Move move, const at::Tensor& rows, std::int64_t begin,
                          const char* done) const {
  const std::int64_t row_bytes = size_.width * channels_ * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t example = 0; example < size_.count; ++example) {
    auto* bytes = static_cast<char*>(rows.data_ptr()) + example * rows.size(2) * row_bytes;
    std::int64_t place = (example * size_.height + begin) * row_bytes;
    for (std::int64_t left = rows.size(2) * row_bytes; left > 0;) {
      const ssize_t moved = move(file_.get(), bytes, static_cast<std::size_t>(left), place);
      if (moved == 0 || (moved < 0 && errno != EINTR)) {
        fail(folder_, done);
      }
      const ssize_t count = std::max<ssize_t>(moved, 0);
      bytes += count;
      place += count;
      left -= count;
    }
  }
}

void StoredMap::put(const at::Tensor& strip, std::int64_t begin) {
  if (file_) {
    move_rows(::pwrite, strip.cpu().contiguous(at::MemoryFormat::ChannelsLast), begin, "written");
  } else {
    memory_.narrow(2, begin, strip.size(2)).copy_(strip);
  }
}

at::Tensor StoredMap::get(Rows rows) const {
  if (!file_) {
    return memory_.narrow(2, rows.begin, rows.count());
  }
  const at::Tensor strip =
      empty_maps({size_.count, channels_, rows.count(), size_.width}, at::kCPU);
  move_rows(::pread, strip, rows.begin, "read");
  return strip.to(device_);
}

}  // namespace gangway::gan
