// SPDX-License-Identifier: MIT
// The names of a checkpoint folder, made and recognised. Nothing that is not matched in full is
// ever touched. Internal to the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::checkpoint {

inline constexpr std::int64_t kMaxStep = 999'999'999;  // nine digits
inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::size_t kMaxManifestBytes = std::size_t{256} << 20U;
inline constexpr std::string_view kOwnerName = "owner.json";
inline constexpr std::string_view kUnfinishedManifestName = "manifest.json.tmp";

/// "step-000000123"
[[nodiscard]] std::string step_name(std::int64_t step);
/// ".tmp-step-000000123-<nonce>": being written.
[[nodiscard]] std::string temporary_name(std::int64_t step);
/// ".old-step-000000123-<nonce>": being deleted.
[[nodiscard]] std::string doomed_name(std::int64_t step);
/// "damaged-step-000000123-<nonce>": set aside, kept for a person to look at.
[[nodiscard]] std::string damaged_name(std::int64_t step);

/// The step, when `name` is what the function above makes.
[[nodiscard]] std::optional<std::int64_t> parse_step_name(std::string_view name);
[[nodiscard]] std::optional<std::int64_t> parse_temporary_name(std::string_view name);
[[nodiscard]] std::optional<std::int64_t> parse_doomed_name(std::string_view name);

/// "worker-0000-of-0002.safetensors".
[[nodiscard]] std::string worker_file_name(int worker, int num_workers);
/// True for "worker-<digits>-of-<digits>.safetensors".
[[nodiscard]] bool is_worker_file_name(std::string_view name);
/// "<file>.record": beside a worker's file until the manifest takes it up.
[[nodiscard]] std::string record_name(std::string_view file);
/// "<file>.repair": being written in the place of a damaged file.
[[nodiscard]] std::string repair_name(std::string_view file);
/// True for every file that the store itself puts into a folder.
[[nodiscard]] bool is_own_file_name(std::string_view name);

/// Last component, also of a path that ends in a slash.
[[nodiscard]] std::string last_component(const std::filesystem::path& path);

}  // namespace gangway::checkpoint
