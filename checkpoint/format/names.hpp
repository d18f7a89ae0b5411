// SPDX-License-Identifier: MIT
// Makes and parses the file names of a checkpoint folder. The store changes only files whose full
// name matches. Internal to the store; any thread.
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

/// Returns "step-000000123".
[[nodiscard]] std::string step_name(std::int64_t step);
/// Returns ".tmp-step-000000123-<nonce>": a folder that is being written.
[[nodiscard]] std::string temporary_name(std::int64_t step);
/// Returns ".old-step-000000123-<nonce>": a folder that is being deleted.
[[nodiscard]] std::string doomed_name(std::int64_t step);
/// Returns "damaged-step-000000123-<nonce>": a folder that is set aside for inspection.
[[nodiscard]] std::string damaged_name(std::int64_t step);

/// Returns the step if `name` has the form of the function above; else nothing.
[[nodiscard]] std::optional<std::int64_t> parse_step_name(std::string_view name);
[[nodiscard]] std::optional<std::int64_t> parse_temporary_name(std::string_view name);
[[nodiscard]] std::optional<std::int64_t> parse_doomed_name(std::string_view name);

/// Returns "worker-0000-of-0002.safetensors".
[[nodiscard]] std::string worker_file_name(int worker, int num_workers);
/// Whether `name` has the form "worker-<digits>-of-<digits>.safetensors".
[[nodiscard]] bool is_worker_file_name(std::string_view name);
/// Returns "<file>.record": the record beside a worker's file until the manifest includes it.
[[nodiscard]] std::string record_name(std::string_view file);
/// Returns "<file>.repair": a new file that will replace a damaged file.
[[nodiscard]] std::string repair_name(std::string_view file);
/// Whether the store itself writes files of this name.
[[nodiscard]] bool is_own_file_name(std::string_view name);

/// Returns the last component, also if the path ends in a slash.
[[nodiscard]] std::string last_component(const std::filesystem::path& path);

}  // namespace gangway::checkpoint
