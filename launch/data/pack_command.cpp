// SPDX-License-Identifier: MIT
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/usable_cores.hpp"
#include "base/units.hpp"
#include "data/kept/write_pack.hpp"
#include "job/data_source.hpp"
#include "launch/data/source_facts.hpp"
#include "launch/process/command_list.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

struct PackWords {
  std::string source;
  fs::path folder;
  int resolution = 0;
  int threads = 0;
};

int pack(const PackWords& words) {
  constexpr std::string_view kForm = "images:";
  const std::string location =
      words.source.starts_with(kForm) ? words.source.substr(kForm.size()) : words.source;
  if (std::error_code failure; is_known_source(location) && !fs::exists(location, failure)) {
    throw ConfigError(
        fmt::format("{}: cannot be packed; name a folder, ZIP or tar of pictures, as in "
                    "images:DIR_OR_FILE",
                    location));
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto archive = open_pictures(location);
  const data::Pack made =
      data::write_pack(*archive, location,
                       {.folder = words.folder,
                        .resolution = words.resolution,
                        .threads = words.threads > 0 ? words.threads : usable_cores()});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto pictures = static_cast<double>(made.entries.size());
  std::cout << fmt::format(
                   "{}: {} pictures of {} x {}, {}, {} labels, {:.1f} MiB in {} files; {:.1f} s, "
                   "{:.0f} pictures/s\ntrain on it with data.source=pack:{} model.resolution={}",
                   words.folder.string(), made.entries.size(), made.resolution, made.resolution,
                   made.channels == 1 ? "grey" : "in colour", made.num_classes,
                   pictures * static_cast<double>(made.picture_bytes()) / kMebibyte,
                   made.shards.size(), seconds, pictures / seconds, words.folder.string(),
                   made.resolution)
            << std::endl;
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

void add_pack_command(CLI::App& group, CommandLine& line) {
  CLI::App* command = group.add_subcommand(
      "pack", "Decode and resize pictures once: a folder that trains to the same digest, faster");
  const auto words = std::make_shared<PackWords>();
  command
      ->add_option("source", words->source, "Folder, ZIP or tar, as in data.source: images:SOURCE")
      ->required();
  command->add_option("folder", words->folder, "Folder of the pack: a new or an empty one")
      ->required();
  command->add_option("--resolution", words->resolution, "model.resolution of the jobs it is for")
      ->check(CLI::Range(1, 4096))
      ->required();
  command->add_option("--threads", words->threads, "Decoding threads; default: one per core")
      ->check(CLI::Range(1, 1024));
  command->footer(
      "Exit code 2 where a picture cannot be read.\n"
      "Example: gangway data pack photos.zip photos-64 --resolution 64");
  command->callback([words, &line] { line.action = [words] { return pack(*words); }; });
}

}  // namespace gangway::launch
