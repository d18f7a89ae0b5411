// SPDX-License-Identifier: MIT
#include "gan/data/archives/lmdb_index.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/utf8.hpp"

namespace gangway::data {
namespace {

// Layouts of LMDB 0.9 on machines of 64 bits, little-endian (mdb.c: MDB_page, MDB_meta, MDB_db,
// MDB_node).
static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kLmdbMagic = 0xBEEFC0DE;
constexpr std::uint32_t kLmdbVersion = 1;
constexpr std::uint32_t kSmallestPage = 512;
constexpr std::uint32_t kLargestPage = 65'536;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr int kMostDepth = 32;             // liblmdb's own bound
constexpr std::size_t kLongestKey = 2048;  // of 511 bytes, but where liblmdb was built otherwise

constexpr std::uint16_t kBranchPage = 0x01;
constexpr std::uint16_t kLeafPage = 0x02;
constexpr std::uint16_t kPageKinds = 0x6F;      // but for bits that are set in memory
constexpr std::uint16_t kSeveralValues = 0x04;  // of a database
constexpr std::uint16_t kElsewhere = 0x01;      // of a node: its value has pages of its own
constexpr std::uint16_t kNamed = 0x02;
constexpr std::uint16_t kSeveral = 0x04;

struct PageHeader {
  std::uint64_t number;
  std::uint16_t pad;
  std::uint16_t flags;
  std::uint16_t lower;  ///< end of the offsets of its nodes, which follow
  std::uint16_t upper;
};
static_assert(sizeof(PageHeader) == 16);

struct TreeRecord {
  std::uint32_t pad;  ///< of the first tree: bytes a page
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  std::uint64_t root;
};
static_assert(sizeof(TreeRecord) == 48);

struct MetaRecord {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_bytes;
  TreeRecord free_pages;
  TreeRecord values;
  std::uint64_t last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(MetaRecord) == 136);

struct Node {
  std::uint16_t low;
  std::uint16_t high;
  std::uint16_t flags;
  std::uint16_t key_bytes;
};
static_assert(sizeof(Node) == 8);

class LmdbReader {
 public:
  explicit LmdbReader(const Container& file) : file_(file), meta_(newest_meta()) {}

  std::vector<LmdbValue> read() {
    if ((meta_.values.flags & kSeveralValues) != 0) {
      fail("has several values a key, and a picture has one; copy it into one without MDB_DUPSORT");
    }
    if (meta_.values.root != kNoPage) {
      walk(meta_.values.root, 0);
    }
    if (values_.size() != meta_.values.entries) {
      fail_damaged();
    }
    return std::move(values_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw ConfigError(fmt::format("{}: {}", file_.path.string(), what));
  }
  [[noreturn]] void fail_damaged() const { fail("is a damaged LMDB; copy it or make it again"); }
  [[noreturn]] void fail_cut() const { fail("is cut; copy it or make it again"); }

  /// @throws ConfigError where there is none
  [[nodiscard]] MetaRecord meta_at(std::uint64_t offset) const {
    MetaRecord meta{};
    std::vector<std::uint8_t> bytes(sizeof(PageHeader) + sizeof meta);
    if (read_at(file_, offset, bytes) < bytes.size()) {
      fail_cut();
    }
    if (!is_lmdb(bytes)) {
      fail(offset == 0 ? "is no LMDB; check data.source or make it again"
                       : "is a damaged LMDB; copy it or make it again");
    }
    std::memcpy(&meta, bytes.data() + sizeof(PageHeader), sizeof meta);
    const std::uint32_t page = meta.free_pages.pad;
    if (meta.version != kLmdbVersion || page < kSmallestPage || page > kLargestPage ||
        !std::has_single_bit(page)) {
      fail("is an LMDB of another version or machine; copy it with mdb_dump and mdb_load");
    }
    return meta;
  }

  /// Of the two that are written in turn.
  [[nodiscard]] MetaRecord newest_meta() const {
    const MetaRecord first = meta_at(0);
    const MetaRecord second = meta_at(first.free_pages.pad);
    return first.transaction > second.transaction ? first : second;
  }

  [[nodiscard]] std::uint64_t page_bytes() const { return meta_.free_pages.pad; }

  /// Pages of a tree are counted: a damaged one may lead in circles.
  [[nodiscard]] std::vector<std::uint8_t> page(std::uint64_t number) {
    const std::uint64_t all = file_.bytes() / page_bytes();
    if (++pages_ > all) {
      fail_damaged();
    }
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(page_bytes()));
    if (number >= all || read_at(file_, number * page_bytes(), bytes) < bytes.size()) {
      fail_cut();
    }
    return bytes;
  }

