// SPDX-License-Identifier: MIT
#include "report/tensorboard.hpp"

#include <array>
#include <bit>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/crc.hpp>
#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::report {
namespace {

/// Field numbers of tensorflow.Event (event.proto).
enum EventField : std::uint32_t {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7
};
/// Field numbers of tensorflow.Summary, Summary.Value and Summary.Image (summary.proto).
enum SummaryField : std::uint32_t { kValue = 1 };
enum ValueField : std::uint32_t {
  kTag = 1,
  kSimpleValue = 2,
  kImage = 4,
  kHistogram = 5,
  kTensor = 8,
  kMetadata = 9
};
enum HistogramField : std::uint32_t {
  kMin = 1,
  kMax = 2,
  kCount = 3,
  kSum = 4,
  kSumOfSquares = 5,
  kBucketLimit = 6,
  kBucket = 7
};
/// Field numbers of SummaryMetadata and PluginData (summary.proto) and of TensorProto
/// (tensor.proto); its type of texts (types.proto). An empty shape is a scalar's.
enum MetadataField : std::uint32_t { kPluginData = 1 };
enum PluginField : std::uint32_t { kPluginName = 1 };
enum TensorField : std::uint32_t { kType = 1, kShape = 2, kStrings = 8 };
constexpr std::uint64_t kStringType = 7;
enum ImageField : std::uint32_t { kHeight = 1, kWidth = 2, kColorspace = 3, kEncodedImage = 4 };
/// Field of tensorflow.SessionLog, and the status at which TensorBoard drops later steps of older
/// files.
enum SessionLogField : std::uint32_t { kStatus = 1 };
constexpr std::uint64_t kSessionStart = 1;

/// Protobuf's wire types.
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

std::string little_endian(std::uint64_t bits, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>((bits >> (8 * i)) & 0xFFU));
  }
  return text;
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80U; value >>= 7U) {
    text.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
  }
  text.push_back(static_cast<char>(value));
  return text;
}

std::string key(std::uint32_t field, WireType type) {
  return varint((static_cast<std::uint64_t>(field) << 3U) | type);
}
std::string integer(std::uint32_t field, std::uint64_t value) {
  return key(field, kVarint) + varint(value);
}
std::string real64(std::uint32_t field, double value) {
  return key(field, kFixed64) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string real32(std::uint32_t field, float value) {
  return key(field, kFixed32) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}
std::string text(std::uint32_t field, std::string_view value) {
  return key(field, kLengthDelimited) + varint(value.size()) + std::string(value);
}

/// Returns CRC-32C (Castagnoli), rotated and shifted as in record_writer.h, because a checksum of
/// data with checksums in it is weak.
std::string masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t value = crc.checksum();
  return little_endian(static_cast<std::uint32_t>(std::rotr(value, 15) + 0xA282EAD8U), 4);
}

std::string record(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + std::string(data) + masked_crc(data);
}

std::uint32_t big_endian32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

struct PngHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;
};

/// Reads width, height and colour type of the first chunk, IHDR (PNG specification, 11.2.2).
PngHeader read_png_header(std::string_view png) {
  constexpr std::string_view kMagic("\x89PNG\r\n\x1a\n", 8);
  if (png.size() < 26 || !png.starts_with(kMagic) || png.substr(12, 4) != "IHDR") {
    throw InvariantError(
        fmt::format("TensorBoard image: {} bytes that are not a PNG file", png.size()));
  }
  const auto color_type =
      static_cast<unsigned char>(png[25]);  // bit 0 palette, bit 1 colour, bit 2 alpha
  const std::uint32_t channels =
      ((color_type & 2U) != 0 ? 3U : 1U) + ((color_type & 4U) != 0 ? 1U : 0U);
  return {.width = big_endian32(png.substr(16, 4)),
          .height = big_endian32(png.substr(20, 4)),
          .channels = channels};
}

/// Encodes a packed repeated field of doubles.
std::string reals64(std::uint32_t field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) {
    packed += little_endian(std::bit_cast<std::uint64_t>(value), 8);
  }
  return text(field, packed);
}

/// Encodes a histogram. Buckets are contiguous: each begins at the limit of the previous. One empty
/// bucket fills the gap between two nonempty ones.
std::string histogram(const HistogramCounts& counts) {
  std::vector<double> limits;
  std::vector<double> in_bucket;
  double number = 0.0;
  for (std::size_t i = 0; i < counts.buckets.size(); ++i) {
    const int bucket = counts.buckets[i];
    if (i > 0 && counts.buckets[i - 1] + 1 != bucket) {
      limits.push_back(Histogram::upper_limit(bucket - 1));
      in_bucket.push_back(0.0);
    }
    limits.push_back(Histogram::upper_limit(bucket));
    in_bucket.push_back(static_cast<double>(counts.counts[i]));
    number += in_bucket.back();
  }
  return real64(kMin, counts.least) + real64(kMax, counts.most) + real64(kCount, number) +
         real64(kSum, counts.sum) + real64(kSumOfSquares, counts.sum_of_squares) +
         reals64(kBucketLimit, limits) + reals64(kBucket, in_bucket);
}

