// SPDX-License-Identifier: MIT
// Every kind of damage to a committed checkpoint must be found, and none may crash the reader.
#include <random>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/verify.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr int kRandomFlips = 4000;

/// A committed checkpoint with files of some pages.
class Damage : public ::testing::Test {
 protected:
  Damage() {
    Manifest manifest = sample_manifest(3);
    std::vector<OwnedTensor> state = sample_state(3);
    state.push_back(make_tensor("large", ElementType::kF32, {7000}, 1));
    state.push_back(make_tensor("large.too", ElementType::kF32, {7001}, 2));
    const fs::path temporary = write_parts(
        folder.path(), state, 2, [](std::size_t i) { return static_cast<int>(i % 2); }, manifest);
    checkpoint = commit_checkpoint(temporary, manifest);
  }

  bool verifies() const {
    return checkpoint_error_of([this] { (void)verify_checkpoint(checkpoint); }).empty();
  }

  /// Inverts one bit in place; a second call restores it.
  static void flip(const fs::path& path, std::uint64_t bit) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    unsigned char byte = 0;
    const auto offset = static_cast<off_t>(bit / 8);
    ASSERT_EQ(::pread(fd, &byte, 1, offset), 1);
    byte = static_cast<unsigned char>(byte ^ (1U << (bit % 8)));
    ASSERT_EQ(::pwrite(fd, &byte, 1, offset), 1);
    ASSERT_EQ(::close(fd), 0);
  }

  void expect_flip_is_found(const fs::path& path, std::uint64_t bit) const {
    flip(path, bit);
    EXPECT_FALSE(verifies()) << path << " bit " << bit;
    flip(path, bit);
  }

  ScratchFolder folder{"/dev/shm"};  // in memory, because it gets thousands of writes
  fs::path checkpoint;
};

TEST_F(Damage, RandomBitFlipsAreAllFound) {
  std::mt19937_64 random(20261121);
  const std::vector<fs::path> files = {checkpoint / worker_file_name(0, 2),
                                       checkpoint / worker_file_name(1, 2),
                                       checkpoint / kManifestName};
  for (int i = 0; i < kRandomFlips; ++i) {
    const fs::path& path = files[random() % files.size()];
    expect_flip_is_found(path, random() % (fs::file_size(path) * 8));
  }
  EXPECT_TRUE(verifies());
}

TEST_F(Damage, EveryBitOfTheManifestCounts) {
  const fs::path path = checkpoint / kManifestName;
  const std::string sound = read_text(path);
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string text = sound;
    text[bit / 8] =
        static_cast<char>(static_cast<unsigned char>(text[bit / 8]) ^ (1U << (bit % 8)));
    EXPECT_THROW((void)parse_manifest(text, "M"), CheckpointError) << "bit " << bit;
  }
}

TEST_F(Damage, TruncationIsFoundAtEveryByteOfTheHeaderAndEveryPage) {
  const fs::path path = checkpoint / worker_file_name(0, 2);
  const std::uint64_t size = fs::file_size(path);
  std::vector<std::uint64_t> lengths = {size - 1};
  for (std::uint64_t length = (size - 1) / 4096 * 4096; length > 4096; length -= 4096) {
    lengths.push_back(length);
  }
  for (std::uint64_t length = 4097; length-- > 0;) {
    lengths.push_back(length);
  }
  for (const std::uint64_t length : lengths) {
    fs::resize_file(path, length);
    EXPECT_THROW(SafetensorsFile{path}, CheckpointError) << length;
    EXPECT_FALSE(verifies()) << length;
  }
}

TEST_F(Damage, TruncationOfTheManifestIsFoundAtEveryByte) {
  const std::string sound = read_text(checkpoint / kManifestName);
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_THROW((void)parse_manifest(std::string_view(sound).substr(0, length), "M"),
                 CheckpointError)
        << length;
  }
}

TEST_F(Damage, AppendedBytesAreFound) {
  for (const fs::path& path : {checkpoint / worker_file_name(0, 2), checkpoint / kManifestName}) {
    const std::string sound = read_text(path);
    write_text(path, sound + " ");
    EXPECT_FALSE(verifies()) << path;
    write_text(path, sound);
  }
  EXPECT_TRUE(verifies());
}

TEST_F(Damage, ZeroedPagesAreFound) {
  // Some file systems leave this after a power cut: right sizes, no content.
  const fs::path path = checkpoint / worker_file_name(1, 2);
  const std::string sound = read_text(path);
  for (std::size_t page = 0; page * 4096 < sound.size(); ++page) {
    std::string content = sound;
    const std::size_t length = std::min<std::size_t>(4096, sound.size() - page * 4096);
    content.replace(page * 4096, length, length, '\0');
    write_text(path, content);
    EXPECT_FALSE(verifies()) << "page " << page;
  }
}

TEST_F(Damage, FuzzedHeadersNeverCrashTheReader) {
  std::mt19937_64 random(7);
  const std::string sound = read_text(checkpoint / worker_file_name(0, 2));
  const fs::path path = folder.path() / "fuzzed";
  const std::string alphabet = "{}[]\",:0123456789-eEuU8F32\\ \xff";
  for (int i = 0; i < 2000; ++i) {
    std::string content = sound.substr(0, 6000);
    for (std::uint64_t change = random() % 6 + 1; change > 0; --change) {
      content[random() % 700] = alphabet[random() % alphabet.size()];
    }
    write_text(path, content);
    EXPECT_THROW(SafetensorsFile{path}, CheckpointError);
  }
}

}  // namespace
}  // namespace gangway::checkpoint
