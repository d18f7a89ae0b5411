// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "launch/model/commands.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kMaxSeeds = 65'536;

std::uint64_t parse_seed(std::string_view digits) {
  const auto seed = parse_number<std::uint64_t>(digits);
  if (!seed) {
    throw ConfigError(fmt::format("'{}' is not a number from 0 to 18446744073709551615", digits));
  }
  return *seed;
}

/// @throws ConfigError without the option's name
std::vector<std::uint64_t> seeds_in(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::uint64_t first = parse_seed(part.substr(0, dash));
    const std::uint64_t last =
        dash == std::string_view::npos ? first : parse_seed(part.substr(dash + 1));
    if (last < first) {
      throw ConfigError("a range must not fall");
    }
    if (last - first >= kMaxSeeds - seeds.size()) {
      throw ConfigError(fmt::format("more than {} seeds", kMaxSeeds));
    }
    for (std::uint64_t offset = 0; offset <= last - first; ++offset) {
      seeds.push_back(first + offset);
    }
    if (comma == std::string_view::npos) {
      return seeds;
    }
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::uint64_t> parse_seeds(std::string_view text, std::string_view option) {
  try {
    return seeds_in(text);
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{} {}: {}; write for example 0-63 or 1,5,9-12", option, text, error.what()));
  }
}

}  // namespace gangway::launch
