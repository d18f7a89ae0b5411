// SPDX-License-Identifier: MIT
#include "launch/model/files/npy_file.hpp"

#include <cstring>
#include <regex>
#include <string>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
constexpr std::size_t kPreamble = 8;  // magic and version

[[noreturn]] void refuse(const std::filesystem::path& file, const char* why) {
  throw ConfigError(fmt::format(
      "{}: {}; numpy.save writes what is wanted: a matrix of float32 or float64, a row a picture",
      file.string(), why));
}

/// Where the data begin. @pre the preamble is there
std::size_t data_begin(const std::string& bytes) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const bool is_long = byte(6) > 1;  // the length of the header takes four bytes
  const std::size_t length =
      byte(8) + (byte(9) << 8U) + (is_long ? (byte(10) << 16U) + (byte(11) << 24U) : 0U);
  return kPreamble + (is_long ? 4 : 2) + length;
}

}  // namespace

at::Tensor read_npy_matrix(const std::filesystem::path& file) {
  const auto text = read_small_file(file, kMostBytes);
  if (!text) {
    throw ConfigError(fmt::format("{}: cannot be read", file.string()));
  }
  if (text->size() < 2 * kPreamble || !text->starts_with("\x93NUMPY")) {
    refuse(file, "is no .npy file");
  }
  const std::size_t begin = data_begin(*text);
  if (begin > text->size()) {
    refuse(file, "ends within its header");
  }
  const std::string header = text->substr(kPreamble, begin - kPreamble);
  std::smatch found;
  static const std::regex pattern(
      "'descr': *'<f([48])'.*'fortran_order': *False.*'shape': *\\(([0-9]+), *([0-9]+)\\)");
  if (!std::regex_search(header, found, pattern)) {
    refuse(file, "is none of '<f4' or '<f8' with two axes in C order");
  }
  const bool is_double = found[1] == "8";
  const std::int64_t rows = std::stoll(found[2]);
  const std::int64_t columns = std::stoll(found[3]);
  const at::Tensor matrix = at::empty({rows, columns}, is_double ? at::kDouble : at::kFloat);
  if (matrix.nbytes() != text->size() - begin) {
    refuse(file, "has not as many numbers as its header says");
  }
  std::memcpy(matrix.mutable_data_ptr(), text->data() + begin, matrix.nbytes());
  return matrix.to(at::kFloat);
}

}  // namespace gangway::launch
