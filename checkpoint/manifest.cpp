// SPDX-License-Identifier: MIT
#include "checkpoint/manifest.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "checkpoint/hash.hpp"
#include "checkpoint/names.hpp"
#include "checkpoint/strict_json.hpp"
#include "job/errors.hpp"

namespace gangway::checkpoint {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kOldestVersion = 1;
constexpr int kMaxJsonDepth = 4;
constexpr std::size_t kMaxFiles = 65'536;
constexpr std::size_t kMaxEvents = 100'000;
constexpr std::size_t kMaxSoftware = 256;
constexpr std::size_t kMaxTextBytes = 4096;  // fingerprints, versions, an event's detail
constexpr std::size_t kMaxJobBytes = std::size_t{1} << 20U;
constexpr std::string_view kSealMember = "\"seal_xxh3_128\": \"";
constexpr std::string_view kBlankSeal = "00000000000000000000000000000000";
constexpr std::string_view kEndOfSeal = "\"\n}\n";

/// Takes members out of an object by name and type, and in the end complains about those that
/// nobody asked for.
class Members {
 public:
  Members(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) {
      throw CheckpointError(fmt::format("{}: not an object: damaged", where_));
    }
  }

  const json& at(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      throw CheckpointError(fmt::format("{}: '{}' is missing: damaged", where_, name));
    }
    ++taken_;
    return *found;
  }

  std::string text(const char* name, std::size_t max_bytes = kMaxTextBytes) {
    const json& value = at(name);
    if (!value.is_string() || value.get_ref<const std::string&>().size() > max_bytes) {
      throw CheckpointError(fmt::format("{}: '{}' is not a text of at most {} bytes: damaged",
                                        where_, name, max_bytes));
    }
    return value.get<std::string>();
  }

  std::int64_t count(const char* name) {
    const json& value = at(name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      throw CheckpointError(fmt::format("{}: '{}' is not a count: damaged", where_, name));
    }
    return value.get<std::int64_t>();
  }

  const json& list(const char* name, std::size_t max_size) {
    const json& value = at(name);
    if (!value.is_array() || value.size() > max_size) {
      throw CheckpointError(
          fmt::format("{}: '{}' is not a list of at most {}: damaged", where_, name, max_size));
    }
    return value;
  }

  void require_no_others() const {
    if (object_.size() != taken_) {
      throw CheckpointError(
          fmt::format("{}: has {} members, {} are known: damaged", where_, object_.size(), taken_));
    }
  }

 private:
  const json& object_;
  std::string where_;
  std::size_t taken_ = 0;
};

std::optional<std::string> contradiction_in_files(const Manifest& manifest) {
  const std::size_t count = manifest.files.size();
  if (count == 0 || count > kMaxFiles) {
    return fmt::format("lists {} files, allowed are 1 to {}", count, kMaxFiles);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ManifestFile& file = manifest.files[i];
    const int worker = static_cast<int>(i);
    // The one legal name a place: no '..', no '/', nothing twice, nothing left out.
    if (file.worker != worker || file.name != worker_file_name(worker, static_cast<int>(count))) {
      return fmt::format("file {} is '{}' of worker {}, not '{}'", i, printable(file.name),
                         file.worker, worker_file_name(worker, static_cast<int>(count)));
    }
    if (!is_hash(file.xxh3_128) || file.bytes > std::uint64_t{INT64_MAX}) {
      return fmt::format("size or hash of '{}' is not one", file.name);
    }
  }
  return std::nullopt;
}

