// SPDX-License-Identifier: MIT
#include "data/survey.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/errors.hpp"
#include "data/images/image_decoder.hpp"
#include "data/images/resample.hpp"

namespace gangway::data {
namespace {

/// The survey's data of one image.
struct Finding {
  std::string problem;  // empty: it is readable
  int width = 0;
  int height = 0;
  bool is_gray = false;
  std::pair<std::uint64_t, std::uint64_t> hash;  // of the pixels
  std::array<double, 3> sum{};
  std::array<double, 3> sum_of_squares{};
  std::optional<Pixels> sample;
};

std::pair<std::uint64_t, std::uint64_t> hash_of(const Pixels& image) {
  // Images of other shapes are different even with equal pixels.
  const auto shape = (static_cast<std::uint64_t>(image.width) << 32U) ^
                     (static_cast<std::uint64_t>(image.height) << 2U) ^
                     static_cast<std::uint64_t>(image.channels);
  const XXH128_hash_t hash = XXH3_128bits_withSeed(image.values.data(), image.values.size(), shape);
  return {hash.high64, hash.low64};
}

Pixels in_colour(const Pixels& image) {
  if (image.channels == 3) {
    return image;
  }
  Pixels result = make_pixels(image.height, image.width, 3);
  auto next = result.values.begin();
  for (const auto shade : image.values) {
    next = std::fill_n(next, 3, shade);
  }
  return result;
}

Finding look_at(const ImageArchive& archive, std::size_t index, int resolution, bool is_sample) {
  Finding finding;
  try {
    const Pixels image = decode_image(archive.read(index), archive.display_name(index));
    finding.width = image.width;
    finding.height = image.height;
    finding.is_gray = image.channels == 1;
    finding.hash = hash_of(image);
    Pixels square = in_colour(fit_square(image, resolution));
    for (std::size_t i = 0; i < square.values.size(); ++i) {
      const double value = square.values[i];
      finding.sum[i % 3] += value;
      finding.sum_of_squares[i % 3] += value * value;
    }
    if (is_sample) {
      finding.sample = std::move(square);
    }
  } catch (const ConfigError& error) {
    finding.problem = error.what();
  } catch (const std::exception& error) {  // e.g. out of memory
    finding.problem = fmt::format("{}: {}", archive.display_name(index), error.what());
  }
  return finding;
}

std::vector<std::vector<std::string>> equal_ones(const ImageArchive& archive,
                                                 const std::vector<Finding>& findings) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::size_t>> by_hash;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].problem.empty() && findings[i].width > 0) {
      by_hash[findings[i].hash].push_back(i);
    }
  }
  std::map<std::size_t, std::vector<std::string>> groups;  // ordered by first member
  for (const auto& [hash, members] : by_hash) {
    if (members.size() > 1) {
      for (const std::size_t member : members) {
        groups[members.front()].push_back(archive.display_name(member));
      }
    }
  }
  std::vector<std::vector<std::string>> duplicates;
  for (auto& [first, names] : groups) {
    duplicates.push_back(std::move(names));
  }
  return duplicates;
}

}  // namespace

Survey survey_images(const ImageArchive& archive, const ImageLabels& labels,
                     const SurveyOptions& options) {
  const std::size_t count = archive.entries().size();
  const std::size_t samples = std::min(count, static_cast<std::size_t>(options.samples));
  std::vector<bool> is_sample(count);
  for (std::size_t i = 0; i < samples; ++i) {
    is_sample[i * count / samples] = true;
  }
  const std::size_t read =
      options.most > 0 ? std::min(count, static_cast<std::size_t>(options.most)) : count;
  std::vector<bool> is_read(count);
  for (std::size_t i = 0; i < read; ++i) {
    is_read[i * count / read] = true;
  }
  std::vector<Finding> findings(count);
  {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> readers;
    for (int reader = 0; reader < options.threads; ++reader) {
      readers.emplace_back([&] {
        for (std::size_t i = next++; i < count; i = next++) {
          if (is_read[i]) {
            findings[i] = look_at(archive, i, options.resolution, is_sample[i]);
          }
        }
      });
    }
  }
  Survey survey;
  survey.by_label.resize(static_cast<std::size_t>(labels.num_classes));
  std::array<double, 3> sum{};
  std::array<double, 3> sum_of_squares{};
  for (std::size_t i = 0; i < count; ++i) {
    Finding& finding = findings[i];
    if (!is_read[i]) {
      continue;
    }
    if (!finding.problem.empty()) {
      survey.broken.push_back(finding.problem);
      continue;
    }
    ++survey.images;
    ++survey.sizes[{finding.width, finding.height}];
    survey.gray += finding.is_gray ? 1 : 0;
    if (!labels.of_images.empty()) {
      ++survey.by_label[static_cast<std::size_t>(labels.of_images[i])];
    }
    for (std::size_t channel = 0; channel < 3; ++channel) {
      sum[channel] += finding.sum[channel];
      sum_of_squares[channel] += finding.sum_of_squares[channel];
    }
    if (finding.sample) {
      survey.samples.push_back(*std::move(finding.sample));
    }
  }
  survey.duplicates = equal_ones(archive, findings);
  const double values =
      static_cast<double>(survey.images) * options.resolution * options.resolution;
  for (std::size_t channel = 0; channel < 3 && survey.images > 0; ++channel) {
    const double mean = sum[channel] / values;
    survey.mean[channel] = mean;
    survey.deviation[channel] =
        std::sqrt(std::max(0.0, sum_of_squares[channel] / values - mean * mean));
  }
  return survey;
}

}  // namespace gangway::data
