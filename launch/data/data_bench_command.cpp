// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "base/numbers/median.hpp"
#include "base/system/usable_cores.hpp"
#include "base/text/aligned_text.hpp"
#include "data/archives/tar_archive.hpp"
#include "data/kept_datasets.hpp"
#include "data/loader.hpp"
#include "data/open_dataset.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using data::LoaderTimes;

struct DataBenchWords {
  fs::path job;
  std::vector<std::string> overrides;
  std::int64_t images = 500;
  int rounds = 5;
  bool json = false;
};

/// Repeats one example: measures the loader without its reads.
class OneExample : public data::Dataset {
 public:
  explicit OneExample(const data::Dataset& all)
      : size_(all.size()), shape_(all.shape()), values_(shape_.elements()) {
    label_ = all.read(0, values_);
  }
  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] data::ExampleShape shape() const override { return shape_; }
  [[nodiscard]] int num_classes() const override { return label_ + 1; }
  [[nodiscard]] int read(std::int64_t /*index*/, std::span<float> out) const override {
    std::ranges::copy(values_, out.begin());
    return label_;
  }
  [[nodiscard]] std::string fingerprint() const override { return {}; }

 private:
  std::int64_t size_;
  data::ExampleShape shape_;
  std::vector<float> values_;
  int label_ = 0;
};