/// What is wrong with the values, if anything; the same for writing and reading.
std::optional<std::string> contradiction_in(const Manifest& manifest) {
  if (manifest.step < 0 || manifest.step > kMaxStep) {
    return fmt::format("step {} is outside 0 to {}", manifest.step, kMaxStep);
  }
  if (manifest.images < 0 || manifest.epoch < 0 || manifest.data_cursor < 0 ||
      manifest.tensor_count < 0) {
    return "a count is negative";
  }
  if (!is_hash(manifest.checkpoint_id) || !is_hash(manifest.tensor_names_xxh3_128)) {
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

int read_version(Members& members, const std::string& where) {
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

std::vector<ManifestFile> read_files(const json& list, const std::string& where) {
  std::vector<ManifestFile> files;
  for (const json& item : list) {
    Members members(item, fmt::format("{}: files[{}]", where, files.size()));
    ManifestFile file;
    file.name = members.text("name");
    file.worker = static_cast<int>(
        std::min<std::int64_t>(members.count("worker"), std::numeric_limits<int>::max()));
    file.bytes = static_cast<std::uint64_t>(members.count("bytes"));
    file.xxh3_128 = members.text("xxh3_128");
    members.require_no_others();
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<ManifestEvent> read_events(const json& list, const std::string& where) {
  std::vector<ManifestEvent> events;
  for (const json& item : list) {
    Members members(item, fmt::format("{}: events[{}]", where, events.size()));
    ManifestEvent event;
    event.step = members.count("step");
    event.kind = members.text("kind");
    event.detail = members.text("detail");
    members.require_no_others();
    events.push_back(std::move(event));
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

}  // namespace

std::string worker_file_name(int worker, int num_workers) {
  return fmt::format("worker-{:04d}-of-{:04d}.safetensors", worker, num_workers);
}

std::string rfc3339(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

std::chrono::system_clock::time_point parse_rfc3339(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') {
    throw CheckpointError(
        fmt::format("'{}' is not a time like 2026-11-21T10:36:00Z", printable(text, 40)));
  }
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string to_json(const Manifest& manifest) {
  if (const auto wrong = contradiction_in(manifest)) {
    throw InvariantError(fmt::format("checkpoint manifest of step {}: {}", manifest.step, *wrong));
  }
  (void)parse_rfc3339(manifest.created);
  ordered_json files = ordered_json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back({{"name", file.name},
                     {"worker", file.worker},
                     {"bytes", file.bytes},
                     {"xxh3_128", file.xxh3_128}});
  }
  ordered_json events = ordered_json::array();
  for (const ManifestEvent& event : manifest.events) {
    events.push_back({{"step", event.step}, {"kind", event.kind}, {"detail", event.detail}});
  }
  const ordered_json document = {{"format_version", kFormatVersion},
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
                                 {"software", ordered_json(manifest.software)},
                                 {"tensor_count", manifest.tensor_count},
                                 {"tensor_names_xxh3_128", manifest.tensor_names_xxh3_128},
                                 {"files", files},
                                 {"events", events},
                                 {"job_yaml", manifest.job_yaml},
                                 {"seal_xxh3_128", kBlankSeal}};
  std::string text;
  try {
    text = document.dump(2) + "\n";
  } catch (const json::exception& error) {
    throw InvariantError(
        fmt::format("checkpoint manifest of step {}: {}", manifest.step, printable(error.what())));
  }
  const std::size_t place = text.rfind(kSealMember) + kSealMember.size();
  text.replace(place, kBlankSeal.size(), seal(text));
  if (text.size() > kMaxManifestBytes) {
    throw InvariantError(fmt::format("checkpoint manifest of step {} has {} bytes, allowed are {}",
                                     manifest.step, text.size(), kMaxManifestBytes));
  }
  return text;
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  if (text.size() > kMaxManifestBytes) {
    throw CheckpointError(
        fmt::format("{}: has {} bytes, allowed are {}", where, text.size(), kMaxManifestBytes));
  }
  const json document = parse_strict_json(text, kMaxJsonDepth, where);
  Members members(document, where);
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
  manifest.tensor_count = members.count("tensor_count");
  manifest.tensor_names_xxh3_128 = members.text("tensor_names_xxh3_128");
  manifest.files = read_files(members.list("files", kMaxFiles), where);
  manifest.events = read_events(members.list("events", kMaxEvents), where);
  manifest.job_yaml = members.text("job_yaml", kMaxJobBytes);
  (void)members.text("seal_xxh3_128");
  members.require_no_others();
  if (const auto wrong = contradiction_in(manifest)) {
    throw CheckpointError(fmt::format("{}: {}: damaged", where, *wrong));
  }
  (void)parse_rfc3339(manifest.created);
  return manifest;
}

}  // namespace gangway::checkpoint
