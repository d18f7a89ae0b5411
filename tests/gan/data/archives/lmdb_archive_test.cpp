// SPDX-License-Identifier: MIT
#include "gan/data/archives/lmdb_archive.hpp"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/data/archives/open_archive.hpp"
#include "tests/gan/data/archives/lmdb_file.hpp"
#include "tests/gan/data/expect_config_error.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;
using gangway::testing::LmdbPair;
using gangway::testing::ScratchFolder;
using gangway::testing::write_lmdb;

class LmdbArchive : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path place() const { return folder_.path() / "db"; }
  [[nodiscard]] std::unique_ptr<ImageArchive> open() const { return open_image_archive(place()); }
  [[nodiscard]] std::unique_ptr<ImageArchive> open(const std::vector<LmdbPair>& pairs) const {
    write_lmdb(place(), pairs);
    return open();
  }
  static std::string text(const ImageArchive& archive, std::size_t index) {
    const auto bytes = archive.read(index);
    return {bytes.begin(), bytes.end()};
  }

  ScratchFolder folder_;
};

/// Nobody decodes them here: of one byte each, so long that some lie among the keys and some have
/// pages of their own.
std::vector<LmdbPair> many_values(int count) {
  std::vector<LmdbPair> pairs;
  for (int i = 0; i < count; ++i) {
    const auto letter = static_cast<char>('a' + i % 26);
    pairs.emplace_back(fmt::format("{:040x}", i * 7919), std::string(24 + i * 37 % 9000, letter));
  }
  return pairs;
}

TEST_F(LmdbArchive, HasTheValuesByTheirKeysAndLeavesNoLock) {
  const std::vector<LmdbPair> pairs = many_values(3'000);  // a tree of three levels
  write_lmdb(place(), pairs);
  std::filesystem::remove(place() / "lock.mdb");
  const auto archive = open();
  ASSERT_EQ(archive->entries().size(), pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(archive->entries()[i].name, pairs[i].first);
    EXPECT_EQ(text(*archive, i), pairs[i].second);
  }
  EXPECT_FALSE(std::filesystem::exists(place() / "lock.mdb"));
  EXPECT_EQ(open_image_archive(place() / "data.mdb")->entries().size(), pairs.size());
}

TEST_F(LmdbArchive, HasWhatTheLastOfSeveralTransactionsLeft) {
  for (int round = 0; round < 3; ++round) {
    write_lmdb(place(),
               std::vector<LmdbPair>{{"a", std::string(5'000, static_cast<char>('x' + round))},
                                     {fmt::format("b{}", round), std::string(30, 'b')}});
  }
  const auto archive = open();
  ASSERT_EQ(archive->entries().size(), 4U);
  EXPECT_EQ(text(*archive, 0), std::string(5'000, 'z'));
}

TEST_F(LmdbArchive, NamesKeysThatAreNoTextByTheirBytes) {
  const auto archive = open(
      {{std::string("\0\1", 2), std::string(30, 'a')}, {std::string("k"), std::string(30, 'b')}});
  ASSERT_EQ(archive->entries().size(), 2U);
  EXPECT_EQ(archive->entries()[0].name, "0001");
  EXPECT_EQ(archive->entries()[1].name, "6b");
  EXPECT_EQ(archive->display_name(0), (place() / "data.mdb!0001").string());
}

TEST_F(LmdbArchive, LeavesOutCountsAndTakesAListOfLabels) {
  const auto archive = open({{"a.png", std::string(30, 'a')},
                             {"dataset.json", R"({"labels": [["a.png", 3]]})"},
                             {"length", "70000"}});
  EXPECT_EQ(archive->entries().size(), 1U);
  EXPECT_TRUE(archive->label_file().has_value());
}

TEST_F(LmdbArchive, OfNothingHasNothing) { EXPECT_TRUE(open({})->entries().empty()); }

TEST_F(LmdbArchive, RefusesOtherKindsOfDatabases) {
  const std::vector<LmdbPair> pairs{{"a", std::string(30, 'a')}};
  write_lmdb(place(), pairs, "train");
  expect_config_error([&] { (void)open(); }, {"data.mdb", "with a name, train"});
  std::filesystem::remove_all(place());
  write_lmdb(place(), pairs, nullptr, MDB_DUPSORT);
  expect_config_error([&] { (void)open(); }, {"data.mdb", "several values a key"});
  folder_.write("db/data.mdb",
                "no LMDB, and yet longer than what is looked at: "
                "it is all text up to its end, which is somewhere behind byte 152, "
                "where the first record of an LMDB ends");
  expect_config_error([&] { (void)open(); }, {"data.mdb: is no LMDB"});
}

/// Whatever is done to the file: a complaint about it, or other bytes.
void read_all(const std::filesystem::path& place) {
  try {
    const auto archive = open_image_archive(place);
    for (std::size_t i = 0; i < archive->entries().size(); ++i) {
      (void)archive->read(i);
    }
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("data.mdb"), std::string::npos);
  }
}

TEST_F(LmdbArchive, NamesAFileThatIsCutAnywhere) {
  (void)open(many_values(100));
  const std::string whole = folder_.read("db/data.mdb");
  for (std::size_t length = 1; length < whole.size(); length += 4'096) {
    folder_.write("db/data.mdb", whole.substr(0, length));
    read_all(place());
  }
  folder_.write("db/data.mdb", whole.substr(0, whole.size() / 2));
  expect_config_error([&] { (void)open(); }, {"data.mdb", "is cut", "make it again"});
}

TEST_F(LmdbArchive, LivesThroughDamageAnywhere) {
  (void)open(many_values(100));
  const std::string whole = folder_.read("db/data.mdb");
  std::mt19937 random(7);  // NOLINT: the same damage each time
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    const std::size_t page = random() % (whole.size() / 4'096) * 4'096;
    for (int i = 0; i < 8; ++i) {
      damaged[page + random() % 160] = static_cast<char>(random());
    }
    folder_.write("db/data.mdb", damaged);
    read_all(place());
  }
}

TEST_F(LmdbArchive, IsNoticedToHaveChanged) {
  ContentsCheck check{.index_folder = folder_.path() / "index"};
  (void)open({{"a", std::string(30, 'a')}, {"b", std::string(30, 'b')}});
  const auto first = open_image_archive(place(), &check);
  std::string bytes = folder_.read("db/data.mdb");
  bytes[bytes.find(std::string(30, 'b')) + 4] = 'B';
  folder_.write("db/data.mdb", bytes);
  EXPECT_EQ(text(*first, 0), std::string(30, 'a'));
  expect_config_error([&] { (void)first->read(1); }, {"data.mdb!b: has changed"});
  check.found = {};
  (void)open_image_archive(place(), &check);
  ASSERT_EQ(check.found.changed.size(), 1U);
  EXPECT_EQ(check.found.changed[0].name, "data.mdb!b");
}

}  // namespace
}  // namespace gangway::data
