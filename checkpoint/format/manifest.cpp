// SPDX-License-Identifier: MIT
#include "checkpoint/format/manifest.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/files/strict_json.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/tensor_list.hpp"

namespace gangway::checkpoint {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kOldestVersion = 1;
constexpr int kMaxManifestDepth = 5;  // manifest, tensors, tensor, pieces, piece
constexpr std::size_t kMaxFiles = 65'536;
constexpr std::size_t kMaxEvents = 100'000;
constexpr std::size_t kMaxSoftware = 256;
constexpr std::size_t kMaxJobBytes = std::size_t{1} << 20U;
constexpr std::string_view kSealMember = "\"seal_xxh3_128\": \"";
constexpr std::string_view kBlankSeal = "00000000000000000000000000000000";
constexpr std::string_view kEndOfSeal = "\"\n}\n";

std::optional<std::string> contradiction_in_files(const Manifest& manifest) {
  const std::size_t count = manifest.files.size();
  if (count == 0 || count > kMaxFiles) {
    return fmt::format("lists {} files, allowed are 1 to {}", count, kMaxFiles);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ManifestFile& file = manifest.files[i];
    const int worker = static_cast<int>(i);
    // Only one name is legal at each index: no '..', no '/', no duplicates, no gaps.
    if (file.worker != worker || file.name != worker_file_name(worker, static_cast<int>(count))) {
      return fmt::format("file {} is '{}' of rank {}, not '{}'", i, printable(file.name),
                         file.worker + 1L, worker_file_name(worker, static_cast<int>(count)));
    }
    if (file.bytes > std::uint64_t{INT64_MAX} ||
        (manifest.format_version == 1 ? !is_hash(file.xxh3_128)
                                      : file.chunk_crc32c.size() != num_chunks(file.bytes))) {
      return fmt::format("size, hash or chunk sums of '{}' are not such", file.name);
    }
  }
  return std::nullopt;
}

/// Returns the contradiction in the values, if any. Called before writing and after reading.
std::optional<std::string> contradiction_in(const Manifest& manifest) {
  if (manifest.step < 0 || manifest.step > kMaxStep) {
    return fmt::format("step {} is outside 0 to {}", manifest.step, kMaxStep);
  }
  if (manifest.images < 0 || manifest.epoch < 0 || manifest.data_cursor < 0 ||
      manifest.tensor_count < 0) {
    return "a count is negative";
  }
  if (!is_hash(manifest.checkpoint_id) ||
      (manifest.format_version == 1 && !is_hash(manifest.tensor_names_xxh3_128))) {
    return "checkpoint_id or tensor_names_xxh3_128 is not 32 hexadecimal digits";
  }
  for (const std::string* text :
       {&manifest.job_fingerprint, &manifest.model_fingerprint, &manifest.data_fingerprint}) {
    if (text->size() > kMaxTextBytes || !has_no_controls(*text)) {
      return "a fingerprint is too long or has control characters";
    }
  }
  if (manifest.job_yaml.size() > kMaxJobBytes || manifest.numerics.size() > kMaxTextBytes ||
      manifest.software.size() > kMaxSoftware || manifest.events.size() > kMaxEvents) {
    return "job_yaml, numerics, software or events are too large";
  }
  return contradiction_in_files(manifest);
}

std::string seal(std::string text) {
  const std::size_t place = text.rfind(kSealMember) + kSealMember.size();
  text.replace(place, kBlankSeal.size(), kBlankSeal);
  return hash_of(text);
}

void check_seal(std::string_view text, const std::string& where) {
  const std::size_t member = text.rfind(kSealMember);
  const std::size_t place = member == std::string_view::npos ? 0 : member + kSealMember.size();
  const bool in_place = member != std::string_view::npos &&
                        text.size() == place + kBlankSeal.size() + kEndOfSeal.size() &&
                        text.substr(place + kBlankSeal.size()) == kEndOfSeal;
  if (!in_place || text.substr(place, kBlankSeal.size()) != seal(std::string(text))) {
    throw CheckpointError(
        fmt::format("{}: its seal does not match its content: damaged or edited", where));
  }
}

int read_version(JsonMembers& members, const std::string& where) {
  const std::int64_t version = members.count("format_version");
  if (version > kFormatVersion) {
    throw CheckpointError(fmt::format(
        "{}: checkpoint format {} is newer than the {} that this program reads: update gangway",
        where, version, kFormatVersion));
  }
  if (version < kOldestVersion) {
    throw CheckpointError(
        fmt::format("{}: checkpoint format {} never existed: damaged", where, version));
  }
  return static_cast<int>(version);
}

std::vector<ManifestFile> read_files(const json& list, int version, const std::string& where) {
  std::vector<ManifestFile> files;
  for (const json& item : list) {
    JsonMembers members(item, fmt::format("{}: files[{}]", where, files.size()));
    ManifestFile file;
    file.name = members.text("name");
    file.worker = static_cast<int>(
        std::min<std::int64_t>(members.count("worker"), std::numeric_limits<int>::max()));
    file.bytes = static_cast<std::uint64_t>(members.count("bytes"));
    if (version == 1) {
      file.xxh3_128 = members.text("xxh3_128");
    } else {
      file.chunk_crc32c = parse_sums(members.text("chunk_crc32c", kMaxManifestBytes), file.bytes,
                                     fmt::format("{}: files[{}]", where, files.size()));
    }
    members.require_no_others();
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<ManifestEvent> read_events(const json& list, const std::string& where) {
  std::vector<ManifestEvent> events;
  for (const json& item : list) {
    JsonMembers members(item, fmt::format("{}: events[{}]", where, events.size()));
    events.push_back({.step = members.count("step"),
                      .kind = members.text("kind"),
                      .detail = members.text("detail")});
    members.require_no_others();
  }
  return events;
}

std::map<std::string, std::string> read_software(const json& object, const std::string& where) {
  std::map<std::string, std::string> software;
  const bool sound =
      object.is_object() && std::all_of(object.begin(), object.end(),
                                        [](const json& value) { return value.is_string(); });
  if (!sound) {
    throw CheckpointError(fmt::format("{}: 'software' is not an object of texts: damaged", where));
  }
  for (const auto& [name, version] : object.items()) {
    software.emplace(name, version.get<std::string>());
  }
  return software;
}

/// Returns a JSON list with one item per line, so that a large manifest stays readable and small.
std::string one_a_line(const std::vector<std::string>& items) {
  return items.empty() ? "[]" : fmt::format("[\n    {}\n  ]", fmt::join(items, ",\n    "));
}

std::vector<std::string> file_lines(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const ManifestFile& file : manifest.files) {
    lines.push_back(ordered_json({{"name", file.name},
                                  {"worker", file.worker},
                                  {"bytes", file.bytes},
                                  {"chunk_crc32c", sums_text(file.chunk_crc32c)}})
                        .dump());
  }
  return lines;
}

std::vector<std::string> event_lines(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const ManifestEvent& event : manifest.events) {
    lines.push_back(
        ordered_json({{"step", event.step}, {"kind", event.kind}, {"detail", event.detail}})
            .dump());
  }
  return lines;
}

ordered_json leading_members(const Manifest& manifest) {
  return {{"format_version", kFormatVersion},
          {"checkpoint_id", manifest.checkpoint_id},
          {"step", manifest.step},
          {"images", manifest.images},
          {"epoch", manifest.epoch},
          {"created", manifest.created},
          {"job_fingerprint", manifest.job_fingerprint},
          {"model_fingerprint", manifest.model_fingerprint},
          {"data_fingerprint", manifest.data_fingerprint},
          {"data_cursor", manifest.data_cursor},
          {"numerics", manifest.numerics},
          {"software", ordered_json(manifest.software)}};
}

void require_sound(const Manifest& manifest) {
  if (manifest.format_version != kFormatVersion) {
    throw InvariantError(
        fmt::format("checkpoint manifest of step {} is of format {}, {} is written", manifest.step,
                    manifest.format_version, kFormatVersion));
  }
  if (const auto wrong = contradiction_in(manifest)) {
    throw InvariantError(fmt::format("checkpoint manifest of step {}: {}", manifest.step, *wrong));
  }
  for (const StoredTensor& tensor : manifest.tensors) {
    if (const std::string wrong = wrong_with(tensor); !wrong.empty()) {
      throw InvariantError(fmt::format("checkpoint manifest of step {}: tensor '{}': {}",
                                       manifest.step, printable(tensor.name), wrong));
    }
  }
  (void)parse_rfc3339(manifest.created);
}

}  // namespace

