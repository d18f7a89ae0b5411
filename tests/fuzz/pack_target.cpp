// SPDX-License-Identifier: MIT
// Reads a pack: pack.json up to the first zero byte, then index.bin. Corrects the index's hash
// first, because nearly no input would pass it. There is one shard of 12 bytes.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "data/contents/file_contents.hpp"
#include "data/kept/pack_files.hpp"
#include "tests/fuzz/target.hpp"

namespace {

namespace data = gangway::data;
namespace fs = std::filesystem;

/// A folder in memory with the shard, removed with the process. Its name differs from jobs' names,
/// so that tests for leftovers ignore a killed target's folder.
class PackFolder {
 public:
  PackFolder() : path_(fmt::format("/dev/shm/fuzz-pack-{}", ::getpid())) {
    fs::create_directories(path_);
    write("s", std::string(12, 'x'));
  }
  ~PackFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PackFolder(const PackFolder&) = delete;
  PackFolder& operator=(const PackFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  fs::path path_;
};

std::string put_right(std::string manifest, std::string_view index) {
  constexpr std::string_view kMember = "\"index_xxh3\": \"";
  const std::size_t found = manifest.find(kMember);
  const std::size_t place = found + kMember.size();
  if (found == std::string::npos || place + 16 > manifest.size()) {
    return manifest;
  }
  const auto hash =
      data::hash_of({reinterpret_cast<const std::uint8_t*>(index.data()), index.size()});
  return manifest.replace(place, 16, fmt::format("{:016x}", hash));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const PackFolder folder;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view index = input.substr(std::min(end + 1, input.size()));
  folder.write(data::kPackIndex, index);
  folder.write(data::kPackManifest, put_right(std::string(input.substr(0, end)), index));
  const gangway::fuzz::TimeLimit limit;
  try {
    const data::Pack pack = data::read_pack(folder.path());
    std::size_t shards = 0;
    for (const data::PackShard& shard : pack.shards) {
      shards += shard.bytes;
    }
    if (shards != pack.entries.size() * pack.picture_bytes()) {
      gangway::fuzz::fail("a pack was accepted whose shards do not hold its pictures");
    }
  } catch (const gangway::ConfigError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
