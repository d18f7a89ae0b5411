// SPDX-License-Identifier: MIT
#include "launch/model/files/sha256.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/errors.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 20U;

}  // namespace

std::string sha256_of_file(const std::filesystem::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(),
                                                                     &EVP_MD_CTX_free);
  bool is_well = hash != nullptr && EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) == 1;
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> bytes(kReadAtOnce);
  while (stream && is_well) {
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    is_well =
        EVP_DigestUpdate(hash.get(), bytes.data(), static_cast<std::size_t>(stream.gcount())) == 1;
  }
  if (is_well && !stream.eof()) {
    throw EnvironmentError(
        fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (!is_well || EVP_DigestFinal_ex(hash.get(), digest.data(), &size) != 1) {
    throw EnvironmentError(fmt::format("{}: OpenSSL has no SHA-256 here", file.string()));
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += fmt::format("{:02x}", digest.at(i));
  }
  return text;
}

}  // namespace gangway::launch