std::string rfc3339(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

std::chrono::system_clock::time_point parse_rfc3339(const std::string& text) {
  constexpr int kFirstYear = 1970;
  constexpr int kLastYear = 2261;  // the clock counts nanoseconds in 63 bits
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end != nullptr && parts.tm_year >= kFirstYear - 1900 && parts.tm_year <= kLastYear - 1900) {
    const auto time = std::chrono::system_clock::from_time_t(::timegm(&parts));
    // strptime also accepts blanks, single digits and June 31.
    if (rfc3339(time) == text) {
      return time;
    }
  }
  throw CheckpointError(
      fmt::format("'{}' is not a time like 2026-11-21T10:36:00Z", printable(text, 40)));
}

std::string to_json(const Manifest& manifest) try {
  require_sound(manifest);
  std::vector<std::string> lines;
  const ordered_json leading = leading_members(manifest);
  for (const auto& [name, value] : leading.items()) {
    lines.push_back(fmt::format("  {}: {}", ordered_json(name).dump(), value.dump()));
  }
  lines.push_back(fmt::format("  \"files\": {}", one_a_line(file_lines(manifest))));
  std::vector<std::string> tensors;
  for (const StoredTensor& tensor : manifest.tensors) {
    tensors.push_back(tensor_json(tensor));
  }
  lines.push_back(fmt::format("  \"tensors\": {}", one_a_line(tensors)));
  lines.push_back(fmt::format("  \"events\": {}", one_a_line(event_lines(manifest))));
  lines.push_back(fmt::format("  \"job_yaml\": {}", ordered_json(manifest.job_yaml).dump()));
  lines.push_back(fmt::format("  {}{}\"", kSealMember, kBlankSeal));
  std::string text = fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
  const std::size_t place = text.rfind(kSealMember) + kSealMember.size();
  text.replace(place, kBlankSeal.size(), seal(text));
  if (text.size() > kMaxManifestBytes) {
    throw InvariantError(fmt::format("checkpoint manifest of step {} has {} bytes, allowed are {}",
                                     manifest.step, text.size(), kMaxManifestBytes));
  }
  return text;
} catch (const json::exception& error) {
  throw InvariantError(
      fmt::format("checkpoint manifest of step {}: {}", manifest.step, printable(error.what())));
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  if (text.size() > kMaxManifestBytes) {
    throw CheckpointError(
        fmt::format("{}: has {} bytes, allowed are {}", where, text.size(), kMaxManifestBytes));
  }
  const json document = parse_strict_json(text, kMaxManifestDepth, where);
  JsonMembers members(document, where);
  Manifest manifest;
  manifest.format_version = read_version(members, where);
  check_seal(text, where);
  manifest.checkpoint_id = members.text("checkpoint_id");
  manifest.step = members.count("step");
  manifest.images = members.count("images");
  manifest.epoch = members.count("epoch");
  manifest.created = members.text("created");
  manifest.job_fingerprint = members.text("job_fingerprint");
  manifest.model_fingerprint = members.text("model_fingerprint");
  manifest.data_fingerprint = members.text("data_fingerprint");
  manifest.data_cursor = members.count("data_cursor");
  manifest.numerics = members.text("numerics");
  manifest.software = read_software(members.at("software"), where);
  manifest.files = read_files(members.list("files", kMaxFiles), manifest.format_version, where);
  if (manifest.format_version == 1) {
    manifest.tensor_count = members.count("tensor_count");
    manifest.tensor_names_xxh3_128 = members.text("tensor_names_xxh3_128");
  } else {
    if (const auto wrong = contradiction_in_files(manifest)) {
      throw CheckpointError(fmt::format("{}: {}: damaged", where, *wrong));
    }
    manifest.tensors =
        read_tensors(members.at("tensors"), static_cast<int>(manifest.files.size()), where);
    manifest.tensor_count = static_cast<std::int64_t>(manifest.tensors.size());
  }
  manifest.events = read_events(members.list("events", kMaxEvents), where);
  manifest.job_yaml = members.text("job_yaml", kMaxJobBytes);
  (void)members.text("seal_xxh3_128");
  members.require_no_others();
  if (const auto wrong = contradiction_in(manifest)) {
    throw CheckpointError(fmt::format("{}: {}: damaged", where, *wrong));
  }
  require_covered(
      manifest.tensors,
      [&](int file) { return manifest.files.at(static_cast<std::size_t>(file)).name; }, where);
  (void)parse_rfc3339(manifest.created);
  return manifest;
}

}  // namespace gangway::checkpoint
