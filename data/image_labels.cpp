// SPDX-License-Identifier: MIT
#include "data/image_labels.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/images/label_list.hpp"

namespace gangway::data {
namespace {

std::string_view first_folder(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

ImageLabels labels_by_list(const ImageArchive& archive, const LabelFile& file) {
  const std::optional<LabelList> list = parse_label_list(file.text, file.display_name);
  ImageLabels labels;
  if (!list) {
    return labels;
  }
  const auto& entries = archive.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto found = list->find(file.below + entries[i].name);
    if (found == list->end()) {
      throw ConfigError(fmt::format("{}: has no label for {} ({}{}); make the list again",
                                    file.display_name, archive.display_name(i), file.below,
                                    entries[i].name));
    }
    labels.of_images.push_back(found->second);
    labels.num_classes = std::max(labels.num_classes, found->second + 1);
  }
  return labels;
}

/// Returns the labels of archives whose entries have labels.
ImageLabels labels_by_entries(const ImageArchive& archive) {
  ImageLabels labels;
  for (const ArchiveEntry& entry : archive.entries()) {
    labels.of_images.push_back(*entry.label);
    labels.num_classes = std::max(labels.num_classes, *entry.label + 1);
  }
  return labels;
}

ImageLabels labels_by_folders(const ImageArchive& archive, const std::string& location) {
  std::vector<std::string_view> folders;
  for (const ArchiveEntry& entry : archive.entries()) {
    folders.push_back(first_folder(entry.name));
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  if (folders.size() <= 1) {
    return {};  // no sub-folder: a single one is the shared prefix
  }
  if (folders.front().empty()) {
    throw ConfigError(
        fmt::format("{}: holds images both beside and inside sub-folders (which are labels); move "
                    "them all into sub-folders, or none",
                    location));
  }
  ImageLabels labels{.num_classes = static_cast<int>(folders.size()),
                     .classes = {folders.begin(), folders.end()}};
  for (const ArchiveEntry& entry : archive.entries()) {
    const auto place = std::lower_bound(folders.begin(), folders.end(), first_folder(entry.name));
    labels.of_images.push_back(static_cast<int>(place - folders.begin()));
  }
  return labels;
}

}  // namespace

ImageLabels labels_of(const ImageArchive& archive, const std::string& location) {
  const std::optional<LabelFile>& file = archive.label_file();
  if (file) {
    return labels_by_list(archive, *file);
  }
  const bool have_labels = !archive.entries().empty() && archive.entries().front().label;
  return have_labels ? labels_by_entries(archive) : labels_by_folders(archive, location);
}

}  // namespace gangway::data
