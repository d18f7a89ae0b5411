// SPDX-License-Identifier: MIT
#include "launch/data/require_data.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "data/images/style_picture.hpp"
#include "data/open_dataset.hpp"
#include "job/families/families.hpp"
#include "launch/data/source_facts.hpp"

namespace gangway::launch {
namespace {

/// Returns a note if job and data disagree about labels, but can be trained.
std::string label_note(const JobSpec& spec, int classes) {
  const std::string& source = spec.data.source;
  if (spec.model.classes > classes) {
    return fmt::format(
        "model.classes is {}, and data.source {} has {} labels: the other classes have no "
        "examples; model.classes={} fits the data",
        spec.model.classes, source, classes, classes);
  }
  // For other sources, such as fashion-mnist, jobs without labels are usual.
  return spec.model.classes == 0 && classes > 1 && spec.model.family->takes_labels &&
                 is_looked_at(spec.data)
             ? fmt::format(
                   "model.classes is 0, and data.source {} has {} labels: they are not used; "
                   "model.classes={} gives them to the networks",
                   source, classes, classes)
             : "";
}

std::string batch_note(const JobSpec& spec, std::int64_t examples) {
  return spec.training.batch > examples
             ? fmt::format(
                   "training.batch is {}, and data.source {} has {} examples: each step shows some "
                   "of them more than once; training.batch={} is less",
                   spec.training.batch, spec.data.source, examples,
                   std::max(spec.training.microbatches, static_cast<int>(examples) /
                                                            spec.training.microbatches *
                                                            spec.training.microbatches))
             : "";
}

std::string progress_line(const DataSpec& data, std::uint64_t bytes, std::uint64_t total) {
  constexpr double kGigabyte = 1e9;
  return data.module.is_python() ? fmt::format("data   {} begins", data.source)
         : total == 0            ? "data   another process is reading the files"
                      : fmt::format("data   read {:.0f} % of {:.1f} GB, to fingerprint the files",
                                    100.0 * static_cast<double>(bytes) / static_cast<double>(total),
                                    static_cast<double>(total) / kGigabyte);
}

}  // namespace

std::string colour_note(const JobSpec& spec) {
  const std::optional<SourceFacts> facts = source_facts(spec.data);
  if (!facts || !spec.model.family->makes_images() ||
      facts->is_gray == (spec.model.channels == 1)) {
    return {};
  }
  return facts->is_gray
             ? fmt::format(
                   "data.source {} has grey pictures, and model.channels is 3: they are trained as "
                   "three equal channels; model.channels=1 costs less",
                   spec.data.source)
             : fmt::format(
                   "data.source {} has colour pictures, and model.channels is 1: they are trained "
                   "grey; model.channels=3 keeps their colours",
                   spec.data.source);
}

void require_style_picture(const JobSpec& spec) {
  if (!spec.training.style.picture.file.empty()) {
    (void)data::read_style_picture(spec);
  }
}

void require_source(const JobSpec& spec) {
  if (!spec.data.module.is_python()) {
    (void)data::open_dataset(spec.data, spec.model, spec.training.seed);
  }
}

DataFacts require_data(const JobSpec& spec, const Environment& environment,
                       const std::function<void(const std::string&)>& say) {
  data::ContentsCheck check{.index_folder = data::index_folder_of(environment),
                            .progress = [&say, &spec](std::uint64_t bytes, std::uint64_t total) {
                              say(progress_line(spec.data, bytes, total));
                            }};
  const auto dataset = data::open_dataset(spec.data, spec.model, spec.training.seed, &check);
  if (dataset->reads() != data::Reads::kNamed) {
    std::vector<float> first(dataset->shape().elements());
    (void)dataset->read(0, first);
  }
  const int labels = dataset->num_classes();
  DataFacts facts{.what = fmt::format("{}, {} example{}{}", spec.data.source, dataset->size(),
                                      dataset->size() == 1 ? "" : "s",
                                      labels > 0 ? fmt::format(", {} labels", labels) : "")};
  for (std::string note :
       {colour_note(spec), label_note(spec, labels), batch_note(spec, dataset->size())}) {
    if (!note.empty()) {
      facts.notes.push_back(std::move(note));
    }
  }
  for (std::string& note : check.notes) {
    facts.notes.push_back(std::move(note));
  }
  return facts;
}

}  // namespace gangway::launch
