// SPDX-License-Identifier: MIT
#include "launch/model/apply/picture_list.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "data/contents/picture_names.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Returns the pictures below a folder, without hidden ones, by name. Pictures of formats that are
/// not read are returned, too: each fails with a line of its own.
std::vector<fs::path> pictures_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::recursive_directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().lexically_relative(folder).generic_string();
    if (entry->is_regular_file(failure) && data::is_picture(name)) {
      found.push_back(entry->path());
    }
  }
  if (failure) {
    throw ConfigError(fmt::format("{}: cannot be listed: {}", folder.string(), failure.message()));
  }
  std::ranges::sort(found);
  return found;
}

/// Returns the path without links in its folder. A rename replaces a link, not its target. Keeps a
/// folder that cannot be read: the code that reads or makes the file reports it.
fs::path resolved(const fs::path& file) {
  const fs::path folder = fs::absolute(file).parent_path();
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(folder, failure);
  return (failure ? folder : real) / file.filename();
}

}  // namespace

std::vector<PictureFile> list_pictures(const std::vector<fs::path>& given, const fs::path& output,
                                       const std::function<void(const std::string&)>& note) {
  std::vector<PictureFile> files;
  for (const fs::path& name : given) {
    std::error_code failure;
    if (fs::is_directory(name, failure)) {
      for (const fs::path& picture : pictures_below(name)) {
        files.push_back({.from = picture, .to = {}});
      }
    } else {
      files.push_back({.from = name, .to = {}});
    }
  }
  if (files.empty()) {
    throw ConfigError(fmt::format("{}: holds no .png, .jpg, .jpeg or .webp file; check the path",
                                  given.front().string()));
  }
  std::map<fs::path, fs::path> taken;  // the picture, by its result's name
  for (PictureFile& file : files) {
    const std::string stem = file.from.stem().string();
    std::string name = stem;
    for (int number = 2; !taken.emplace(name, file.from).second; ++number) {
      name = fmt::format("{}-{}", stem, number);
    }
    file.to = output / (name + ".png");
    if (name != stem) {
      note(fmt::format("{}: becomes {}, because {} becomes {}.png", file.from.string(),
                       file.to.string(), taken.at(stem).string(), stem));
    }
  }
  std::set<fs::path> given_files;
  for (const PictureFile& file : files) {
    given_files.insert(resolved(file.from));
  }
  for (const PictureFile& file : files) {
    if (given_files.contains(resolved(file.to))) {
      throw ConfigError(
          fmt::format("{}: is a given picture, and a result would replace it; choose "
                      "another -o",
                      file.to.string()));
    }
  }
  return files;
}

}  // namespace gangway::launch
