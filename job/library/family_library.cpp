// SPDX-License-Identifier: MIT
#include "job/library/family_library.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/hash.hpp"
#include "job/library/shared_library.hpp"
#include "job/modules/module_files.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlocksEnding = ".blocks.so";

bool is_library_there(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Both files of a library.
struct LibraryBytes {
  std::string rows;
  std::string blocks;  ///< empty: there is no such file
  [[nodiscard]] std::string hash() const { return hash_of(rows + blocks); }
};

LibraryBytes read_both(const fs::path& file) {
  const fs::path blocks = blocks_file(file);
  return {read_library(file), is_library_there(blocks) ? read_library(blocks) : std::string()};
}

/// @throws ConfigError if their hash differs from the job's
LibraryBytes read_checked(const HashedFile& library) {
  LibraryBytes both = read_both(library.file);
  if (const std::string found = both.hash(); library.hash != found) {
    throw ConfigError(fmt::format(
        "{} has changed: its XXH3-128 is {}, the job's is {}; give the old file back, or leave "
        "model.library_hash out and begin another run (--run)",
        library.file, found, library.hash));
  }
  return both;
}

/// Returns whether `name` is valid in job files and messages.
bool is_word(std::string_view name) {
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

/// @param ours  returns whether Gangway has a row of that name
template <typename Row, typename Ours>
void require_new_names(const std::vector<Row>& added, std::string_view kind, Ours ours,
                       const std::string& file) {
  for (const Row& row : added) {
    if (!is_word(row.name)) {
      throw ConfigError(
          fmt::format("{}: has a {} named '{}'; use lower-case letters, digits and -, a letter "
                      "first",
                      file, kind, row.name));
    }
    if (ours(row.name)) {
      throw ConfigError(fmt::format(
          "{}: has a {} named {}, and so has Gangway; give it another name", file, kind, row.name));
    }
    if (std::ranges::count(added, row.name, &Row::name) > 1) {
      throw ConfigError(fmt::format("{}: has the {} {} twice", file, kind, row.name));
    }
  }
}

void require_networks(const Recipe& recipe, const std::string& file) {
  const auto& networks = recipe.networks;
  const auto has = [&](std::string_view name) {
    return std::ranges::find(networks, name, &RecipeNetwork::name) != networks.end();
  };
  if (!has(recipe.shown) || (!recipe.counts.empty() && !has(recipe.counts)) ||
      networks.size() > kMostNetworks) {
    throw ConfigError(fmt::format(
        "{}: recipe {} has {} networks, of which one is shown ('{}'), and maybe one "
        "counted ('{}'); it takes 1 to {}",
        file, recipe.name, networks.size(), recipe.shown, recipe.counts, kMostNetworks));
  }
}

void require_usable(const LibraryRows& rows, const std::string& file) {
  require_new_names(
      rows.families, "family",
      [](std::string_view name) {
        return name == own_family()->name ||
               std::ranges::find(families(), name, &ModelFamily::name) != families().end();
      },
      file);
  require_new_names(
      rows.recipes, "recipe",
      [](std::string_view name) {
        return std::ranges::find(recipes(), name, &Recipe::name) != recipes().end();
      },
      file);
  for (const Recipe& recipe : rows.recipes) {
    require_networks(recipe, file);
  }
  if (rows.families.empty() && rows.recipes.empty()) {
    throw ConfigError(fmt::format("{}: has no family and no recipe", file));
  }
}

}  // namespace

fs::path blocks_file(const fs::path& library) {
  fs::path file = library;
  return file.replace_extension(kBlocksEnding);
}

SharedLibrary open_blocks(const fs::path& library, std::string_view torch) {
  const fs::path file = blocks_file(library);
  if (!is_library_there(file)) {
    throw ConfigError(
        fmt::format("{}: No such file, and {} needs it for what computes; gangway_add_library() "
                    "of CMake makes both: keep them side by side (docs/python.md)",
                    file.string(), library.filename().string()));
  }
  return SharedLibrary(file, torch);
}

fs::path kept_library(const HashedFile& library) {
  return fs::path(kModulesFolder) / fmt::format("library-{}.so", library.hash);
}

void settle_library(HashedFile& library, const fs::path& run) {
  if (library.file.empty()) {
    return;
  }
  if (library.file.ends_with(kBlocksEnding)) {
    throw ConfigError(fmt::format(
        "{}: has the blocks of a library; name the file beside it that has the rows, {}.so",
        library.file, library.file.substr(0, library.file.size() - kBlocksEnding.size())));
  }
  const bool may_be_kept = !run.empty() && !library.hash.empty();
  if (const fs::path kept = run / kept_library(library); may_be_kept && is_library_there(kept)) {
    library.file = kept.string();
  }
  if (library.hash.empty()) {
    library.hash = read_both(library.file).hash();
  } else {
    (void)read_checked(library);
  }
  require_usable(rows_of(library), library.file);
}

const LibraryRows& rows_of(const HashedFile& library) {
  static const LibraryRows none;
  if (library.file.empty()) {
    return none;
  }
  const SharedLibrary opened(library.file);
  return opened.function<const LibraryRows&()>("gangway_library_rows")();
}

void keep_library(const HashedFile& library, const fs::path& run) {
  if (library.file.empty()) {
    return;
  }
  const fs::path kept = run / kept_library(library);
  std::error_code error;
  fs::create_directories(kept.parent_path(), error);
  if (error) {
    throw EnvironmentError(
        fmt::format("{}: cannot be made: {}", kept.parent_path().string(), error.message()));
  }
  const LibraryBytes both = read_checked(library);
  if (is_library_there(kept) && read_both(kept).hash() == library.hash) {
    return;
  }
  if (!both.blocks.empty()) {
    write_file_atomically(blocks_file(kept), both.blocks);
  }
  write_file_atomically(kept, both.rows);  // last: if it exists, both do
}

}  // namespace gangway
