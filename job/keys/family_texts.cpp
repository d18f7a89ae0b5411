// SPDX-License-Identifier: MIT
#include "job/keys/family_texts.hpp"

#include <fmt/format.h>

#include "job/models/families.hpp"

namespace gangway {

std::string family_docs() {
  std::string docs;
  for (const ModelFamily& family : families()) {
    docs += fmt::format("{}{}, {}", docs.empty() ? "" : "; ", family.name, family.doc);
  }
  return docs;
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
  return text;
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

}  // namespace gangway
