// SPDX-License-Identifier: MIT
// Writes and reads tensors whose pieces are spread over the workers' files.
#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/tools/digest.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A state larger than a file of one chunk, with tensors whose pieces cross chunks.
std::vector<OwnedTensor> large_state() {
  std::vector<OwnedTensor> state = sample_state(3);
  state.push_back(make_tensor("large", ElementType::kF32, {1'300'000}, 1));
  state.push_back(make_tensor("large.images", ElementType::kF32, {64, 33, 25, 25}, 2));
  state.push_back(make_tensor("odd", ElementType::kU8, {1'000'003}, 3));
  return state;
}

std::map<std::string, const OwnedTensor*> by_name(const std::vector<OwnedTensor>& state) {
  std::map<std::string, const OwnedTensor*> names;
  for (const OwnedTensor& tensor : state) {
    names.emplace(tensor.name, &tensor);
  }
  return names;
}

TEST(Crc32c, IsThatOfTheStandard) {
  const std::string_view digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits));
  EXPECT_EQ(crc32c(bytes), 0xe3069283U);
  EXPECT_EQ(crc32c(bytes.subspan(4), crc32c(bytes.first(4))), 0xe3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Pieces, HaveTheDigestOfTheWholeState) {
  const ScratchFolder folder;
  const std::string whole = digest(commit_sample(folder.path() / "whole", 5));
  for (const int workers : {1, 2, 3, 5}) {
    const fs::path path =
        commit_sample_in_pieces(folder.path() / std::to_string(workers), 5, workers);
    EXPECT_EQ(digest(path), whole) << workers;
    EXPECT_EQ(verify_checkpoint(path).tensor_count, 8) << workers;
  }
}

TEST(Pieces, OfLargeTensorsHaveTheDigestOfTheWholeState) {
  const ScratchFolder folder;
  const std::vector<OwnedTensor> state = large_state();
  Manifest manifest = sample_manifest(3);
  const fs::path temporary = write_parts(
      folder.path() / "whole", state, 2, [](std::size_t i) { return static_cast<int>(i % 2); },
      manifest);
  const fs::path in_pieces =
      commit_in_pieces(folder.path() / "pieces", state, sample_manifest(3), 2);
  EXPECT_EQ(digest(in_pieces), digest(commit_checkpoint(temporary, manifest)));
  EXPECT_EQ(verify_checkpoint(in_pieces).files.size(), 2U);
}

TEST(Pieces, HaveNamesThatAnybodyCanRead) {
  const ScratchFolder folder;
  const OwnedTensor images = make_tensor("images", ElementType::kF32, {2, 3, 2, 2}, 1);
  const OwnedTensor bias = make_tensor("bias", ElementType::kF32, {4}, 2);
  const fs::path path = commit_in_pieces(folder.path(), {images, bias}, sample_manifest(1), 2);
  const SafetensorsFile first(path / worker_file_name(0, 2));
  const SafetensorsFile second(path / worker_file_name(1, 2));
  EXPECT_NE(first.find("images@0"), nullptr);
  EXPECT_THAT(second.find("images@6")->shape, ElementsAre(18));
  EXPECT_THAT(first.find("bias@0")->shape, ElementsAre(1));
  EXPECT_EQ(metadata_in(path / worker_file_name(0, 2)).at("gangway.worker"), "0");
  const fs::path alone = commit_in_pieces(folder.path() / "alone", {bias}, sample_manifest(1), 1);
  EXPECT_NE(SafetensorsFile(alone / worker_file_name(0, 1)).find("bias"), nullptr);
}

TEST(Pieces, AreReadAsRangesOfElements) {
  const ScratchFolder folder;
  const std::vector<OwnedTensor> state = large_state();
  StoredState stored(commit_in_pieces(folder.path(), state, sample_manifest(3), 3));
  std::mt19937 random(1);
  for (const auto& [name, tensor] : by_name(state)) {
    const StoredTensor& found = stored.require(name);
    const std::vector<std::byte> expected =
        found.order == StoredOrder::kChannelsLast ? channels_last(*tensor) : tensor->bytes;
    const std::size_t item = item_size(tensor->type);
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t end = random() % (found.num_elements() + 1);
      const std::uint64_t begin = end == 0 ? 0 : random() % end;
      std::vector<std::byte> out((end - begin) * item);
      stored.read_elements(found, begin, end, out);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), expected.begin() + begin * item)) << name;
    }
    std::vector<std::byte> whole(tensor->bytes.size());
    stored.read_row_major(found, whole);
    EXPECT_EQ(whole, tensor->bytes) << name;
  }
  EXPECT_EQ(stored.find("none"), nullptr);
  EXPECT_THAT(checkpoint_error_of([&] { (void)stored.require("none"); }),
              HasSubstr("tensor 'none' is missing"));
}

TEST(Pieces, AreDividedAmongReadersByChunks) {
  const ScratchFolder folder;
  const std::vector<OwnedTensor> state = large_state();
  const fs::path path = commit_in_pieces(folder.path(), state, sample_manifest(3), 2);
  std::map<std::string, std::vector<std::byte>> assembled;
  std::uint64_t bytes_read = 0;
  constexpr std::size_t kReaders = 3;
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    StoredState stored(path);
    std::vector<StoredChunk> share;
    for (const StoredChunk& chunk : stored.chunks()) {
      if ((static_cast<std::size_t>(chunk.file) + chunk.index) % kReaders == reader) {
        share.push_back(chunk);
      }
    }
    stored.read_chunks(share, [&](const StoredChunk& chunk, std::span<const std::byte> bytes) {
      bytes_read += bytes.size();
      for (const ChunkPart& part : chunk.parts) {
        const StoredTensor& tensor = stored.tensors()[part.tensor];
        std::vector<std::byte>& whole = assembled[tensor.name];
        whole.resize(tensor.num_bytes());
        place_row_major(tensor, part.begin, bytes.subspan(part.offset, part.bytes), whole);
      }
    });
  }
  std::uint64_t bytes_stored = 0;
  const StoredState stored(path);
  for (const ManifestFile& file : stored.manifest().files) {
    bytes_stored += file.bytes;
  }
  EXPECT_EQ(bytes_read, bytes_stored);
  for (const auto& [name, tensor] : by_name(state)) {
    EXPECT_EQ(assembled[name], tensor->bytes) << name;
  }
}

