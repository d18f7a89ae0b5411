// SPDX-License-Identifier: MIT
#include "checkpoint/format/names.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/errors.hpp"
#include "checkpoint/files/durable_file.hpp"

namespace gangway::checkpoint {

namespace {

constexpr std::size_t kStepDigits = 9;
constexpr std::size_t kNonceDigits = 16;
constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr std::string_view kDoomedPrefix = ".old-";
constexpr std::string_view kRecordSuffix = ".record";
constexpr std::string_view kRepairSuffix = ".repair";

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool all_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string nonce() {
  std::uint64_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    throw EnvironmentError(fmt::format("getrandom: {}", cause_of(errno)));
  }
  return fmt::format("{:016x}", value);
}

std::optional<std::int64_t> parse_with_nonce(std::string_view name, std::string_view prefix) {
  const std::size_t step_size = step_name(0).size();
  if (name.size() != prefix.size() + step_size + 1 + kNonceDigits || !name.starts_with(prefix) ||
      name[prefix.size() + step_size] != '-' || !all_hex(name.substr(name.size() - kNonceDigits))) {
    return std::nullopt;
  }
  return parse_step_name(name.substr(prefix.size(), step_size));
}

}  // namespace

std::string step_name(std::int64_t step) {
  if (step < 0 || step > kMaxStep) {
    throw InvariantError(
        fmt::format("step {} has no checkpoint name: allowed are 0 to {}", step, kMaxStep));
  }
  return fmt::format("step-{:09d}", step);
}

std::string temporary_name(std::int64_t step) {
  return fmt::format("{}{}-{}", kTemporaryPrefix, step_name(step), nonce());
}

std::string doomed_name(std::int64_t step) {
  return fmt::format("{}{}-{}", kDoomedPrefix, step_name(step), nonce());
}

std::string damaged_name(std::int64_t step) {
  return fmt::format("damaged-{}-{}", step_name(step), nonce());
}

std::optional<std::int64_t> parse_step_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (name.size() != kPrefix.size() + kStepDigits || !name.starts_with(kPrefix) ||
      !all_digits(name.substr(kPrefix.size()))) {
    return std::nullopt;
  }
  std::int64_t step = 0;
  for (const char digit : name.substr(kPrefix.size())) {
    step = step * 10 + (digit - '0');
  }
  return step;
}

std::optional<std::int64_t> parse_temporary_name(std::string_view name) {
  return parse_with_nonce(name, kTemporaryPrefix);
}

std::optional<std::int64_t> parse_doomed_name(std::string_view name) {
  return parse_with_nonce(name, kDoomedPrefix);
}

std::string worker_file_name(int worker, int num_workers) {
  return fmt::format("worker-{:04d}-of-{:04d}.safetensors", worker, num_workers);
}

bool is_worker_file_name(std::string_view name) {
  constexpr std::string_view kPrefix = "worker-";
  constexpr std::string_view kMiddle = "-of-";
  constexpr std::string_view kSuffix = ".safetensors";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) ||
      name.size() < kPrefix.size() + kSuffix.size()) {
    return false;
  }
  const std::string_view numbers =
      name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  const std::size_t middle = numbers.find(kMiddle);
  return middle != std::string_view::npos && all_digits(numbers.substr(0, middle)) &&
         all_digits(numbers.substr(middle + kMiddle.size()));
}

std::string record_name(std::string_view file) { return std::string(file).append(kRecordSuffix); }

std::string repair_name(std::string_view file) { return std::string(file).append(kRepairSuffix); }

bool is_own_file_name(std::string_view name) {
  if (name == kManifestName || name == kUnfinishedManifestName || name == kOwnerName) {
    return true;
  }
  for (const std::string_view suffix : {kRecordSuffix, kRepairSuffix}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  return is_worker_file_name(name);
}

std::string last_component(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace gangway::checkpoint
