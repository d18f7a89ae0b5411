// SPDX-License-Identifier: MIT
#include "coordinator/http/run_reader.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

TEST(PictureName, LeadsNowhereElse) {
  for (const char* name : {"reals.png", "fakes000484.png", "fakes000000.384.png", "fakes_init.png",
                           "fakes000484.wav"}) {
    EXPECT_TRUE(is_picture_name(name)) << name;
  }
  for (const char* name : {"", ".png", ".wav", "a", "a.wave", "a.txt", "../a.png", "a/b.png", "..",
                           ".hidden.png", "a b.png", "a%2f.png", "a\\b.png", "a.png\n"}) {
    EXPECT_FALSE(is_picture_name(name)) << name;
  }
  EXPECT_FALSE(is_picture_name(std::string(97, 'a') + ".png"));
  EXPECT_FALSE(is_picture_name(std::string_view("a\0.png", 6)));
}

TEST(RunReader, ReadsPicturesThatAreFiles) {
  const testing::ScratchFolder folder;
  std::ofstream(folder.path() / "a.png") << "picture";
  fs::create_symlink(folder.path() / "a.png", folder.path() / "link.png");
  fs::create_directory(folder.path() / "folder.png");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe.png").c_str(), 0600), 0);
  std::ofstream(folder.path() / "empty.png");
  const RunReader reader(folder.path());
  EXPECT_EQ(reader.picture("a.png"), "picture");
  EXPECT_EQ(reader.picture("empty.png"), "");
  for (const char* name : {"link.png", "folder.png", "pipe.png", "nothing.png", "../a.png"}) {
    EXPECT_FALSE(reader.picture(name)) << name;
  }
}

TEST(RunReader, ReadsNoPictureThatIsTooLarge) {
  const testing::ScratchFolder folder;
  std::ofstream(folder.path() / "large.png");
  fs::resize_file(folder.path() / "large.png", RunReader::kMaxPictureBytes);
  const RunReader reader(folder.path());
  EXPECT_TRUE(reader.picture("large.png"));
  fs::resize_file(folder.path() / "large.png", RunReader::kMaxPictureBytes + 1);
  EXPECT_FALSE(reader.picture("large.png"));
}

TEST(RunReader, ReadsTheEndOfALogByWholeLines) {
  const testing::ScratchFolder folder;
  fs::create_directory(folder.path() / "logs");
  std::ofstream log(folder.path() / "logs" / "rank-0001.log");
  log << "short\n" << std::flush;
  const RunReader reader(folder.path());
  EXPECT_EQ(reader.log_end(Rank(1)), "short\n");
  EXPECT_FALSE(reader.log_end(Rank(2)));
  for (std::size_t line = 0; line < RunReader::kMaxLogBytes / 4; ++line) {
    log << "a line\n";
  }
  log << std::flush;
  const auto end = reader.log_end(Rank(1));
  ASSERT_TRUE(end);
  EXPECT_LT(end->size(), RunReader::kMaxLogBytes);
  EXPECT_TRUE(end->starts_with("a line\n"));
}

TEST(RunReader, MakesADocumentThatMayGoOn) {
  const testing::ScratchFolder folder;
  RunReader reader(folder.path());
  const std::string text = reader.open_document();
  EXPECT_EQ(text.front(), '{');
  EXPECT_TRUE(nlohmann::json::accept(text + ",\"live\":1}"));
}

}  // namespace
}  // namespace gangway::coordinator
