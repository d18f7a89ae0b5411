// SPDX-License-Identifier: MIT
#include "coordinator/http/http_place.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/secret.hpp"
#include "run/control/control_file.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTokenDigits = 64;
constexpr std::size_t kMaxHttpFile = 65'536;

/// Returns the token; empty if the file is missing or other users could read or write it.
std::string private_token(const fs::path& path) {
  try {
    const std::string token = read_own_token(path).value_or("");
    const bool is_token = token.size() == kTokenDigits &&
                          token.find_first_not_of("0123456789abcdef") == std::string::npos;
    return is_token ? token : std::string();
  } catch (const EnvironmentError&) {
    return {};
  }
}

}  // namespace

std::string run_secret(const fs::path& run_directory, std::string_view file) {
  const fs::path path = run_directory / file;
  std::string token = private_token(path);
  if (token.empty()) {
    token = new_secret();
    write_private(path, token + "\n");
  }
  return token;
}

void write_http_place(const fs::path& run_directory, const HttpPlace& place) {
  const nlohmann::ordered_json file = {
      {"url", place.url},
      {"url_with_token", fmt::format("{}?token={}", place.url, place.token)},
      {"host", place.host},
      {"port", place.port},
      {"pid", place.pid}};
  write_private(run_directory / kHttpFile, file.dump(2) + "\n");
}

void remove_http_place(const fs::path& run_directory) {
  (void)::unlink((run_directory / kHttpFile).c_str());
}

std::uint16_t port_before(const fs::path& run_directory) {
  try {
    const auto text = read_small_file(run_directory / kHttpFile, kMaxHttpFile);
    const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    return json.is_object() ? json.value("port", std::uint16_t{0}) : std::uint16_t{0};
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace gangway::coordinator
