// SPDX-License-Identifier: MIT
#include "run/decision_file.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway {
namespace {

using DecisionJson = nlohmann::ordered_json;

constexpr std::size_t kDecisionsLimitBytes = std::size_t{64} << 20U;
// A manifest allows 4,096 bytes of details, and JSON escapes double some bytes.
constexpr std::size_t kLongestWhy = 1024;

/// Returns `text` as one line for a manifest: replaces control characters by blanks.
std::string plain(std::string text) {
  if (text.size() > kLongestWhy) {
    text.resize(kLongestWhy);
  }
  for (char& letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20U || code >= 0x7fU) {
      letter = ' ';
    }
  }
  return text;
}

DecisionJson detail_json(const Decision& decision) {
  DecisionJson json{{"why", plain(decision.why)},
                    {"seen", decision.seen},
                    {"start", decision.start},
                    {"lr_factor", decision.change.lr_factor},
                    {"reseed", decision.change.reseed}};
  if (decision.score) {
    json["score"] = *decision.score;
  }
  return json;
}

std::optional<std::int64_t> whole(const DecisionJson& json, const char* name) {
  if (!json.is_object() || !json.contains(name) || !json[name].is_number_integer()) {
    return std::nullopt;
  }
  const auto value = json[name].get<std::int64_t>();
  return value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> real(const DecisionJson& json, const char* name) {
  return json.contains(name) && json[name].is_number() && std::isfinite(json[name].get<double>())
             ? std::optional(json[name].get<double>())
             : std::nullopt;
}

std::optional<Decision> from_json(std::int64_t step, std::string_view kind,
                                  const DecisionJson& json) {
  const auto known = decision_kind(kind);
  const auto seen = whole(json, "seen");
  const auto start = whole(json, "start");
  const auto reseed = whole(json, "reseed");
  if (!known || step < 0 || !seen || !start || !reseed ||
      *reseed > std::numeric_limits<int>::max() || !json.contains("why") ||
      !json["why"].is_string()) {
    return std::nullopt;
  }
  const auto factor = real(json, "lr_factor");
  if (!factor || *factor < 0.0) {
    return std::nullopt;
  }
  return Decision{
      .kind = *known,
      .change = {.step = step, .lr_factor = *factor, .reseed = static_cast<int>(*reseed)},
      .why = json["why"].get<std::string>(),
      .seen = *seen,
      .start = *start,
      .score = real(json, "score")};
}

}  // namespace

std::string decision_detail(const Decision& decision) { return detail_json(decision).dump(); }

std::optional<Decision> parse_decision(std::int64_t step, std::string_view kind,
                                       const std::string& detail) {
  return from_json(step, kind, DecisionJson::parse(detail, nullptr, /*allow_exceptions=*/false));
}

std::optional<Decisions> read_decisions(const std::filesystem::path& run) {
  const auto text = read_small_file(run / kDecisionsFile, kDecisionsLimitBytes);
  if (!text) {
    return std::nullopt;
  }
  Decisions decisions;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const DecisionJson json = DecisionJson::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto step = whole(json, "step");
    const bool has_kind = step && json.contains("kind") && json["kind"].is_string();
    auto decision =
        has_kind ? from_json(*step, json["kind"].get<std::string>(), json) : std::nullopt;
    if (!decision) {
      throw CheckpointError(fmt::format(
          "{}, line {}: is no decision: damaged, or of a newer gangway; remove the file to go by "
          "those that the newest checkpoint has",
          (run / kDecisionsFile).string(), decisions.size() + 1));
    }
    decisions.push_back(std::move(*decision));
  }
  return decisions;
}

void write_decisions(const std::filesystem::path& run, const Decisions& decisions) {
  std::string text;
  for (const Decision& decision : decisions) {
    DecisionJson json{{"step", decision.change.step}, {"kind", name_of(decision.kind)}};
    json.update(detail_json(decision));
    text += json.dump();
    text += '\n';
  }
  write_file_atomically(run / kDecisionsFile, text);
}

}  // namespace gangway
