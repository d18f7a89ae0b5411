// SPDX-License-Identifier: MIT
#include "job/file/settle_places.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/system/trusted_code.hpp"
#include "job/keys/key_lists.hpp"
#include "job/library/family_library.hpp"
#include "job/schema/key.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway {
namespace {

/// The places that describe a job, before its recipe is known.
struct Places {
  const JobSources& sources;
  const std::optional<std::string>& text;
  Layer last;
};

/// The job's recipe after each place; it decides the keys that the place may use.
using RecipesOfPlaces = std::map<Layer, const Recipe*>;

/// Reads `path`, at most one byte above the limit, so that read_yaml refuses longer files.
std::string read_job_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw JobFileError({fmt::format("{}: is a folder; name a job file in it", path.string())});
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const std::string cause =
        errno == ENOENT ? "no such file" : std::generic_category().message(errno);
    throw JobFileError(
        {fmt::format("{}: {}; job files to begin with are in examples/", path.string(), cause)});
  }
  std::string content(kYamlLimitBytes + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

/// Returns the last place that gives a value.
Layer last_place(const JobSources& sources) {
  return !sources.overrides.empty()     ? Layer::kCommandLine
         : !sources.environment.empty() ? Layer::kEnvironment
                                        : Layer::kFile;
}

/// Collects settings by `recipe`'s keys; leaves out keys that only a place's recipe in `own` has.
SettingCollector collect(const Places& places, const Recipe& recipe, const RecipesOfPlaces& own,
                         Problems& problems) {
  SettingCollector collector(key_index(recipe), problems);
  const auto begin = [&](Layer layer) {
    const auto of_place = own.find(layer);
    collector.leave_out(of_place == own.end() ? nullptr : &key_index(*of_place->second));
  };
  if (places.text) {
    begin(Layer::kFile);
    collector.add_file(places.sources.file.string(), *places.text);
  }
  if (places.last >= Layer::kEnvironment) {
    begin(Layer::kEnvironment);
    for (const auto& [name, value] : places.sources.environment) {
      collector.add_environment(name, value);
    }
  }
  if (places.last >= Layer::kCommandLine) {
    begin(Layer::kCommandLine);
    for (const std::string& override : places.sources.overrides) {
      collector.add_override(override);
    }
  }
  return collector;
}

/// Requires a trusted job file, because reading a job loads the library that it names.
void require_trusted_origin(const JobSources& sources) {
  require_trusted(!sources.text            ? sources.file
                  : sources.origin.empty() ? sources.run
                                           : sources.origin);
}

/// Settles the library first, because other settings may name its rows.
/// @throws JobFileError of one line if it cannot be used, because all other complaints would follow
/// from that. ConfigError if it is not trusted
HashedFile library_of(const std::vector<Setting>& settings, const JobSources& sources) {
  JobSpec draft;
  std::string place;
  for (const Setting& setting : settings) {
    if (is_about_library(*setting.key)) {
      place = setting.origin.text;
      const std::string complaint = setting.key->set(setting.value, draft);
      if (!complaint.empty()) {
        throw JobFileError({fmt::format("{}: {}", place, complaint)});
      }
    }
  }
  if (!draft.model.library.file.empty()) {
    require_trusted_origin(sources);
  }
  try {
    settle_library(draft.model.library, sources.text ? sources.run : sources.file.parent_path());
  } catch (const ConfigError& error) {
    throw JobFileError({fmt::format("{}: {}", place, error.what())});
  }
  return draft.model.library;
}

/// Returns the recipe named last. If the name is unknown, apply() reports it.
const Recipe& recipe_of(const std::vector<Setting>& settings, const HashedFile& library) {
  JobSpec draft;
  draft.model.library = library;
  for (const Setting& setting : settings) {
    if (setting.key->path == kRecipeKey) {
      (void)setting.key->set(setting.value, draft);
    }
  }
  return *draft.training.recipe;
}

/// Returns the recipes of places before the last, where they differ from `recipe`.
RecipesOfPlaces earlier_recipes(const Places& places, const HashedFile& library,
                                const Recipe& recipe) {
  RecipesOfPlaces recipes;
  for (const Layer layer : {Layer::kFile, Layer::kEnvironment}) {
    if (layer < places.last) {
      Problems ignored;
      const Recipe& own = recipe_of(
          collect({places.sources, places.text, layer}, *default_recipe(), {}, ignored).settings(),
          library);
      if (&own != &recipe) {
        recipes.emplace(layer, &own);
      }
    }
  }
  return recipes;
}

/// Returns whether a complaint about `path` also occurs without later places.
bool is_wrong_by_itself(const Places& places, const std::string& path, Layer layer,
                        std::map<Layer, std::optional<SettledPlaces>>& earlier) {
  if (!earlier.contains(layer)) {
    std::optional<SettledPlaces> place;
    try {
      place = settle_places(places.sources, places.text, layer);
    } catch (const JobFileError&) {  // its library cannot be used: nothing to compare with
    }
    earlier.emplace(layer, std::move(place));
  }
  const std::optional<SettledPlaces>& place = earlier.at(layer);
  return !place || std::ranges::any_of(place->draft.complaints, [&](const Complaint& complaint) {
    return complaint.companions.contains(path);
  });
}

/// Returns the keys of the earliest place whose omission ends a complaint, for the first such one.
std::vector<LeftOut> giving_way(const Places& places, const Draft& draft,
                                std::map<Layer, std::optional<SettledPlaces>>& earlier) {
  for (const Complaint& complaint : draft.complaints) {
    for (const Layer layer : {Layer::kFile, Layer::kEnvironment}) {
      std::vector<LeftOut> found;
      for (const auto& [path, given] : complaint.companions) {
        if (given == layer && layer < places.last &&
            !is_wrong_by_itself(places, path, layer, earlier)) {
          found.push_back({.path = path, .layer = layer});
        }
      }
      if (!found.empty()) {
        return found;
      }
    }
  }
  return {};
}

}  // namespace