/// Asks the kernel to drop the files of a source from its page cache, as far as it complies.
void forget_files(const std::string& source) {
  const fs::path place(source.substr(source.find(':') + 1));
  const auto forget = [](const fs::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    (void)::fdatasync(file.get());  // unwritten pages are not dropped
    (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  };
  std::error_code failure;
  if (!fs::is_directory(place, failure)) {
    std::ranges::for_each(data::tars_of(place), forget);
    return;
  }
  for (const auto& entry : fs::recursive_directory_iterator(
           place, fs::directory_options::follow_directory_symlink, failure)) {
    if (entry.is_regular_file(failure)) {
      forget(entry.path());
    }
  }
}

struct Pass {
  double seconds = 0.0;
  LoaderTimes times;
};

Pass pass_over(const data::Dataset& dataset, const JobSpec& job, std::int64_t images) {
  const int count = job.images_per_microbatch();
  const std::int64_t batches = std::max<std::int64_t>(1, images / count);
  data::LoaderOptions options{.mirror = job.data.mirror ? data::Mirror::kKeyed : data::Mirror::kOff,
                              .augment = job.data.augment,
                              .pictures = job.data.has_two_sides() ? 2 : 1,
                              .prefetch = job.data.prefetch,
                              .threads = std::min(job.data.threads, job.data.prefetch)};
  if (job.numerics.device == DeviceKind::kCuda) {
    options.pack_into = [](std::size_t bytes) {
      return std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>());
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  data::Loader loader(
      dataset, data::SampleOrder(job.training.seed, dataset.size()), options,
      [next = std::int64_t{0}, batches, count]() mutable -> std::optional<data::BatchRequest> {
        if (next == batches) {
          return std::nullopt;
        }
        const std::int64_t first = count * next++;
        return data::BatchRequest{.first_sample = first, .count = count};
      });
  for (std::int64_t i = 0; i < batches; ++i) {
    loader.recycle(loader.next());
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {seconds, loader.times()};
}

/// A way to get the examples.
struct Source {
  std::string name;
  std::string what;
  const data::Dataset& dataset;
  bool is_cold = false;
  std::vector<double> rates = {};  ///< images per second, one value per round
  LoaderTimes times = {};          ///< sum over all rounds
};

const std::vector<Align> kNumbersInside{Align::kLeft, Align::kRight, Align::kRight, Align::kRight};

struct Part {
  const char* name;
  double LoaderTimes::*seconds;
  const char* remedy;
};
constexpr std::array<Part, 5> kParts{{{"read", &LoaderTimes::read, "a faster disk, a pack"},
                                      {"decode", &LoaderTimes::decode, "data.cache, a pack"},
                                      {"fit", &LoaderTimes::fit, "data.cache, a pack"},
                                      {"augment", &LoaderTimes::augment, "data.threads"},
                                      {"pack", &LoaderTimes::pack, "data.threads"}}};

void add(LoaderTimes& sum, const LoaderTimes& one) {
  for (const Part& part : kParts) {
    sum.*part.seconds += one.*part.seconds;
  }
  sum.images += one.images;
  sum.bytes += one.bytes;
}

double all_parts(const LoaderTimes& times) {
  double sum = 0.0;
  for (const Part& part : kParts) {
    sum += times.*part.seconds;
  }
  return sum;
}

void print_parts(const Source& source, int threads) {
  const double all = all_parts(source.times);
  const double rate = median_of(source.rates);
  std::vector<std::vector<std::string>> rows{{"part", "share", "ms/image", "without it", "remedy"}};
  for (const Part& part : kParts) {
    const double share = source.times.*part.seconds / all;
    rows.push_back(
        {part.name, fmt::format("{:.1f} %", 100.0 * share),
         fmt::format("{:.3f}",
                     1e3 * source.times.*part.seconds / static_cast<double>(source.times.images)),
         share < 0.999 ? fmt::format("{:.0f} images/s", rate / (1.0 - share)) : "no bound",
         share < 0.05 ? "" : part.remedy});
  }
  std::cout << fmt::format("\nparts of {}, of {} thread{}:\n", source.name, threads,
                           threads == 1 ? "" : "s")
            << aligned_text(rows, kNumbersInside);
}

void print_json(const std::vector<Source>& sources, const JobSpec& job) {
  nlohmann::ordered_json document{{"source", job.data.source}, {"threads", job.data.threads}};
  for (const Source& source : sources) {
    nlohmann::ordered_json parts;
    for (const Part& part : kParts) {
      parts[part.name] = source.times.*part.seconds / all_parts(source.times);
    }
    document["rows"].push_back({{"name", source.name},
                                {"images_per_second", median_of(source.rates)},
                                {"rounds", source.rates},
                                {"shares", parts}});
  }
  std::cout << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << std::endl;
}

int bench(const DataBenchWords& words, const Environment& environment) {
  JobSpec job = load_followed({.file = words.job,
                               .overrides = words.overrides,
                               .environment = gangway_variables(environment)})
                    .spec;
  if (job.data.threads == 0) {
    job.data.threads = reading_threads(1, job.numerics.threads + 1);
  }
  job.data.cache = 0;
  const auto whole = data::open_dataset(job.data, job.model, job.training.seed);
  if (job.data.limit == 0 || job.data.limit > words.images) {
    job.data.limit = std::min(words.images, whole->size());
  }
  const auto dataset = data::open_dataset(job.data, job.model, job.training.seed);
  const std::int64_t images = std::min(dataset->size(), job.data.limit);
  const TemporaryFolder scratch;
  data::ContentsCheck check{.index_folder = scratch.path()};
  const auto cached = data::cached(data::open_dataset(job.data, job.model, job.training.seed),
                                   {.cache = DataSpec::kAutoCache}, &check);
  const OneExample one(*dataset);
  std::vector<Source> sources{{"synthetic", "nothing is read", one},
                              {"cached", "decoded and resized before (data.cache)", *cached},
                              {"warm", "as the job has it, files in memory", *dataset},
                              {"cold", "files from the disk", *dataset, true}};
  (void)pass_over(*cached, job, images);  // fills the cache
  for (int round = 0; round < words.rounds; ++round) {
    for (Source& source : sources) {
      if (source.is_cold) {
        forget_files(job.data.source);
      }
      const Pass pass = pass_over(source.dataset, job, images);
      source.rates.push_back(static_cast<double>(pass.times.images) / pass.seconds);
      add(source.times, pass.times);
    }
  }
  if (words.json) {
    print_json(sources, job);
    return 0;
  }
  std::vector<std::vector<std::string>> rows{{"", "images/s", "lowest", "highest", ""}};
  for (const Source& source : sources) {
    const auto [low, high] = std::ranges::minmax(source.rates);
    rows.push_back({source.name, fmt::format("{:.0f}", median_of(source.rates)),
                    fmt::format("{:.0f}", low), fmt::format("{:.0f}", high), source.what});
  }
  std::cout << fmt::format("{}: {} examples, {} thread{}, medians of {} interleaved rounds\n",
                           job.data.source, images, job.data.threads,
                           job.data.threads == 1 ? "" : "s", words.rounds)
            << aligned_text(rows, kNumbersInside);
  print_parts(sources[2], job.data.threads);
  print_parts(sources[1], job.data.threads);
  std::cout << std::flush;
  return 0;
}

}  // namespace

void add_data_bench_command(CLI::App& group, CommandLine& line) {
  CLI::App* command = group.add_subcommand(
      "bench", "Measure how fast a job's examples come: from the disk, from memory, from a cache");
  const auto words = std::make_shared<DataBenchWords>();
  command->add_option("job", words->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", words->overrides, "Keys of the job, as data.threads=4")
      ->type_name("KEY=VALUE");
  command->add_option("--images", words->images, "Examples per round, the first of the source")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--rounds", words->rounds, "Rounds, whose medians are shown")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_flag("--json", words->json, "For programs");
  command->footer("Example: gangway data bench faces.yaml data.threads=1 --images 2000");
  command->callback(
      [words, &line] { line.action = [words, &line] { return bench(*words, line.environment); }; });
}

}  // namespace gangway::launch
