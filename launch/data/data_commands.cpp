// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/system/usable_cores.hpp"
#include "base/text/aligned_text.hpp"
#include "data/survey.hpp"
#include "data/two_sides.hpp"
#include "gan/pictures/png.hpp"
#include "job/data_source.hpp"
#include "launch/data/source_facts.hpp"
#include "launch/process/command_list.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using data::Survey;

/// Maximum number of lines of one kind in the text; --json has all.
constexpr std::size_t kShown = 10;

struct CheckOptions {
  std::string source;
  int resolution = 64;
  std::int64_t most = 0;  ///< maximum number of images to read; 0: all
  std::optional<fs::path> sheet;
  bool json = false;
};

/// Returns "32 x 32: 4,000, 28 x 28: 12 and 3 other sizes", the most frequent first.
std::string sizes_text(const Survey& survey) {
  std::vector<std::pair<std::int64_t, std::pair<int, int>>> sizes;
  for (const auto& [size, count] : survey.sizes) {
    sizes.emplace_back(-count, size);
  }
  std::sort(sizes.begin(), sizes.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(sizes.size(), kShown); ++i) {
    const auto& [negative_count, size] = sizes[i];
    text +=
        fmt::format("{}{} x {}: {}", i == 0 ? "" : ", ", size.first, size.second, -negative_count);
  }
  return sizes.size() <= kShown ? text
                                : text + fmt::format(" and {} other sizes", sizes.size() - kShown);
}

std::string label_name(const data::ImageLabels& labels, std::size_t label) {
  return labels.classes.empty() ? std::to_string(label)
                                : fmt::format("{} ({})", label, labels.classes[label]);
}

std::string labels_text(const Survey& survey, const data::ImageLabels& labels) {
  if (survey.by_label.empty()) {
    return "none";
  }
  const auto [fewest, most] = std::minmax_element(survey.by_label.begin(), survey.by_label.end());
  const auto index = [&](auto place) {
    return static_cast<std::size_t>(place - survey.by_label.begin());
  };
  return fmt::format("{}: from {} images of {} to {} of {}", survey.by_label.size(), *fewest,
                     label_name(labels, index(fewest)), *most, label_name(labels, index(most)));
}

std::string channels_text(const std::array<double, 3>& values) {
  return fmt::format("{:.1f}, {:.1f}, {:.1f}", values[0], values[1], values[2]);
}

/// Prints the first lines, up to kShown.
void print_some(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return;
  }
  std::cout << title << '\n';
  for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i) {
    std::cout << "  " << lines[i] << '\n';
  }
  if (lines.size() > kShown) {
    std::cout << fmt::format("  and {} more (--json lists all)\n", lines.size() - kShown);
  }
}

/// Returns one line per label: "12 of 0 (ant)".
std::vector<std::string> images_by_label(const Survey& survey, const data::ImageLabels& labels) {
  std::vector<std::string> lines;
  for (std::size_t label = 0; label < survey.by_label.size(); ++label) {
    lines.push_back(fmt::format("{} of {}", survey.by_label[label], label_name(labels, label)));
  }
  return lines;
}

void print_for_people(const Survey& survey, const data::ImageLabels& labels,
                      const CheckOptions& options, double seconds) {
  std::vector<std::string> duplicates;
  for (const std::vector<std::string>& group : survey.duplicates) {
    duplicates.push_back(fmt::format("{}", fmt::join(group, " = ")));
  }
  std::cout << aligned_text(
      {{"images", std::to_string(survey.images)},
       {"sizes", sizes_text(survey)},
       {"channels", fmt::format("gray: {}, colour: {}", survey.gray, survey.images - survey.gray)},
       {"labels", labels_text(survey, labels)},
       {"mean", fmt::format("{} (red, green, blue, of 255)", channels_text(survey.mean))},
       {"deviation", channels_text(survey.deviation)},
       {"duplicates", fmt::format("{} groups of equal images", duplicates.size())},
       {"broken", std::to_string(survey.broken.size())},
       {"time", fmt::format("{:.1f} s", seconds)}},
      {});
  print_some("labels:", images_by_label(survey, labels));
  print_some("duplicates:", duplicates);
  print_some("broken:", survey.broken);
  if (options.sheet && !survey.samples.empty()) {
    std::cout << options.sheet->string() << ": written\n";
  }
  std::cout << std::flush;
}

