// SPDX-License-Identifier: MIT
#include "data/archives/container_archive.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/utf8.hpp"
#include "data/archives/archive_names.hpp"

namespace gangway::data {
namespace {

namespace fs = std::filesystem;

std::string inner_name(const Container& container, std::string_view name) {
  return fmt::format("{}!{}", container.path.string(), name);
}

void require_fit(const Container& container, const InnerFile& file) {
  constexpr unsigned char kDelete = 0x7F;
  const bool is_shown = std::ranges::all_of(
      file.name, [](unsigned char byte) { return byte >= ' ' && byte != kDelete; });
  if (!is_shown) {
    throw ConfigError(fmt::format("{}: a name with control characters; give the file another one",
                                  inner_name(container, shown(file.name))));
  }
  require_bearable(inner_name(container, file.name), file.part.bytes, file.part.bytes);
}

class ContainerArchive : public ImageArchive {
 public:
  ContainerArchive(InnerFiles found, const fs::path& place, ContentsCheck* check)
      : containers_(std::move(found.containers)), files_(std::move(found.pictures)) {
    for (const InnerFile& file : files_) {
      require_fit(containers_[file.container], file);
      entries_.push_back({.name = file.name,
                          .bytes = static_cast<std::int64_t>(file.part.bytes),
                          .position = entries_.size(),
                          .label = file.label});
    }
    prefix_ = tidy(entries_);
    require_single();
    require_all_labels();
    choose_label_file(found.label_lists);
    if (check != nullptr) {
      know_contents(place, *check);
    }
  }

  [[nodiscard]] std::vector<std::uint8_t> read(std::size_t index) const override {
    const ArchiveEntry& entry = entries_.at(index);
    const InnerFile& file = files_[entry.position];
    std::vector<std::uint8_t> bytes = read_part(containers_[file.container], file.part);
    if (bytes.size() != file.part.bytes || (entry.hash && *entry.hash != hash_of(bytes))) {
      fail_changed(display_name(index));
    }
    return bytes;
  }

  void expect(std::size_t index) const override {
    const InnerFile& file = files_[entries_.at(index).position];
    expect_part(containers_[file.container].file, file.part);
  }

  [[nodiscard]] std::string display_name(std::size_t index) const override {
    const InnerFile& file = files_[entries_.at(index).position];
    return inner_name(containers_[file.container], file.name);
  }

 private:
  void require_single() const {
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (entries_[i].name == entries_[i - 1].name &&
          files_[entries_[i].position].container == files_[entries_[i - 1].position].container) {
        throw ConfigError(fmt::format("{}: is there twice; make the file again with one of them",
                                      display_name(i)));
      }
    }
  }

  void require_all_labels() const {
    const auto has_label = [](const ArchiveEntry& entry) { return entry.label.has_value(); };
    const auto without = std::ranges::find_if_not(entries_, has_label);
    if (without != entries_.end() && std::ranges::any_of(entries_, has_label)) {
      throw ConfigError(fmt::format(
          "{}: has no label, and other pictures have one; give each picture one, or none",
          display_name(static_cast<std::size_t>(without - entries_.begin()))));
    }
  }

  void choose_label_file(const std::vector<InnerFile>& lists) {
    LabelFileChoice choice;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      require_fit(containers_[lists[i].container], lists[i]);
      choice.add({.name = lists[i].name, .position = i});
    }
    if (const auto chosen = choice.nearest_to(prefix_)) {
      const InnerFile& file = lists[chosen->file.position];
      const Container& container = containers_[file.container];
      const std::vector<std::uint8_t> bytes = read_part(container, file.part);
      label_file_ = {.text = {bytes.begin(), bytes.end()},
                     .display_name = inner_name(container, file.name),
                     .below = chosen->below};
    }
  }

  /// Looks pictures up in the index by the container's stamp and their own size.
  void know_contents(const fs::path& place, ContentsCheck& check) {
    std::vector<ListedFile> listed;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const InnerFile& file = files_[entries_[i].position];
      const Container& container = containers_[file.container];
      FileStamp stamp = container.stamp;
      stamp.bytes = entries_[i].bytes;
      listed.push_back(
          {fmt::format("{}!{}", container.path.filename().string(), file.name), stamp});
    }
    std::vector<std::size_t> order(listed.size());  // indices sorted by name
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::string_view(listed[i].name); });
    std::vector<ListedFile> sorted;
    for (const std::size_t entry : order) {
      sorted.push_back(std::move(listed[entry]));
    }
    const std::vector<IndexedFile> known =
        contents_of(place, sorted, check, [&](std::size_t i) { return read(order[i]); });
    for (std::size_t i = 0; i < known.size(); ++i) {
      entries_[order[i]].crc = known[i].crc;
      entries_[order[i]].hash = known[i].hash;
    }
    check.found.changed = last_changed(known);
  }

  std::vector<Container> containers_;
  std::vector<InnerFile> files_;  ///< indexed by an entry's position
};

}  // namespace

std::unique_ptr<ImageArchive> archive_of(InnerFiles found, const fs::path& place,
                                         ContentsCheck* check) {
  return std::make_unique<ContainerArchive>(std::move(found), place, check);
}

}  // namespace gangway::data
