// SPDX-License-Identifier: MIT
#include "data/sides/sided_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

enum class Folder { kNone, kTrain, kTest, kVal };
enum class Side { kNone, kFirst, kSecond };

/// Side and part from an entry's folders.
struct SidePlace {
  Folder folder = Folder::kNone;
  Side side = Side::kNone;
  std::string rest;  ///< the name without those folders and the ending
};

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return small;
}

/// Records in `place` the meaning of the folder `name`; returns whether it has one.
bool takes(const std::string& name, SidePlace& place) {
  constexpr std::array kFolders{std::pair<std::string_view, Folder>{"train", Folder::kTrain},
                                std::pair<std::string_view, Folder>{"test", Folder::kTest},
                                std::pair<std::string_view, Folder>{"val", Folder::kVal},
                                std::pair<std::string_view, Folder>{"", Folder::kNone}};
  for (const auto& [word, folder] : kFolders) {
    if (!name.starts_with(word)) {
      continue;
    }
    const std::string_view side = std::string_view(name).substr(word.size());
    if (side != "a" && side != "b" && (!side.empty() || word.empty())) {
      continue;
    }
    const bool is_said = (folder != Folder::kNone && place.folder != Folder::kNone) ||
                         (!side.empty() && place.side != Side::kNone);
    if (is_said) {
      return false;  // an inner folder is part of the name
    }
    if (folder != Folder::kNone) {
      place.folder = folder;
    }
    if (!side.empty()) {
      place.side = side == "a" ? Side::kFirst : Side::kSecond;
    }
    return true;
  }
  return false;
}

SidePlace place_of(const std::string& name) {
  SidePlace place;
  std::size_t begin = 0;
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       begin = slash + 1, slash = name.find('/', begin)) {
    const std::string folder = name.substr(begin, slash - begin);
    if (!takes(in_small_letters(folder), place)) {
      place.rest += folder + "/";
    }
  }
  const std::string file = name.substr(begin);
  place.rest += file.substr(0, file.rfind('.'));
  return place;
}

/// Returns the folder of that part, if `places` has one.
Folder folder_of(const std::vector<SidePlace>& places, SourcePart part) {
  const auto has = [&places](Folder folder) {
    return std::ranges::find(places, folder, &SidePlace::folder) != places.end();
  };
  if (part == SourcePart::kTraining) {
    return has(Folder::kTrain) ? Folder::kTrain : Folder::kNone;
  }
  return has(Folder::kTest) ? Folder::kTest : Folder::kVal;
}

}  // namespace

SidedFiles sided_files(const std::vector<ArchiveEntry>& entries, SourcePart part,
                       const std::string& within) {
  std::vector<SidePlace> places;
  for (const ArchiveEntry& entry : entries) {
    places.push_back(place_of(within + entry.name));
  }
  const Folder folder = folder_of(places, part);
  SidedFiles files;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].folder == folder) {
      auto& list = places[i].side == Side::kNone    ? files.whole
                   : places[i].side == Side::kFirst ? files.first
                                                    : files.second;
      list.push_back(i);
    }
  }
  return files;
}

std::vector<FilePair> paired(const SidedFiles& files, const ImageArchive& archive) {
  std::map<std::string, std::size_t> seconds;
  for (const std::size_t second : files.second) {
    if (!seconds.emplace(place_of(archive.entries()[second].name).rest, second).second) {
      throw ConfigError(fmt::format(
          "{}: another picture of that side has the same name but for its ending; remove one",
          archive.display_name(second)));
    }
  }
  const auto refuse = [&](std::size_t file) {
    throw ConfigError(fmt::format(
        "{}: has no picture of equal name in the folder of the other side; add it, remove this "
        "one, or use unpaired:",
        archive.display_name(file)));
  };
  std::vector<FilePair> pairs;
  for (const std::size_t first : files.first) {
    const auto found = seconds.find(place_of(archive.entries()[first].name).rest);
    if (found == seconds.end()) {
      refuse(first);
    }
    pairs.push_back({first, found->second});
    seconds.erase(found);
  }
  if (!seconds.empty()) {
    refuse(seconds.begin()->second);
  }
  return pairs;
}

}  // namespace gangway::data