TEST(Pieces, ThatAreDamagedAreNamedWithFileTensorAndChunk) {
  const ScratchFolder folder;
  const fs::path path = commit_in_pieces(folder.path(), large_state(), sample_manifest(3), 2);
  const fs::path file = path / worker_file_name(1, 2);
  std::string content = read_text(file);
  content[kChunkBytes + 77] = static_cast<char>(content[kChunkBytes + 77] ^ 4);
  write_text(file, content);
  StoredState stored(path);
  const std::string place = "worker-0001-of-0002.safetensors: chunk 1 (bytes 4194304 to 8388608, ";
  const StoredTensor& images = stored.require("large.images");
  std::vector<std::byte> out(images.num_bytes());
  EXPECT_THAT(checkpoint_error_of([&] { stored.read_row_major(images, out); }),
              AllOf(HasSubstr(place), HasSubstr("'large.images'"), HasSubstr("CRC32C is ")));
  const std::vector<StoredChunk> chunks = stored.chunks();
  EXPECT_THAT(checkpoint_error_of([&] {
                stored.read_chunks(chunks, [](const StoredChunk&, std::span<const std::byte>) {});
              }),
              HasSubstr(place));
  // Tensors outside of the damaged chunk can still be read.
  std::vector<std::byte> bias(64);
  stored.read_row_major(stored.require("generator.0.bias"), bias);
}

TEST(Pieces, EndTheReadingWhenTheSinkThrows) {
  const ScratchFolder folder;
  StoredState stored(commit_in_pieces(folder.path(), large_state(), sample_manifest(3), 2));
  const std::vector<StoredChunk> chunks = stored.chunks();
  ASSERT_GT(chunks.size(), 3U);
  EXPECT_THROW(stored.read_chunks(chunks,
                                  [](const StoredChunk&, std::span<const std::byte>) {
                                    throw InvariantError("enough");
                                  }),
               InvariantError);
}

TEST(Pieces, KeepTheHashThatTheCallerHas) {
  const ScratchFolder folder;
  const OwnedTensor tensor = make_tensor("t", ElementType::kF32, {8}, 1);
  const fs::path temporary = begin_checkpoint(folder.path(), 1);
  Manifest manifest = sample_manifest(1);
  const std::vector<PieceRecord> pieces = {
      {.of = {.name = "t", .type = tensor.type, .shape = tensor.shape, .end = 8},
       .bytes = tensor.bytes,
       .xxh3_128 = hash_of("of what was copied")}};
  const FileReport report = write_worker_pieces(
      temporary, {.step = 1, .epoch = 1, .worker = 0, .num_workers = 1}, pieces);
  manifest.files = {
      {.name = report.name, .worker = 0, .bytes = report.bytes, .xxh3_128 = report.xxh3_128}};
  const fs::path path = commit_checkpoint(temporary, manifest);
  // The bytes changed between the copy and the write; verification notices it.
  EXPECT_THAT(checkpoint_error_of([&] { (void)verify_checkpoint(path); }),
              HasSubstr("worker-0000-of-0001.safetensors: tensor 't': elements 0 to 8 hash to"));
}

TEST(Pieces, ThatContradictThemselvesAreNotWritten) {
  const ScratchFolder folder;
  const fs::path temporary = begin_checkpoint(folder.path(), 1);
  const OwnedTensor tensor = make_tensor("t", ElementType::kF32, {8}, 1);
  const PieceRecord sound{.of = {.name = "t", .shape = {8}, .end = 8}, .bytes = tensor.bytes};
  const auto refuses = [&](const std::function<void(PieceRecord&)>& change) {
    std::vector<PieceRecord> pieces = {sound};
    change(pieces[0]);
    EXPECT_THROW((void)write_worker_pieces(
                     temporary, {.step = 1, .epoch = 1, .worker = 0, .num_workers = 1}, pieces),
                 InvariantError);
  };
  refuses([](PieceRecord& piece) { piece.of.end = 7; });
  refuses([](PieceRecord& piece) { piece.of.begin = 9; });
  refuses([](PieceRecord& piece) { piece.of.shape = {7}; });
  refuses([](PieceRecord& piece) { piece.of.shape = {-8}; });
  refuses([](PieceRecord& piece) { piece.of.order = StoredOrder::kChannelsLast; });
  refuses([](PieceRecord& piece) { piece.of.name = "t@0"; });
  refuses([](PieceRecord& piece) { piece.of.name = ""; });
  refuses([](PieceRecord& piece) { piece.xxh3_128 = "abc"; });
  const std::vector<PieceRecord> twice = {sound, sound};
  EXPECT_THROW((void)write_worker_pieces(
                   temporary, {.step = 1, .epoch = 1, .worker = 0, .num_workers = 1}, twice),
               InvariantError);
  EXPECT_FALSE(fs::exists(temporary / worker_file_name(0, 1)));
}

}  // namespace
}  // namespace gangway::checkpoint