SettledPlaces settle_places(const JobSources& sources, const std::optional<std::string>& text,
                            Layer last) {
  const Places places{sources, text, last};
  SettledPlaces settled;
  // The recipe decides the networks, and so the keys that apply.
  std::vector<Setting> settings =
      collect(places, *default_recipe(), {}, settled.problems).settings();
  const HashedFile library = library_of(settings, sources);
  const Recipe& recipe = recipe_of(settings, library);
  const RecipesOfPlaces earlier_words = earlier_recipes(places, library, recipe);
  if (&recipe != default_recipe() || !earlier_words.empty()) {
    settled.problems = {};
    const SettingCollector collected = collect(places, recipe, earlier_words, settled.problems);
    settings = collected.settings();
    settled.left_out = collected.left_out();
  }
  if (sources.is_stored) {
    renumber_former_workers(settings, recipe);
  }
  settled.named_hosts = take_host_names(settings, recipe, sources.may_name_hosts, settled.problems);
  JobSpec begun = JobSpec::of(recipe);
  begun.model.library = library;
  std::map<Layer, std::optional<SettledPlaces>> earlier;
  for (;;) {
    settled.draft = draft_of(settings, begun);
    const std::vector<LeftOut> found = giving_way(places, settled.draft, earlier);
    if (found.empty()) {
      break;
    }
    for (const LeftOut& one : found) {
      std::erase_if(settings,
                    [&](const Setting& setting) { return setting.key->path == one.path; });
      settled.left_out.push_back(one);
    }
  }
  for (const Complaint& complaint : settled.draft.complaints) {
    settled.problems.add(complaint.line);
  }
  return settled;
}

std::optional<std::string> job_text(const JobSources& sources) {
  return sources.text || sources.file.empty() ? sources.text
                                              : std::optional(read_job_file(sources.file));
}

SettledPlaces settle_sources(const JobSources& sources, const std::optional<std::string>& text) {
  return settle_places(sources, text, last_place(sources));
}

}  // namespace gangway
