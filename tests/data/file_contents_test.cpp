// SPDX-License-Identifier: MIT
#include "data/contents/file_contents.hpp"

#include <chrono>
#include <set>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zip.h>

#include "data/archives/open_archive.hpp"
#include "data/open_dataset.hpp"
#include "gan/pictures/png.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using gangway::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string name_of_file(int number) { return "pictures/" + std::to_string(number) + ".png"; }

/// The tests do not decode these files.
void write_files(const ScratchFolder& folder, int count) {
  for (int i = 0; i < count; ++i) {
    folder.write(name_of_file(i), "picture " + std::to_string(i));
  }
}

/// Replaces the bytes by as many others, and restores the times that a program can set.
void replace_slyly(const std::filesystem::path& file) {
  struct stat before {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  {
    std::fstream content(file, std::ios::binary | std::ios::in | std::ios::out);
    content << "PICTURE";
  }
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

/// Waits until the size and times of fresh files suffice to recognise them.
void wait_until_settled() { std::this_thread::sleep_for(std::chrono::milliseconds(2'100)); }

class FileContents : public ::testing::Test {
 protected:
  std::unique_ptr<ImageArchive> open() {
    check_.found = {};
    return open_image_archive(folder_.path() / "pictures", &check_);
  }
  std::vector<std::uint64_t> hashes() {
    const auto archive = open();
    std::vector<std::uint64_t> all;
    for (const ArchiveEntry& entry : archive->entries()) {
      all.push_back(entry.hash.value());
    }
    return all;
  }
  std::filesystem::path index() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "index")) {
      if (entry.path().extension().empty()) {
        return entry.path();
      }
    }
    return {};
  }

  ScratchFolder folder_;
  ContentsCheck check_{.index_folder = folder_.path() / "index"};
};

TEST_F(FileContents, ReadsNothingThatItKnowsAndNoticesEachReplacedFileAtTheStart) {
  constexpr int kFiles = 100;
  write_files(folder_, kFiles);
  wait_until_settled();
  const auto before = hashes();
  const auto written = std::filesystem::last_write_time(index());
  ASSERT_EQ(hashes(), before);
  EXPECT_EQ(std::filesystem::last_write_time(index()), written) << "nothing was read anew";
  EXPECT_THAT(check_.found.changed, IsEmpty());
  for (int i = 0; i < kFiles; ++i) {
    replace_slyly(folder_.path() / name_of_file(i));
  }
  const auto now = hashes();
  ASSERT_THAT(now, SizeIs(kFiles));
  for (int i = 0; i < kFiles; ++i) {
    EXPECT_NE(now[static_cast<std::size_t>(i)], before[static_cast<std::size_t>(i)]) << i;
  }
  EXPECT_THAT(check_.found.changed, SizeIs(3)) << "a few are named";
}

TEST_F(FileContents, NoticesEachReplacedFileWhenItIsRead) {
  constexpr int kFiles = 100;
  write_files(folder_, kFiles);
  const auto archive = open();
  for (int i = 0; i < kFiles; ++i) {
    replace_slyly(folder_.path() / name_of_file(i));
  }
  for (std::size_t i = 0; i < kFiles; ++i) {
    expect_config_error([&] { (void)archive->read(i); },
                        {archive->display_name(i), "has changed", "give the old file back"});
  }
}

TEST_F(FileContents, NamesAFileThatIsGoneOrHasGrownOrShrunk) {
  write_files(folder_, 3);
  const auto archive = open();
  std::filesystem::remove(folder_.path() / name_of_file(0));
  expect_config_error([&] { (void)archive->read(0); }, {"0.png", "is gone", "put it back"});
  folder_.write(name_of_file(1), "picture 1 and more");
  expect_config_error([&] { (void)archive->read(1); }, {"1.png", "has changed"});
  folder_.write(name_of_file(2), "");
  expect_config_error([&] { (void)archive->read(2); }, {"2.png", "has changed"});
}

TEST_F(FileContents, NamesALinkToAPictureThatIsNotThere) {
  write_files(folder_, 3);
  const std::filesystem::path pictures = folder_.path() / "pictures";
  std::filesystem::create_symlink("/nowhere/notes.txt", pictures / "notes.txt");  // leads nowhere
  EXPECT_NO_THROW((void)open());
  std::filesystem::create_symlink("/nowhere/4.png", pictures / "4.png");
  expect_config_error([&] { (void)open(); },
                      {"pictures/4.png: a link to what is not there; mount its disk, or remove"});
}

TEST_F(FileContents, NamesTheOneThatHasChangedAndTheOneThatIsNew) {
  write_files(folder_, 5);
  const auto before = hashes();
  const auto marks = check_.found.marks;
  folder_.write(name_of_file(3), "picture X");
  folder_.write(name_of_file(5), "picture 5");
  const auto now = hashes();
  EXPECT_THAT(now, SizeIs(6));
  ASSERT_THAT(check_.found.changed, SizeIs(2));
  EXPECT_EQ(check_.found.changed[0].name, "3.png");
  EXPECT_EQ(check_.found.changed[1].name, "5.png");
  EXPECT_EQ(check_.found.marks[2], marks[2]);
  EXPECT_NE(check_.found.marks[3].hash, marks[3].hash);
  EXPECT_EQ(check_.found.marks[3].first, "3.png");
}

TEST_F(FileContents, DoesWithoutAnIndexThatIsDamagedOrCannotBeWritten) {
  write_files(folder_, 20);
  wait_until_settled();
  const auto before = hashes();
  const std::string whole = folder_.read(index());
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, whole.size() / 2}) {
    folder_.write(index(), whole.substr(0, length));
    EXPECT_EQ(hashes(), before) << length;
    EXPECT_EQ(folder_.read(index()), whole) << "it is made again";
  }
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    folder_.write(index(), flipped);
    ASSERT_EQ(hashes(), before) << at;
  }
  check_.index_folder = "/proc/nowhere";
  EXPECT_EQ(hashes(), before);
  check_.index_folder.clear();
  EXPECT_EQ(hashes(), before);
}