  template <typename Record>
  [[nodiscard]] Record record_at(std::span<const std::uint8_t> page, std::size_t offset) const {
    Record record{};
    if (offset > page.size() || page.size() - offset < sizeof record) {
      fail_damaged();
    }
    std::memcpy(&record, page.data() + offset, sizeof record);
    return record;
  }

  void walk(std::uint64_t number, int depth) {
    const std::vector<std::uint8_t> bytes = page(number);
    const auto header = record_at<PageHeader>(bytes, 0);
    const int kind = header.flags & kPageKinds;
    if (depth > kMostDepth || header.number != number || header.lower < sizeof header ||
        header.lower > bytes.size() || (kind != kBranchPage && kind != kLeafPage)) {
      fail_damaged();
    }
    const std::size_t nodes = (header.lower - sizeof header) / sizeof(std::uint16_t);
    if (nodes > bytes.size() / (sizeof(Node) + sizeof(std::uint16_t))) {
      fail_damaged();
    }
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::size_t at = record_at<std::uint16_t>(bytes, sizeof header + i * 2);
      const auto node = record_at<Node>(bytes, at);
      if (kind == kLeafPage) {
        add(bytes, number, at, node);
      } else {
        walk(std::uint64_t{node.low} | std::uint64_t{node.high} << 16U |
                 std::uint64_t{node.flags} << 32U,
             depth + 1);
      }
    }
  }

  /// A node of a leaf: a key, and its value or where that is.
  void add(std::span<const std::uint8_t> page, std::uint64_t number, std::size_t at,
           const Node& node) {
    const std::size_t value_at = at + sizeof node + node.key_bytes;
    if (value_at > page.size() || node.key_bytes > kLongestKey) {
      fail_damaged();
    }
    const std::string key(reinterpret_cast<const char*>(page.data()) + at + sizeof node,
                          node.key_bytes);
    if ((node.flags & (kNamed | kSeveral)) != 0) {
      fail(
          fmt::format("holds a database with a name, {}, and only one without is read; copy its "
                      "values into an LMDB of their own",
                      shown(key)));
    }
    FilePart part{.offset = number * page_bytes() + value_at,
                  .bytes = std::uint64_t{node.low} | std::uint64_t{node.high} << 16U};
    const bool is_elsewhere = (node.flags & kElsewhere) != 0;
    if (is_elsewhere) {
      const auto first = record_at<std::uint64_t>(page, value_at);
      if (first >= file_.bytes() / page_bytes()) {
        fail_cut();
      }
      part.offset = first * page_bytes() + sizeof(PageHeader);
    } else if (part.bytes > page.size() - value_at) {
      fail_damaged();
    }
    if (part.bytes > file_.bytes() || part.offset > file_.bytes() - part.bytes) {
      fail_cut();
    }
    values_.push_back({key, part});
  }

  const Container& file_;
  MetaRecord meta_;
  std::uint64_t pages_ = 0;
  std::vector<LmdbValue> values_;
};

}  // namespace

bool is_lmdb(std::span<const std::uint8_t> bytes) {
  std::uint32_t magic = 0;
  if (bytes.size() < sizeof(PageHeader) + sizeof magic) {
    return false;
  }
  std::memcpy(&magic, bytes.data() + sizeof(PageHeader), sizeof magic);
  return magic == kLmdbMagic;
}

std::vector<LmdbValue> read_lmdb(const Container& file) { return LmdbReader(file).read(); }

}  // namespace gangway::data
