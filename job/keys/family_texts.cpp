// SPDX-License-Identifier: MIT
#include "job/keys/family_texts.hpp"

#include <vector>

#include <fmt/format.h>

#include "job/families/families.hpp"

namespace gangway {

namespace {

template <typename Row>
std::string docs_of(const std::vector<Row>& table) {
  std::string docs;
  for (const Row& row : table) {
    docs += fmt::format("- `{}`: {}.\n", row.name, row.doc);
  }
  return docs;
}

}  // namespace

std::string family_docs() { return docs_of(families()) + docs_of(std::vector{*own_family()}); }

std::string recipe_docs() {
  return docs_of(recipes()) +
         "- A list of names: networks of your own, for training.step (docs/own-step.md).\n";
}

std::string network_names(const Recipe& recipe) {
  std::string names;
  for (const RecipeNetwork& network : recipe.networks) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", network.name);
  }
  return names;
}

std::string default_resolutions() {
  const int usual = ModelSpec{}.resolution;
  std::string text;
  for (const ModelFamily& family : families()) {
    if (family.makes_images() && family.resolutions.front() != usual) {
      text += fmt::format("{} for {}, ", family.resolutions.front(), family.name);
    }
  }
  return fmt::format("{}else {}", text, usual);
}

std::string allowed_resolutions() {
  std::string text;
  for (const ModelFamily& family : families()) {
    if (family.makes_images()) {
      text += fmt::format("{}{} for {}", text.empty() ? "" : ", ",
                          fmt::join(family.resolutions, " or "), family.name);
    }
  }
  return fmt::format("{}, any for {}", text, own_family()->name);
}

std::string refuse_unless_images(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  return family.makes_points
             ? fmt::format("has no meaning for family {}, which makes points; leave it out",
                           family.name)
             : "";
}

std::string refuse_unless_labels(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  return family.makes_points || family.takes_labels
             ? refuse_unless_images(job)
             : fmt::format("has no meaning for family {}, which takes no labels; leave it out",
                           family.name);
}

std::string refuse_if_own(const JobSpec& job) {
  return job.model.family == own_family()
             ? fmt::format("has no meaning for family {}, whose networks are yours; leave it out",
                           own_family()->name)
             : "";
}

std::string refuse_unless_taken(const std::string& key, const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  if (job.model.family == own_family()) {
    return refuse_if_own(job);
  }
  return family.takes(key)
             ? ""
             : fmt::format("has no meaning for family {} (it has for {}); leave it out",
                           family.name, families_that_take(key));
}

std::string families_that_take(std::string_view key) {
  return family_names(", ", [key](const ModelFamily& family) { return family.takes(key); });
}

}  // namespace gangway
