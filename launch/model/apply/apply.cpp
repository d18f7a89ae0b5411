// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/utf8.hpp"
#include "base/units.hpp"
#include "data/archives/archive_names.hpp"
#include "data/archives/file_part.hpp"
#include "data/contents/picture_names.hpp"
#include "data/images/image_decoder.hpp"
#include "gan/evaluation/picture_batch.hpp"
#include "gan/graph_values.hpp"
#include "gan/pictures/png.hpp"
#include "gan/tiles/tiled_network.hpp"
#include "job/primitives/primitives.hpp"
#include "launch/model/commands.hpp"
#include "launch/process/terminal_width.hpp"
#include "report/progress_bar.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestBatch = 64;  // pictures of one size, computed together
constexpr double kMostMemory = 1e18;       // bytes; more would not fit an std::int64_t

struct PictureFile {
  fs::path from;
  fs::path to;
};

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

/// Lists files, and the pictures in folders and their folders, by name. A result is `output`'s file
/// of the same stem and the ending .png. If that name is taken, it is the first free of stem-2,
/// stem-3 and so on, and a note says so.
/// @throws ConfigError if there is no picture, or if a result would replace a given picture
std::vector<PictureFile> list_pictures(const std::vector<fs::path>& given, const fs::path& output) {
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
      fmt::print(stderr, "note   {}: becomes {}, because {} becomes {}.png\n", file.from.string(),
                 file.to.string(), taken.at(stem).string(), stem);
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

PrimitiveGraph graph_of(TrainedRun& run, NetworkId id) {
  PrimitiveGraph graph = primitives_of(run.job.architectures()[id], run.job.settled_model(),
                                       run.network.growth(), gan::graph_values(run.network));
  const auto shape = [&](std::size_t tensor) { return graph.tensors[tensor].shape; };
  if (!takes_any_size(graph) || graph.outputs.size() != 1 ||
      shape(graph.outputs.front()) != shape(graph.inputs.front())) {
    throw ConfigError(fmt::format(
        "{}: its {} does not make pictures of pictures; name a run of pix2pix, cyclegan or "
        "style-transfer, or a generator of it by --network; samples of noise: `gangway sample`",
        run.directory.string(), run.network.name()));
  }
  return graph;
}

/// @throws ConfigError naming the file
data::Pixels read_picture(const fs::path& file) {
  std::error_code failure;
  if (!fs::is_regular_file(file, failure)) {
    throw ConfigError(
        fmt::format("{}: does not exist, or is no regular file; check the name", file.string()));
  }
  const data::Container opened = data::open_container(file);
  data::require_bearable(file.string(), opened.bytes(), opened.bytes());
  return data::decode_image(data::read_part(opened, {.offset = 0, .bytes = opened.bytes()}),
                            file.string());
}

/// Returns `index` mirrored into [0, count) at both ends, without repeating the edge.
int mirrored(std::int64_t index, int count) {
  const std::int64_t period = std::max<std::int64_t>(2 * std::int64_t{count} - 2, 1);
  const std::int64_t place = index % period;
  return static_cast<int>(place < count ? place : period - place);
}

/// Returns rows of pictures of one size as [N, channels, rows, width] in [-1, 1]; mirrored beyond
/// their right and lower edges.
at::Tensor rows_of(std::span<const data::Pixels> pictures, gan::Rows rows, std::int64_t width,
                   std::int64_t channels) {
  const auto count = static_cast<std::int64_t>(pictures.size());
  const at::Tensor values = at::empty({count, channels, rows.count(), width}, at::kFloat);
  const std::int64_t elements = values.numel() / count;
  for (std::int64_t example = 0; example < count; ++example) {
    const data::Pixels& picture = pictures[static_cast<std::size_t>(example)];
    data::Pixels strip = data::make_pixels(static_cast<int>(rows.count()), static_cast<int>(width),
                                           picture.channels);
    auto to = strip.values.begin();
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const int from_row = mirrored(row, picture.height);
      for (std::int64_t column = 0; column < width; ++column) {
        const std::size_t from = picture.offset(from_row, mirrored(column, picture.width));
        to = std::copy_n(picture.values.begin() + static_cast<std::ptrdiff_t>(from),
                         picture.channels, to);
      }
    }
    data::to_floats(strip, static_cast<int>(channels),
                    {values.mutable_data_ptr<float>() + example * elements,
                     static_cast<std::size_t>(elements)});
  }
  return values.contiguous(at::MemoryFormat::ChannelsLast);
}

/// Writes rows of results into their pictures; drops what mirrored pixels became.
void keep_rows(std::span<pictures::Raster> results, gan::Rows rows, const at::Tensor& made) {
  const pictures::Raster& first = results.front();
  const std::int64_t height = std::min<std::int64_t>(rows.end, first.height) - rows.begin;
  if (height <= 0) {
    return;
  }
  const at::Tensor shown = made.narrow(2, 0, height).narrow(3, 0, first.width).contiguous();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const at::Tensor one = shown.narrow(0, static_cast<std::int64_t>(i), 1);
    const pictures::Raster strip = pictures::arrange_grid(gan::batch_of(one), /*columns=*/1);
    std::ranges::copy(strip.pixels,
                      results[i].pixels.begin() + static_cast<std::ptrdiff_t>(results[i].offset(
                                                      static_cast<int>(rows.begin), 0)));
  }
}