std::string summary(std::string_view tag, const std::string& value) {
  return text(kSummary, text(kValue, text(kTag, tag) + value));
}

}  // namespace

TensorboardWriter::TensorboardWriter(const std::filesystem::path& directory, const EventFileId& id,
                                     WallClock clock, std::int64_t resumed_step)
    : clock_(std::move(clock)) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure) {
    throw EnvironmentError(
        fmt::format("{}: cannot be made ({}); check the folder and its permissions",
                    directory.string(), failure.message()));
  }
  path_ = directory / fmt::format("events.out.tfevents.{}.{}.{}",
                                  static_cast<std::int64_t>(clock_()), id.host, id.pid);
  file_ = open_to_append(path_);
  append_bytes(file_.get(), path_,
               record(real64(kWallTime, clock_()) + text(kFileVersion, "brain.Event:2")));
  if (resumed_step > 0) {
    write_event(resumed_step + 1, text(kSessionLog, integer(kStatus, kSessionStart)));
  }
}

void TensorboardWriter::write_event(std::int64_t step, std::string_view body) {
  const std::string event = real64(kWallTime, clock_()) +
                            integer(kStep, static_cast<std::uint64_t>(step)) + std::string(body);
  append_bytes(file_.get(), path_, record(event));
}

void TensorboardWriter::add_scalar(std::string_view tag, double value, std::int64_t step) {
  write_event(step, summary(tag, real32(kSimpleValue, static_cast<float>(value))));
}

void TensorboardWriter::add_image(std::string_view tag, std::string_view png, std::int64_t step) {
  const PngHeader header = read_png_header(png);
  const std::string image = integer(kHeight, header.height) + integer(kWidth, header.width) +
                            integer(kColorspace, header.channels) + text(kEncodedImage, png);
  write_event(step, summary(tag, text(kImage, image)));
}

void TensorboardWriter::add_histogram(std::string_view tag, const HistogramCounts& counts,
                                      std::int64_t step) {
  write_event(step, summary(tag, text(kHistogram, histogram(counts))));
}

void TensorboardWriter::add_text(std::string_view tag, std::string_view words, std::int64_t step) {
  const std::string metadata = text(kPluginData, text(kPluginName, "text"));
  const std::string tensor = integer(kType, kStringType) + text(kShape, "") + text(kStrings, words);
  write_event(step, summary(tag, text(kMetadata, metadata) + text(kTensor, tensor)));
}

void TensorboardWriter::add_updates(const Tick& tick) {
  for (const NetworkUpdate& update : tick.updates) {
    const std::string tag = "Optimizer/" + update.network;
    add_scalar(tag + "_updates", static_cast<double>(update.count), tick.step);
    add_scalar(tag + "_lr", update.lr, tick.step);
    if (update.norms) {
      add_scalar(tag + "_gradient_norm", update.norms->gradient, tick.step);
      add_scalar(tag + "_weight_norm", update.norms->weights, tick.step);
      add_scalar(tag + "_update_ratio", update.norms->update_ratio, tick.step);
    }
  }
}

void TensorboardWriter::add_tick(const Tick& tick) {
  for (const NetworkLoss& loss : tick.losses) {
    add_scalar("Loss/" + loss.network, loss.loss, tick.step);
  }
  const std::array<std::pair<std::string_view, double>, 11> values{{
      {"Speed/images_per_second", tick.images_per_second},
      {"Speed/seconds_per_kimg", tick.seconds_per_kimg},
      {"Speed/exposed_percent", tick.exposed_percent},
      {"Speed/data_percent", tick.data_percent},
      {"Resources/resident_gib", tick.memory.resident_gib},
      {"Resources/allocated_gib", tick.memory.allocated_gib},
      {"Resources/reserved_gib", tick.memory.reserved_gib},
      {"Resources/peak_gib", tick.memory.peak_gib},
      {"Resources/allocation_retries", static_cast<double>(tick.memory.retries)},
      {"Progress/kimg", tick.kimg},
      {"Progress/checkpoint_age_kimg", tick.checkpoint_age_kimg},
  }};
  for (const auto& [tag, value] : values) {
    add_scalar(tag, value, tick.step);
  }
  for (const ExposedPhase& phase : tick.exposed) {
    add_scalar("Exposed/" + phase.phase, phase.seconds_per_step, tick.step);
  }
  if (const WorkerParts* const slowest = tick.slowest()) {
    for (std::size_t part = 0; part < tick.part_names.size(); ++part) {
      if (slowest->seconds[part] != 0.0) {
        add_scalar("Step/" + tick.part_names[part], slowest->seconds[part], tick.step);
      }
      if (!slowest->device_seconds.empty() && slowest->device_seconds[part] != 0.0) {
        add_scalar("Device/" + tick.part_names[part], slowest->device_seconds[part], tick.step);
      }
    }
  }
  add_updates(tick);
  for (const TickFigure& figure : tick.figures) {
    add_scalar("Figures/" + figure.name, figure.value, tick.step);
  }
  for (const TickHistogram& one : tick.histograms) {
    add_histogram(one.tag, one.counts, one.step);
  }
}

}  // namespace gangway::report
