// SPDX-License-Identifier: MIT
#include "checkpoint/format/safetensors.hpp"

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

using ::testing::HasSubstr;

std::string message_of_environment_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

TEST(Safetensors, GivesBackWhatWasWritten) {
  const ScratchFolder folder;
  const std::vector<OwnedTensor> state = sample_state(7);
  (void)write_safetensors(folder.path() / "a.safetensors", records(state),
                          {{"who", "wörker \"0\"\n"}});

  const SafetensorsFile file(folder.path() / "a.safetensors");
  ASSERT_EQ(file.tensors().size(), state.size());
  for (const OwnedTensor& tensor : state) {
    const TensorRecord* found = file.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(found->bytes, tensor.bytes));
  }
  EXPECT_EQ(metadata_in(folder.path() / "a.safetensors").at("who"), "wörker \"0\"\n");
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST(Safetensors, ReportsNameSizeAndHashOfTheFile) {
  const ScratchFolder folder;
  const FileReport report =
      write_safetensors(folder.path() / "a.safetensors", records(sample_state(1)), {});
  const std::string content = read_text(folder.path() / "a.safetensors");
  EXPECT_EQ(report.name, "a.safetensors");
  EXPECT_EQ(report.bytes, content.size());
  EXPECT_EQ(report.xxh3_128, hash_of(content));
}

TEST(Safetensors, StartsTheDataAtAPageAndAlignsEveryTensorToItsItems) {
  const ScratchFolder folder;
  (void)write_safetensors(folder.path() / "a", records(sample_state(1)), {});
  const std::string content = read_text(folder.path() / "a");
  std::uint64_t length = 0;
  std::memcpy(&length, content.data(), sizeof length);
  EXPECT_EQ((length + 8) % kDataAlignment, 0U);
  const SafetensorsFile file(folder.path() / "a");
  for (const TensorRecord& tensor : file.tensors()) {
    EXPECT_EQ(static_cast<std::size_t>(tensor.bytes.data() - file.contents().data()) %
                  item_size(tensor.type),
              0U)
        << tensor.name;
  }
}

TEST(Safetensors, KeepsAFileWithoutTensors) {
  const ScratchFolder folder;
  (void)write_safetensors(folder.path() / "a", {}, {});
  EXPECT_TRUE(SafetensorsFile(folder.path() / "a").tensors().empty());
}

TEST(Safetensors, KeepsEveryElementType) {
  const ScratchFolder folder;
  std::vector<OwnedTensor> all;
  for (const char* name : {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32",
                           "U16", "U8", "BOOL"}) {
    const std::optional<ElementType> type = parse_type(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(type_name(*type), name);
    all.push_back(make_tensor(name, *type, {3}, 1));
  }
  (void)write_safetensors(folder.path() / "a", records(all), {});
  EXPECT_EQ(SafetensorsFile(folder.path() / "a").tensors().size(), 13U);
}

TEST(Safetensors, NeverOverwritesAFile) {
  const ScratchFolder folder;
  write_text(folder.path() / "a", "precious");
  EXPECT_THAT(
      message_of_environment_error([&] { (void)write_safetensors(folder.path() / "a", {}, {}); }),
      HasSubstr("/a: cannot create: File exists"));
  EXPECT_EQ(read_text(folder.path() / "a"), "precious");
}

TEST(Safetensors, FollowsNoLink) {
  const ScratchFolder folder;
  std::filesystem::create_symlink(folder.path() / "target", folder.path() / "link");
  EXPECT_THROW((void)write_safetensors(folder.path() / "link", {}, {}), EnvironmentError);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "target"));

  (void)write_safetensors(folder.path() / "target", {}, {});
  EXPECT_THAT(checkpoint_error_of([&] { SafetensorsFile file(folder.path() / "link"); }),
              HasSubstr("symbolic link"));
}

TEST(Safetensors, NamesPathAndCauseWhenAFileCannotBeMade) {
  EXPECT_THAT(
      message_of_environment_error([] { (void)write_safetensors("/nowhere/at/all", {}, {}); }),
      HasSubstr("/nowhere/at/all: cannot create: No such file or directory"));
  EXPECT_THAT(checkpoint_error_of([] { SafetensorsFile file("/nowhere/at/all"); }),
              HasSubstr("/nowhere/at/all: cannot be read: No such file or directory"));
}

TEST(Safetensors, FailsOnADeviceThatIsFull) {
  // Not a regular file, so nothing is created or removed: write() itself reports the full disk.
  EXPECT_THROW((void)write_safetensors("/dev/full", {}, {}), EnvironmentError);
}

TEST(Safetensors, SaysHowMuchIsFreeWhenTheFileCannotFit) {
  const ScratchFolder folder;
  const std::uint64_t petabytes = std::uint64_t{1} << 52U;
  // A record may claim more bytes than exist: the free space is checked before they are read.
  const OwnedTensor real = make_tensor("a", ElementType::kU8, {1}, 0);
  const TensorRecord huge{.name = "a",
                          .type = ElementType::kU8,
                          .shape = {static_cast<std::int64_t>(petabytes)},
                          .bytes = {real.bytes.data(), static_cast<std::size_t>(petabytes)}};
  const std::string message = message_of_environment_error(
      [&] { (void)write_safetensors(folder.path() / "a", std::span(&huge, 1), {}); });
  EXPECT_THAT(message, HasSubstr("/a: cannot write 4503599627374592 bytes, "));
  EXPECT_THAT(message, HasSubstr("No space left on device; free some space"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
}

TEST(Safetensors, RefusesToWriteWhatContradictsItself) {
  const ScratchFolder folder;
  const auto attempt = [&](std::vector<OwnedTensor> tensors) {
    EXPECT_THROW((void)write_safetensors(folder.path() / "a", records(tensors), {}),
                 InvariantError);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
  };
  OwnedTensor wrong_size = make_tensor("a", ElementType::kF32, {4}, 0);
  wrong_size.bytes.pop_back();
  attempt({wrong_size});
  OwnedTensor negative = make_tensor("a", ElementType::kF32, {1}, 0);
  negative.shape = {-1};
  attempt({negative});
  OwnedTensor overflowing = make_tensor("a", ElementType::kF32, {1}, 0);
  overflowing.shape = {INT64_MAX, INT64_MAX, 4};
  attempt({overflowing});
  const OwnedTensor plain = make_tensor("a", ElementType::kF32, {1}, 0);
  attempt({plain, plain});
  attempt({make_tensor("", ElementType::kF32, {1}, 0)});
  attempt({make_tensor("__metadata__", ElementType::kF32, {1}, 0)});
  attempt({make_tensor("two\nlines", ElementType::kF32, {1}, 0)});
  attempt({make_tensor("not utf-8 \xff", ElementType::kF32, {1}, 0)});
  attempt({make_tensor(std::string(kMaxNameBytes + 1, 'n'), ElementType::kF32, {1}, 0)});
  attempt({make_tensor("a", ElementType::kF32, std::vector<std::int64_t>(kMaxRank + 1, 1), 0)});
}

}  // namespace
}  // namespace gangway::checkpoint
