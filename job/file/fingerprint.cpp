// SPDX-License-Identifier: MIT
#include "job/file/fingerprint.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/hash.hpp"

namespace gangway {
namespace {

/// Returns whether hashes include the key; a newer key counts unless it has its default value.
bool is_hashed(const Key& key, const JobSpec& spec) {
  return key.is_fingerprinted_at_default || key.get(spec) != default_of(key, *spec.training.recipe);
}

/// Returns `path=value` lines of the chosen keys that apply to the job, in the table's order.
std::string canonical_text(const JobSpec& spec, const std::function<bool(const Key&)>& is_chosen) {
  std::string text;
  for (const Key& key : key_table(*spec.training.recipe)) {
    if (!key.is_variant && key.applies(spec) && is_hashed(key, spec) && is_chosen(key)) {
      text += fmt::format("{}={}\n", key.path, key.weighty(spec));
    }
  }
  return text;
}

}  // namespace

bool decides_weights(const Key& key, const JobSpec& spec) {
  return key.changes_weights || (spec.ends_burn_in() && key.path == "training.kimg");
}

std::string job_fingerprint(const JobSpec& spec) {
  return hash_of(canonical_text(spec, [&](const Key& key) { return decides_weights(key, spec); }));
}

std::string model_fingerprint(const JobSpec& spec) {
  return hash_of(canonical_text(
      spec, [](const Key& key) { return key.path.starts_with("model.") && key.changes_weights; }));
}

std::string numerics_text(const JobSpec& spec) {
  const std::string section = "numerics.";
  std::string text;
  for (const Key& key : key_table(*spec.training.recipe)) {
    if (key.path.starts_with(section) && key.changes_weights && key.applies(spec) &&
        is_hashed(key, spec)) {
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key.path.substr(section.size()),
                          key.get(spec));
    }
  }
  if (spec.rounds_wire()) {
    text += " inexact=wire";
  }
  if (spec.layout.mixed_processors == MixedProcessors::kAllow) {
    text += " inexact=processors";
  }
  return text;
}

std::string declared_inexactness(const JobSpec& spec) {
  const NumericsSpec& numerics = spec.numerics;
  std::string why;
  if (spec.rounds_wire()) {
    why = "wire";
  } else if (numerics.order == SumOrder::kNccl) {
    why = "order";
  } else if (numerics.kernels == KernelChoice::kFastest) {
    why = "kernels";
  } else if (spec.layout.mixed_processors == MixedProcessors::kAllow) {
    why = "mixed_processors";
  } else {
    return {};
  }
  const std::string effect =
      why == "wire" ? "what travels between hosts is rounded, so the digest depends on the layout"
      : why == "mixed_processors"
          ? "workers may compute different bits, so the digest depends on each worker's work"
      : why == "order" ? "NCCL chooses the order of additions, so the digest depends on the layout"
                       : "some kernels add in any order, so two runs of one layout may differ";
  for (const Key& key : key_table(*spec.training.recipe)) {
    if (key.path == "numerics." + why) {
      return fmt::format("inexact, as declared by {}={}: {}", key.path, key.get(spec), effect);
    }
  }
  throw InvariantError("the job file has no key numerics." + why + "; please report this");
}

}  // namespace gangway
