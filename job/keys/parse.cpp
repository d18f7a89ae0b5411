// SPDX-License-Identifier: MIT
#include "job/keys/parse.hpp"

#include <cerrno>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "job/keys/key.hpp"
#include "job/keys/rules.hpp"
#include "job/keys/settings.hpp"
#include "job/models/families.hpp"
#include "job/run_name.hpp"

namespace gangway {
namespace {

/// lambda of the WGAN-GP penalty in the paper's experiments (Gulrajani et al., 2017, section 4).
constexpr double kUsualGradientPenalty = 10.0;

/// A spec on its way: what was given, by whom, and which keys are not worth a second complaint.
struct Draft {
  JobSpec spec;
  std::map<std::string, Origin> given;
  std::set<std::string> faulty;
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

Draft apply(const std::vector<Setting>& settings, Problems& problems) {
  Draft draft;
  for (const Setting& setting : settings) {
    const Key& key = *setting.key;
    const std::string complaint = key.set(setting.value, draft.spec);
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
  for (const Key& key : key_table()) {
    const auto given = draft.given.find(key.path);
    const std::string reason =
        given == draft.given.end() ? std::string() : key.why_refused(draft.spec);
    if (!reason.empty()) {
      problems.add(fmt::format("{}: {}", given->second.text, reason));
    }
  }
}

/// Defaults that depend on other keys.
void settle(Draft& draft) {
  ModelSpec& model = draft.spec.model;
  PenaltySpec& penalty = draft.spec.training.penalty;
  if (model.family->makes_images() && !draft.given.contains("model.resolution")) {
    model.resolution = model.family->resolutions.front();
  }
  if (draft.spec.training.loss == LossKind::kWasserstein &&
      !draft.given.contains("training.gradient_penalty")) {
    penalty.gradient_penalty = kUsualGradientPenalty;
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
  for (const Rule& rule : job_rules()) {
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

JobSpec resolve(const JobSources& sources) {
  Problems problems;
  SettingCollector collector(key_index(), problems);
  if (sources.text) {
    collector.add_file(sources.file.string(), *sources.text);
  } else if (!sources.file.empty()) {
    collector.add_file(sources.file.string(), read_job_file(sources.file));
  }
  for (const auto& [name, value] : sources.environment) {
    collector.add_environment(name, value);
  }
  for (const std::string& text : sources.overrides) {
    collector.add_override(text);
  }
  Draft draft = apply(collector.settings(), problems);
  refuse_misplaced(draft, problems);
  settle(draft);
  check_rules(draft, problems);
  if (const auto lines = problems.lines(); !lines.empty()) {
    throw JobFileError(lines);
  }
  return draft.spec;
}

}  // namespace

JobFileError::JobFileError(std::vector<std::string> problems)
    : ConfigError(fmt::format("{}", fmt::join(problems, "\n"))), problems_(std::move(problems)) {}

ResolvedJob load_job(const JobSources& sources) {
  const JobSpec spec = resolve(sources);
  return {.spec = spec, .name = run_name_of(sources.file), .yaml = to_yaml(spec)};
}

JobSpec parse_job(std::string_view text, const std::string& name) {
  JobSources sources;
  sources.file = name;
  sources.text = std::string(text);
  return resolve(sources);
}

}  // namespace gangway