/// @param files  number of images in the source, read or not
void print_json(const Survey& survey, const data::ImageLabels& labels, std::size_t files,
                double seconds) {
  nlohmann::ordered_json document{
      {"images", survey.images}, {"gray", survey.gray}, {"seconds", seconds}, {"files", files}};
  document["sizes"] = nlohmann::ordered_json::array();
  for (const auto& [size, count] : survey.sizes) {
    document["sizes"].push_back(
        {{"width", size.first}, {"height", size.second}, {"images", count}});
  }
  std::vector<std::int64_t> files_of(survey.by_label.size());
  for (const int label : labels.of_images) {
    ++files_of[static_cast<std::size_t>(label)];
  }
  document["labels"] = nlohmann::ordered_json::array();
  for (std::size_t label = 0; label < survey.by_label.size(); ++label) {
    document["labels"].push_back({{"label", label},
                                  {"name", labels.classes.empty() ? "" : labels.classes[label]},
                                  {"images", survey.by_label[label]},
                                  {"files", files_of[label]}});
  }
  document["mean"] = survey.mean;
  document["deviation"] = survey.deviation;
  document["duplicates"] = survey.duplicates;
  document["broken"] = survey.broken;
  std::cout << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << std::endl;
}

void write_sheet(const fs::path& path, const Survey& survey, int resolution) {
  std::vector<float> pixels;
  const std::size_t plane =
      static_cast<std::size_t>(resolution) * static_cast<std::size_t>(resolution);
  for (const data::Pixels& sample : survey.samples) {
    pixels.resize(pixels.size() + 3 * plane);
    data::to_floats(sample, 3, std::span(pixels).last(3 * plane));
  }
  constexpr int kColumns = 8;
  pictures::write_png_grid(path,
                           {.pixels = pixels,
                            .count = static_cast<int>(survey.samples.size()),
                            .channels = 3,
                            .height = resolution,
                            .width = resolution},
                           kColumns);
}

/// Returns the folder or file of a source. @throws ConfigError for other kinds of sources
std::string location_of(const std::string& source) {
  const std::string pictures = pictures_of(source);
  if (std::error_code failure;
      pictures.empty() && is_known_source(source) && !fs::exists(source, failure)) {
    throw ConfigError(
        fmt::format("{}: holds no picture files; this command reads a folder, ZIP or tar of "
                    "pictures; a training checks IDX files whole when it opens them",
                    source));
  }
  return pictures.empty() ? source : pictures;
}

/// Returns 2 if an image is broken, because a training would end at it.
int check(const CheckOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string location = location_of(options.source);
  const auto archive = open_pictures(location);
  if (archive->entries().empty()) {
    throw ConfigError(
        fmt::format("{}: holds no .png, .jpg, .jpeg or .webp file; check the path", location));
  }
  const bool has_sides =
      options.source.starts_with("pairs:") || options.source.starts_with("unpaired:");
  if (has_sides) {  // checks for both pictures; their folders are no labels
    (void)data::open_two_sides({.source = options.source}, {.resolution = options.resolution},
                               data::SourcePart::kTraining);
  }
  const data::ImageLabels labels =
      has_sides ? data::ImageLabels{} : data::labels_of(*archive, location);
  const Survey survey = data::survey_images(
      *archive, labels,
      {.resolution = options.resolution, .threads = usable_cores(), .most = options.most});
  if (options.sheet && !survey.samples.empty()) {
    write_sheet(*options.sheet, survey, options.resolution);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  options.json ? print_json(survey, labels, archive->entries().size(), seconds)
               : print_for_people(survey, labels, options, seconds);
  return static_cast<int>(survey.broken.empty() ? ExitCode::kDone : ExitCode::kUsage);
}

}  // namespace

void add_data_commands(CLI::App& app, CommandLine& line) {
  CLI::App* group = app.add_subcommand("data", "Look at images before training on them");
  group->require_subcommand(1);
  CLI::App* command = group->add_subcommand(
      "check", "Read every image: sizes, labels, duplicates, broken files, mean and deviation");
  const auto options = std::make_shared<CheckOptions>();
  command
      ->add_option("source", options->source,
                   "Folder, ZIP or tar, as in data.source: images:SOURCE; or pairs:SOURCE, "
                   "unpaired:SOURCE")
      ->required();
  command
      ->add_option("--resolution", options->resolution,
                   "Side in pixels of the squares for mean and sheet")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--most", options->most, "Images that are read, evenly spread. Default: all")
      ->check(CLI::PositiveNumber);
  command->add_option("--sheet", options->sheet, "PNG file for a contact sheet of 64 images");
  command->add_flag("--json", options->json, "For programs");
  command->footer(
      "Exit code 2 where an image cannot be read: a training would end there.\n"
      "Example: gangway data check photos.zip --sheet photos.png");
  command->callback([options, &line] { line.action = [options] { return check(*options); }; });
  add_pack_command(*group, line);
  add_data_bench_command(*group, line);
}

}  // namespace gangway::launch
