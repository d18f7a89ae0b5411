// SPDX-License-Identifier: MIT
#include "job/fingerprint.hpp"

#include <functional>

#include <fmt/format.h>
#include <xxhash.h>

#include "job/errors.hpp"
#include "job/key.hpp"

namespace gangway {
namespace {

/// `path=value`, a line each, of the chosen keys that apply to the job, in the table's order.
std::string canonical_text(const JobSpec& spec, const std::function<bool(const Key&)>& is_chosen) {
  std::string text;
  for (const Key& key : key_table()) {
    const bool counts = key.is_fingerprinted_at_default || key.get(spec) != default_of(key);
    if (!key.is_variant && key.applies(spec) && counts && is_chosen(key)) {
      text += fmt::format("{}={}\n", key.path, key.get(spec));
    }
  }
  return text;
}

std::string xxh3_128(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

std::string job_fingerprint(const JobSpec& spec) {
  const bool ends_at_kimg = spec.generator.schedule.decay == DecayKind::kCosine ||
                            spec.discriminator.schedule.decay == DecayKind::kCosine;
  return xxh3_128(canonical_text(spec, [&](const Key& key) {
    return key.changes_weights || (ends_at_kimg && key.path == "training.kimg");
  }));
}

std::string model_fingerprint(const JobSpec& spec) {
  return xxh3_128(
      canonical_text(spec, [](const Key& key) { return key.path.starts_with("model."); }));
}

std::string numerics_text(const JobSpec& spec) {
  const std::string section = "numerics.";
  std::string text;
  for (const Key& key : key_table()) {
    if (key.path.starts_with(section)) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key.path.substr(section.size()),
                          key.get(spec));
    }
  }
  return declared_inexactness(spec).empty() ? text : text + " inexact=wire";
}

std::string declared_inexactness(const JobSpec& spec) {
  if (spec.numerics.wire == WireSpec{}) {
    return {};
  }
  for (const Key& key : key_table()) {
    if (key.path == "numerics.wire") {
      return fmt::format(
          "inexact, as declared by {}={}: what travels between hosts is rounded, so the digest "
          "depends on the layout",
          key.path, key.get(spec));
    }
  }
  throw InvariantError("the job file has no key numerics.wire; please report this");
}

}  // namespace gangway