/// Changes pictures and writes them, several of one size together.
class Application {
 public:
  Application(const ApplyOptions& options, const gan::TiledNetwork& network, std::size_t count)
      : options_(options),
        network_(network),
        count_(count),
        memory_(static_cast<std::int64_t>(std::min(options.memory_gib * kGibibyte, kMostMemory))) {
    if (const int columns = terminal_width(); columns > 0) {
      bar_.emplace(std::cout, columns);
    }
  }

  void add(const PictureFile& file) {
    data::Pixels picture;
    try {
      picture = read_picture(file.from);
    } catch (const Error& error) {
      fail(error.what(), error.code());
      return;
    }
    if (!pictures_.empty() &&
        (pictures_.front().height != picture.height || pictures_.front().width != picture.width)) {
      finish();
    }
    files_.push_back(file);
    pictures_.push_back(std::move(picture));
    const gan::MapSize size = padded();
    const std::int64_t most = memory_ / 8 / network_.num_bytes({1, size.height, size.width});
    if (static_cast<std::int64_t>(pictures_.size()) >=
        std::clamp<std::int64_t>(most, 1, kLargestBatch)) {
      finish();
    }
  }

  /// Makes the results of all pictures that were added.
  void finish() {
    if (pictures_.empty()) {
      return;
    }
    std::vector<pictures::Raster> results;
    try {
      results = changed();
      pictures_.clear();  // leaves room for the bytes of the PNG files
    } catch (const Error& error) {
      for (const PictureFile& file : files_) {
        fail(fmt::format("{}: {}", file.from.string(), error.what()), error.code());
      }
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      try {
        pictures::write_png(files_[i].to, results[i]);
        results[i] = {};
        ++made_;
      } catch (const Error& error) {
        fail(error.what(), error.code());
      }
    }
    files_.clear();
    pictures_.clear();
  }

  /// Prints the rate. @throws Error of the first failure if a picture was not made
  void conclude(const TrainedRun& run) {
    clear_bar();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    if (const auto made = static_cast<double>(made_); made > 0) {
      fmt::print("{}: {} pictures by {} of {} at step {}; {:.3g} images/s, {:.4g} ms a picture\n",
                 options_.output.string(), made_, run.network.name(), run.directory.string(),
                 run.step, made / seconds, 1e3 * seconds / made);
    }
    if (failed_ > 0) {
      throw Error(failure_, fmt::format("{} of {} pictures were not made; a line above names each",
                                        failed_, count_));
    }
  }

 private:
  void clear_bar() {
    if (bar_) {
      bar_->clear();
    }
  }
  void fail(const std::string& message, ExitCode code) {
    clear_bar();
    fmt::print(stderr, "gangway: {}\n", message);
    failure_ = failed_ == 0 ? code : failure_;
    ++failed_;
  }

  [[nodiscard]] gan::MapSize padded() const {
    return {static_cast<std::int64_t>(pictures_.size()),
            network_.padded_side(pictures_.front().height),
            network_.padded_side(pictures_.front().width)};
  }

  [[nodiscard]] std::vector<pictures::Raster> changed() {
    const gan::MapSize size = padded();
    std::vector<pictures::Raster> results;
    for (const data::Pixels& picture : pictures_) {
      results.push_back(pictures::make_raster(picture.height, picture.width,
                                              static_cast<int>(network_.channels()), 0));
    }
    network_.apply(
        size, {.memory_bytes = memory_, .scratch = options_.output},
        [&](gan::Rows rows) { return rows_of(pictures_, rows, size.width, network_.channels()); },
        [&](gan::Rows rows, const at::Tensor& made) { keep_rows(results, rows, made); },
        [&](double fraction) {
          if (bar_) {
            const auto done = static_cast<double>(made_ + failed_);
            bar_->draw((done + fraction * static_cast<double>(pictures_.size())) /
                           static_cast<double>(count_),
                       fmt::format("{} of {}: {}", made_ + failed_ + 1, count_,
                                   plain(files_.front().from.filename().string())));
          }
        });
    return results;
  }

  const ApplyOptions& options_;
  const gan::TiledNetwork& network_;
  std::size_t count_;
  std::int64_t memory_;
  std::optional<report::ProgressBar> bar_;
  std::vector<PictureFile> files_;      // of `pictures_`
  std::vector<data::Pixels> pictures_;  // read and not yet changed, of one size
  std::size_t made_ = 0;
  std::size_t failed_ = 0;
  ExitCode failure_ = ExitCode::kDone;  // of the first
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void apply(const ApplyOptions& options) {
  const std::vector<PictureFile> files = list_pictures(options.pictures, options.output);
  TrainedRun run = open_network(options.run, {.network = options.network});
  const gan::TiledNetwork network(graph_of(run, run.job.chosen(options.network)),
                                  options.run.device == DeviceKind::kCuda ? at::kCUDA : at::kCPU);
  std::error_code failure;
  fs::create_directories(options.output, failure);
  if (failure) {
    throw EnvironmentError(
        fmt::format("{}: cannot be made: {}", options.output.string(), failure.message()));
  }
  Application application(options, network, files.size());
  for (const PictureFile& file : files) {
    application.add(file);
  }
  application.finish();
  application.conclude(run);
}

}  // namespace gangway::launch
