// SPDX-License-Identifier: MIT
#include "job/file/parse.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/families/families.hpp"
#include "job/file/host_names.hpp"
#include "job/keys/library_keys.hpp"
#include "job/keys/settings.hpp"
#include "job/library/family_library.hpp"
#include "job/modules/module_files.hpp"
#include "job/rules/rules.hpp"
#include "job/run_name.hpp"
#include "job/schema/key.hpp"

namespace gangway {
namespace {

/// lambda of the WGAN-GP penalty in the paper's experiments (Gulrajani et al., 2017, section 4).
constexpr double kUsualGradientPenalty = 10.0;

/// A spec on its way: what was given, by whom, and which keys are not worth a second complaint.
struct Draft {
  JobSpec spec;
  std::map<std::string, Origin> given = {};
  std::set<std::string> faulty = {};
};

/// The content of `path`, one byte more than allowed at most: read_yaml refuses that.
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

/// Naming one variant forgets what was given for its siblings: they are replaced as a whole.
void forget_siblings(const Key& variant, std::map<std::string, Origin>& given) {
  const std::string siblings = variant.parent() + ".";
  const std::string own = variant.path + ".";
  std::erase_if(given, [&](const auto& entry) {
    return entry.first.starts_with(siblings) && !entry.first.starts_with(own);
  });
}

Draft apply(const std::vector<Setting>& settings, JobSpec begun, Problems& problems) {
  Draft draft{.spec = std::move(begun)};
  for (const Setting& setting : settings) {
    const Key& key = *setting.key;
    const std::string complaint =
        is_about_library(key) ? std::string() : key.set(setting.value, draft.spec);
    if (!complaint.empty()) {
      problems.add(fmt::format("{}: {}", setting.origin.text, complaint));
      draft.faulty.insert(key.path);
      continue;
    }
    if (key.is_variant) {
      forget_siblings(key, draft.given);
    }
    draft.given.insert_or_assign(key.path, setting.origin);
  }
  return draft;
}

void refuse_misplaced(const Draft& draft, Problems& problems) {
  for (const Key& key : key_table(*draft.spec.training.recipe)) {
    const auto given = draft.given.find(key.path);
    const std::string reason =
        given == draft.given.end() ? std::string() : key.why_refused(draft.spec);
    if (!reason.empty()) {
      problems.add(fmt::format("{}: {}", given->second.text, reason));
    }
  }
}

/// Where all networks are the user's, the family is nobody's, unless it is named: for points, say.
void settle_family(Draft& draft) {
  const bool are_all_own = std::ranges::none_of(
      draft.spec.networks, [](const NetworkSpec& network) { return network.module.file.empty(); });
  if (are_all_own && !draft.given.contains("model.family")) {
    draft.spec.model.family = own_family();
  }
}

/// Defaults that depend on other keys.
void settle(Draft& draft) {
  ModelSpec& model = draft.spec.model;
  PenaltySpec& penalty = draft.spec.training.penalty;
  if (!model.family->resolutions.empty() && !draft.given.contains("model.resolution")) {
    model.resolution = model.family->resolutions.front();
  }
  if (draft.spec.training.recipe->takes_penalties &&
      draft.spec.training.loss == LossKind::kWasserstein &&
      !draft.given.contains("training.gradient_penalty")) {
    penalty.gradient_penalty = kUsualGradientPenalty;
  }
  if (model.family->makes_points && !draft.given.contains("training.reconstruction")) {
    draft.spec.training.autoencoder.reconstruction = Reconstruction::kSquared;
  }
  for (NetworkSpec& network : draft.spec.networks) {
    network.ema_kimg = network.is_frozen ? 0.0 : network.ema_kimg;
  }
  model = draft.spec.settled_model();
}

/// The value to complain about: the one given last, in the layer that is nearest to the user.
std::string blamed_place(const Rule& rule, const Draft& draft) {
  const Origin* blamed = nullptr;
  for (const std::string& key : rule.keys) {
    const auto given = draft.given.find(key);
    if (given != draft.given.end() && (blamed == nullptr || given->second.layer > blamed->layer)) {
      blamed = &given->second;
    }
  }
  return blamed == nullptr ? "default: " + rule.keys.front() : blamed->text;
}

void check_rules(const Draft& draft, Problems& problems) {
  for (const Rule& rule : job_rules(*draft.spec.training.recipe)) {
    bool is_judged = true;
    for (const std::string& key : rule.keys) {
      is_judged = is_judged && !draft.faulty.contains(key);
    }
    const std::string complaint = is_judged ? rule.complaint(draft.spec) : std::string();
    if (!complaint.empty()) {
      problems.add(fmt::format("{}: {}", blamed_place(rule, draft), complaint));
    }
  }
}

/// What `sources` say in the words of a job of `recipe`. @param text  of the job file, if there is
/// one
std::vector<Setting> collect(const JobSources& sources, const std::optional<std::string>& text,
                             const Recipe& recipe, Problems& problems) {
  SettingCollector collector(key_index(recipe), problems);
  if (text) {
    collector.add_file(sources.file.string(), *text);
  }
  for (const auto& [name, value] : sources.environment) {
    collector.add_environment(name, value);
  }
  for (const std::string& override : sources.overrides) {
    collector.add_override(override);
  }
  return collector.settings();
}

/// The library comes first: other settings may name what it has.
/// @throws JobFileError of one line where it cannot be used: the others would complain in vain
HashedFile library_of(const std::vector<Setting>& settings, const std::filesystem::path& run) {
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
  try {
    settle_library(draft.model.library, run);
  } catch (const ConfigError& error) {
    throw JobFileError({fmt::format("{}: {}", place, error.what())});
  }
  return draft.model.library;
}

/// The one that is named last; where it has no such name, apply() says so.
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

struct Resolved {
  JobSpec spec;
  std::vector<std::string> named_hosts;
};

Resolved resolve(const JobSources& sources) {
  std::optional<std::string> text = sources.text;
  if (!text && !sources.file.empty()) {
    text = read_job_file(sources.file);
  }
  // The recipe decides which networks there are to say something about.
  Problems problems;
  std::vector<Setting> settings = collect(sources, text, *default_recipe(), problems);
  const HashedFile library =
      library_of(settings, sources.text ? sources.run : sources.file.parent_path());
  const Recipe& recipe = recipe_of(settings, library);
  if (&recipe != default_recipe()) {
    problems = {};
    settings = collect(sources, text, recipe, problems);
  }
  std::vector<std::string> named_hosts =
      resolve_host_names(settings, recipe, sources.hosts, problems);
  JobSpec begun = JobSpec::of(recipe);
  begun.model.library = library;
  Draft draft = apply(settings, std::move(begun), problems);
  settle_family(draft);
  refuse_misplaced(draft, problems);
  settle(draft);
  check_rules(draft, problems);
  if (const auto lines = problems.lines(); !lines.empty()) {
    throw JobFileError(lines);
  }
  return {.spec = std::move(draft.spec), .named_hosts = std::move(named_hosts)};
}

}  // namespace

JobFileError::JobFileError(std::vector<std::string> problems)
    : ConfigError(fmt::format("{}", fmt::join(problems, "\n"))), problems_(std::move(problems)) {}

ResolvedJob load_job(const JobSources& sources) {
  Resolved resolved = resolve(sources);
  JobSpec& spec = resolved.spec;
  settle_modules(spec, sources.file.parent_path());
  return {.spec = spec,
          .name = run_name_of(sources.file),
          .yaml = to_yaml(spec),
          .named_hosts = std::move(resolved.named_hosts)};
}

JobSpec parse_job(std::string_view text, const std::string& name,
                  const std::filesystem::path& run) {
  JobSources sources;
  sources.file = name;
  sources.run = run;
  sources.text = std::string(text);
  return resolve(sources).spec;
}

}  // namespace gangway
