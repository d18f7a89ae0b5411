// SPDX-License-Identifier: MIT
// Checkpoints that earlier releases wrote, unchanged: every later release must load them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/tools/digest.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Digest of sample_state(7) in any format.
constexpr const char* kDigest = "9a66f8375314d37e3f0babf6a6c8ad02";

fs::path sample(int version) {
  return fs::path("tests/checkpoint/samples") / ("format-" + std::to_string(version));
}

class FormatSample : public ::testing::TestWithParam<int> {};

TEST_P(FormatSample, LoadsWithItsValues) {
  EXPECT_EQ(verify_checkpoint(sample(GetParam())).format_version, GetParam());
  EXPECT_EQ(digest(sample(GetParam())), kDigest);
  StoredState state(sample(GetParam()));
  for (const OwnedTensor& tensor : sample_state(7)) {
    const StoredTensor& stored = state.require(tensor.name);
    EXPECT_EQ(stored.type, tensor.type) << tensor.name;
    EXPECT_EQ(stored.shape, tensor.shape) << tensor.name;
    EXPECT_EQ(bytes_of(state, stored), tensor.bytes) << tensor.name;
  }
}

TEST_P(FormatSample, IsReadInChunksLikeAnyOther) {
  StoredState state(sample(GetParam()));
  std::uint64_t bytes = 0;
  const std::vector<StoredChunk> chunks = state.chunks();
  state.read_chunks(chunks, [&](const StoredChunk& chunk, std::span<const std::byte> /*bytes*/) {
    for (const ChunkPart& part : chunk.parts) {
      bytes += part.bytes;
    }
  });
  std::uint64_t expected = 0;
  for (const OwnedTensor& tensor : sample_state(7)) {
    expected += tensor.bytes.size();
  }
  EXPECT_EQ(bytes, expected);
}

TEST_P(FormatSample, ThatIsDamagedIsRefused) {
  const ScratchFolder folder;
  const fs::path copy = folder.path() / "copy";
  fs::copy(sample(GetParam()), copy, fs::copy_options::recursive);
  const fs::path file = copy / verify_checkpoint(copy).files[0].name;
  std::string content = read_text(file);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_text(file, content);
  EXPECT_THAT(checkpoint_error_of([&] { (void)verify_checkpoint(copy); }),
              ::testing::HasSubstr("damaged"));
  EXPECT_THAT(checkpoint_error_of([&] { (void)digest(copy); }), ::testing::HasSubstr("damaged"));
}

INSTANTIATE_TEST_SUITE_P(Versions, FormatSample, ::testing::Range(1, kFormatVersion + 1));

TEST(FormatSample, OfTheNewestVersionIsWhatIsWrittenToday) {
  // A difference means that the format changed: raise its version and keep this sample.
  const ScratchFolder folder;
  const fs::path written = commit_sample_in_pieces(folder.path(), 7);
  for (const auto& entry : fs::directory_iterator(sample(kFormatVersion))) {
    EXPECT_EQ(read_text(written / entry.path().filename()), read_text(entry.path()))
        << entry.path();
  }
}

}  // namespace
}  // namespace gangway::checkpoint