TEST_F(FileContents, DecideTheFingerprintAndLeaveTheEarlierOne) {
  const auto print = [&](bool is_earlier) {
    const auto dataset =
        open_dataset({.source = "images:" + folder_.path().string() + "/pictures"}, {}, 0, &check_);
    return is_earlier ? dataset->earlier_fingerprint() : dataset->fingerprint();
  };
  constexpr std::size_t kLookedAt = 4096;
  constexpr const char* kEarlier = "276f2574bf195d564eb5730729c7de7a";  // as of November 2026
  std::string picture = pictures::encode_png(
      {.height = 1, .width = 1, .channels = 1, .pixels = std::vector<std::uint8_t>(1)});
  picture.resize(2 * kLookedAt);  // bytes after the picture's end are not decoded
  folder_.write(name_of_file(0), picture);
  const std::string now = print(false);
  EXPECT_EQ(print(true), kEarlier);
  picture.back() = 1;
  folder_.write(name_of_file(0), picture);
  EXPECT_NE(print(false), now);
  EXPECT_EQ(print(true), kEarlier);
}

TEST(IndexFolder, LiesInTheUsersCache) {
  EXPECT_EQ(index_folder_of({{"HOME", "/home/a"}}), "/home/a/.cache/gangway/data");
  EXPECT_EQ(index_folder_of({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/var/a"}}),
            "/var/a/gangway/data");
  EXPECT_EQ(index_folder_of({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "cache"}}),
            "/home/a/.cache/gangway/data");
  EXPECT_EQ(index_folder_of({}), "");
}

/// @param picture  must have the same size each time
void write_zip(const std::filesystem::path& path, const std::string& picture) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(archive, nullptr);
  zip_source_t* source = zip_source_buffer(archive, picture.data(), picture.size(), 0);
  const zip_int64_t index = zip_file_add(archive, "a.png", source, 0);
  ASSERT_EQ(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0),
            0);
  ASSERT_EQ(zip_close(archive), 0);
}

TEST_F(FileContents, OfAZipAreKnownByTheirCrcs) {
  const auto path = folder_.path() / "a.zip";
  write_zip(path, "picture 1");
  const auto first = open_image_archive(path, &check_);
  const auto marks = check_.found.marks;
  EXPECT_FALSE(std::filesystem::exists(check_.index_folder)) << "it has an index of its own";
  write_zip(path, "picture 2");
  const auto second = open_image_archive(path, &check_);
  EXPECT_NE(second->content_crc(0), first->content_crc(0));
  EXPECT_NE(check_.found.marks, marks);
  std::string content = folder_.read("a.zip");
  content[content.find("picture 2")] = 'P';
  folder_.write("a.zip", content);
  const auto damaged = open_image_archive(path);
  expect_config_error([&] { (void)damaged->read(0); }, {"a.zip!a.png", "CRC"});
  write_zip(path, "picture 3");  // opened at the next read
  expect_config_error([&] { (void)damaged->read(0); }, {"a.zip!a.png", "has changed"});
}

}  // namespace
}  // namespace gangway::data
