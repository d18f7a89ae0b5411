// SPDX-License-Identifier: MIT
#include "data/archives/tar_archive.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/archives/open_archive.hpp"
#include "data/image_labels.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using gangway::testing::ScratchFolder;

constexpr std::size_t kBlock = 512;

/// An entry of a tar.
struct Member {
  std::string name;
  std::string bytes = {};
  char type = '0';
  std::string magic = std::string(
      "ustar\0"
      "00",
      8);
  std::string prefix = {};
};

std::string padded(std::string text) {
  text.resize((text.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return text;
}

/// The tests do not decode these pictures.
std::string packed_member(const Member& member) {
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, member.name);
  put(100, "0000644");
  put(124, fmt::format("{:011o}", member.bytes.size()));
  put(148, std::string(8, ' '));
  header[156] = member.type;
  put(257, member.magic);
  put(345, member.prefix);
  unsigned sum = 0;
  for (const char byte : header) {
    sum += static_cast<unsigned char>(byte);
  }
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + padded(member.bytes);
}

std::string packed(const std::vector<Member>& members) {
  std::string tar;
  for (const Member& member : members) {
    tar += packed_member(member);
  }
  return tar + std::string(2 * kBlock, '\0');
}

class TarArchive : public ::testing::Test {
 protected:
  std::unique_ptr<ImageArchive> open(const std::string& place, ContentsCheck* check = nullptr) {
    return open_image_archive(folder_.path() / place, check);
  }
  std::unique_ptr<ImageArchive> open(const std::vector<Member>& members) {
    folder_.write("a.tar", packed(members));
    return open("a.tar");
  }
  void refuse(const std::vector<Member>& members, const std::vector<std::string>& says) {
    expect_config_error([&] { (void)open(members); }, says);
  }
  static std::vector<std::string> names(const ImageArchive& archive) {
    std::vector<std::string> all;
    for (const ArchiveEntry& entry : archive.entries()) {
      all.push_back(archive.shared_folder() + entry.name);
    }
    return all;
  }
  static std::string text(const ImageArchive& archive, std::size_t index) {
    const auto bytes = archive.read(index);
    return {bytes.begin(), bytes.end()};
  }

  ScratchFolder folder_;
};

TEST_F(TarArchive, ReadsPicturesInSortedOrderAndLeavesOutTheRest) {
  const auto archive = open({{"set/", "", '5'},
                             {"set/b.png", "second"},
                             {"set/a.JPG", std::string(600, 'a')},
                             {"set/a.txt", "a caption"},
                             {"set/.hidden.png", "no picture"},
                             {"set/pipe", "", '6'}});
  EXPECT_EQ(names(*archive), (std::vector<std::string>{"set/a.JPG", "set/b.png"}));
  EXPECT_EQ(text(*archive, 0), std::string(600, 'a'));
  EXPECT_EQ(text(*archive, 1), "second");
  EXPECT_EQ(archive->display_name(1), (folder_.path() / "a.tar!set/b.png").string());
}

TEST_F(TarArchive, KnowsTheLongNamesOfEachFormat) {
  const std::string name = std::string(130, 'n') + ".png";
  const std::string other = "pax/" + name;
  const std::string line = " path=" + other + "\n";
  const auto archive = open({{"b.png", "prefix", '0',
                              std::string("ustar\0"
                                          "00",
                                          8),
                              "folder"},
                             {"c.png", "no prefix", '0', "ustar  ", "a time"},
                             {"././@LongLink", name + '\0', 'L', "ustar  "},
                             {name.substr(0, 100), "GNU", '0', "ustar  "},
                             {"paxheader",
                              fmt::format("{}{}", line.size() + 3, line) + "15 size=000007\n"
                                                                           "12 more=abc\n",
                              'x'},
                             {"short.png", "fits in"}});
  EXPECT_EQ(names(*archive), (std::vector<std::string>{"c.png", "folder/b.png", name, other}));
}

TEST_F(TarArchive, TakesOffWhatUnpackingTakesOff) {
  EXPECT_EQ(names(*open({{"./x//a.png", "1"}, {"/x/./b.png", "2"}})),
            (std::vector<std::string>{"x/a.png", "x/b.png"}));
  refuse({{"x/../../a.png", "1"}}, {"a.tar", "x/../../a.png", "out of the tar"});
}

TEST_F(TarArchive, OfSeveralIsOneSetInTheOrderOfNames) {
  folder_.write("shards/s-01.tar", packed({{"c.png", "3"}, {"a.png", "1"}}));
  folder_.write("shards/s-00.tar", packed({{"b.png", "2"}, {"a.png", "0"}}));
  folder_.write("shards/readme.txt", "no tar");
  for (const std::string place : {"shards", "shards/s-{00..01}.tar"}) {
    const auto archive = open(place);
    std::string all;
    for (std::size_t i = 0; i < archive->entries().size(); ++i) {
      all += text(*archive, i);
    }
    EXPECT_EQ(all, "0123") << place;
  }
}

TEST_F(TarArchive, TakesLabelsThatGoWithThePictures) {
  const auto archive = open({{"x/1.png", "a"},
                             {"x/1.cls", "2\n"},
                             {"x/1.json", "{\"label\": 7}"},
                             {"x/2.json", "{\"label\": 0, \"more\": []}"},
                             {"x/2.png", "b"}});
  const ImageLabels labels = labels_of(*archive, "a.tar");
  EXPECT_EQ(labels.of_images, (std::vector<int>{2, 0}));
  EXPECT_EQ(labels.num_classes, 3);
}

TEST_F(TarArchive, TakesFoldersOrAListAsLabelsWhereNoneGoWithThePictures) {
  const std::vector<Member> members{{"y/2.png", "b"}, {"y/2.json", "{}"}, {"x/1.png", "a"}};
  EXPECT_EQ(labels_of(*open(members), "a.tar").of_images, (std::vector<int>{0, 1}));
  auto listed = members;
  listed.push_back({"dataset.json", R"({"labels": [["x/1.png", 5], ["y/2.png", 1]]})"});
  EXPECT_EQ(labels_of(*open(listed), "a.tar").of_images, (std::vector<int>{5, 1}));
}

TEST_F(TarArchive, RefusesLabelsThatAreNone) {
  refuse({{"1.png", "a"}, {"1.cls", "cat"}}, {"a.tar!1.cls", "'cat' is no label"});
  refuse({{"1.png", "a"}, {"1.cls", ""}}, {"a.tar!1.cls", "is no label"});
  refuse({{"1.png", "a"}, {"1.json", "{"}}, {"a.tar!1.json", "is no JSON"});
  refuse({{"1.png", "a"}, {"1.json", "{\"label\": \"cat\"}"}}, {"1.json", "cat", "is no label"});
  refuse({{"1.png", "a"}, {"1.cls", "1"}, {"2.png", "b"}}, {"a.tar!2.png: has no label"});
}

TEST_F(TarArchive, RefusesASampleOfTwoPictures) {
  refuse({{"1.png", "a"}, {"1.mask.png", "b"}},
         {"a.tar!1.mask.png", "together with 1.png", "first dot"});
  refuse({{"1.png", "a"}, {"1.png", "b"}}, {"a.tar!1.png", "together with 1.png"});
}

TEST_F(TarArchive, RefusesPicturesThatAreElsewhereOrInPieces) {
  refuse({{"1.png", "", '2'}}, {"a.tar!1.png", "is a link", "--dereference"});
  refuse({{"1.png", "", '1'}}, {"a.tar!1.png", "is a link"});
  refuse({{"disk.img", "", 'S'}}, {"disk.img, a sparse file", "--sparse"});
  refuse({{"1.gif", "a"}}, {"1, such as 1.gif"});
  EXPECT_EQ(open({{"link.txt", "", '2'}, {"1.png", "a"}})->entries().size(), 1U);
}

TEST_F(TarArchive, NamesATarThatIsCutAnywhere) {
  const std::string whole = packed({{"1.png", std::string(700, 'a')}, {"2.png", "b"}});
  for (std::size_t length = 0; length < whole.size() - 2 * kBlock; length += 100) {
    folder_.write("a.tar", whole.substr(0, length));
    expect_config_error([&] { (void)open("a.tar"); }, {"a.tar", "copy it or make it again"});
  }
}

TEST_F(TarArchive, NamesADamagedOrContinuedTar) {
  const std::string whole = packed({{"1.png", std::string(700, 'a')}, {"2.png", "b"}});
  std::string damaged = whole;
  damaged[3 * kBlock + 7] = 'x';  // in the second header
  folder_.write("a.tar", damaged);
  expect_config_error([&] { (void)open("a.tar"); }, {"a.tar", "damaged", "at byte 1536"});
  folder_.write("a.tar", whole + packed({{"3.png", "c"}}));
  expect_config_error([&] { (void)open("a.tar"); }, {"a.tar", "behind its end"});
  folder_.write("a.tar", "\x1F\x8B\x08 and so on");
  expect_config_error([&] { (void)open("a.tar"); }, {"a.tar: is compressed", "gzip -d"});
  folder_.write("shards/a.tar.zst", "\x28\xB5\x2F\xFD and so on");
  expect_config_error([&] { (void)open("shards"); }, {"a.tar.zst: is compressed", "zstd -d"});
}

TEST_F(TarArchive, NamesAShardThatIsNotThere) {
  folder_.write("s-0.tar", packed({{"1.png", "a"}}));
  expect_config_error([&] { (void)open("s-{0..1}.tar"); }, {"s-1.tar: does not exist"});
  expect_config_error([&] { (void)open("s-{0..999999}.tar"); }, {"more than 100000 tars"});
}

TEST_F(TarArchive, IsKnownAgainAndNamesWhatHasChangedInIt) {
  ContentsCheck check{.index_folder = folder_.path() / "index"};
  const std::vector<Member> before{{"1.png", "a"}, {"2.png", "b"}};
  folder_.write("s-0.tar", packed(before));
  folder_.write("s-1.tar", packed({{"3.png", "c"}}));
  const auto first = open("s-{0..1}.tar", &check);
  const auto marks = check.found.marks;
  folder_.write("s-0.tar", packed({{"1.png", "a"}, {"2.png", "B"}}));
  EXPECT_EQ(text(*first, 0), "a");
  expect_config_error([&] { (void)first->read(1); }, {"s-0.tar!2.png: has changed"});
  check.found = {};
  const auto second = open("s-{0..1}.tar", &check);
  EXPECT_EQ(text(*second, 1), "B");
  EXPECT_NE(check.found.marks, marks);
  ASSERT_EQ(check.found.changed.size(), 1U);
  EXPECT_EQ(check.found.changed[0].name, "s-0.tar!2.png");
  std::filesystem::resize_file(folder_.path() / "s-1.tar", kBlock);
  expect_config_error([&] { (void)second->read(2); }, {"s-1.tar!3.png: has changed"});
}

}  // namespace
}  // namespace gangway::data
