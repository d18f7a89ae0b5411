// SPDX-License-Identifier: MIT
#include "data/images/idx_file.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <zlib.h>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

/// Returns the size limit of a file held in memory: half of this machine's memory.
std::int64_t largest_idx_file() {
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE) / 2;
}
constexpr std::size_t kChunk = std::size_t{1} << 22;
constexpr std::uint8_t kUnsignedByte = 0x08;  // IDX type code

struct CloseGzip {
  void operator()(gzFile file) const noexcept { (void)gzclose_r(file); }
};
using Gzip = std::unique_ptr<std::remove_pointer_t<gzFile>, CloseGzip>;

class IdxReader {
 public:
  explicit IdxReader(const std::filesystem::path& path)
      : path_(path), file_(gzopen(path.c_str(), "rb")) {
    std::error_code ignored;
    if (!file_ || !std::filesystem::is_regular_file(path, ignored)) {
      throw ConfigError(
          fmt::format("{}: cannot be read; check the path and its permissions", path.string()));
    }
    (void)gzbuffer(file_.get(), 1U << 17U);
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw ConfigError(fmt::format("{}: {}; fetch the file again", path_.string(), what));
  }

  /// Returns the bytes read; fewer than requested only at the end of the file.
  std::size_t read(std::span<std::uint8_t> out) {
    const int count = gzread(file_.get(), out.data(), static_cast<unsigned>(out.size()));
    int code = Z_OK;  // a file cut off inside its gzip trailer sets only this
    const std::string reason = gzerror(file_.get(), &code);
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      fail(fmt::format("damaged or truncated ({})", reason));
    }
    return static_cast<std::size_t>(count);
  }

  std::vector<std::int64_t> read_header(int axes) {
    std::vector<std::uint8_t> header(4 + 4 * static_cast<std::size_t>(axes));
    const std::size_t held = read(header);
    const std::array<std::uint8_t, 4> magic{0, 0, kUnsignedByte, static_cast<std::uint8_t>(axes)};
    if (held >= magic.size() && !std::equal(magic.begin(), magic.end(), header.begin())) {
      fail(
          fmt::format("wrong magic {:02x}{:02x}{:02x}{:02x}, expected 000008{:02x} (IDX of "
                      "unsigned bytes, {} axes)",
                      header[0], header[1], header[2], header[3], axes, axes));
    }
    if (held < header.size()) {
      fail(fmt::format("truncated: {} bytes do not hold an IDX header of {}", held, header.size()));
    }
    std::vector<std::int64_t> sizes;
    for (std::size_t at = 4; at < header.size(); at += 4) {
      sizes.push_back((static_cast<std::int64_t>(header[at]) << 24) |
                      (static_cast<std::int64_t>(header[at + 1]) << 16) |
                      (static_cast<std::int64_t>(header[at + 2]) << 8) |
                      static_cast<std::int64_t>(header[at + 3]));
    }
    return sizes;
  }

 private:
  std::filesystem::path path_;
  Gzip file_;
};

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, int axes) {
  IdxReader reader(path);
  IdxArray result{.sizes = reader.read_header(axes), .values = {}};
  std::int64_t total = 1;
  for (const std::int64_t size : result.sizes) {
    if (size < 1 || size > largest_idx_file() / total) {
      reader.fail(
          fmt::format("its header announces the impossible sizes {}, or more than half of "
                      "this machine's memory has",
                      fmt::join(result.sizes, " x ")));
    }
    total *= size;
  }
  const auto wanted = static_cast<std::size_t>(total);
  while (result.values.size() < wanted) {
    const std::size_t held = result.values.size();
    result.values.resize(held + std::min(kChunk, wanted - held));
    const std::size_t count = reader.read(std::span(result.values).subspan(held));
    if (held + count < result.values.size()) {
      reader.fail(fmt::format("truncated: {} of the {} bytes that its header announces",
                              held + count, wanted));
    }
  }
  std::array<std::uint8_t, 1> beyond{};
  if (reader.read(beyond) != 0) {  // also makes zlib check the gzip trailer
    reader.fail(fmt::format("holds more than the {} bytes that its header announces", wanted));
  }
  return result;
}

}  // namespace gangway::data
