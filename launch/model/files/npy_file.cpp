// SPDX-License-Identifier: MIT
#include "launch/model/files/npy_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
constexpr std::size_t kPreamble = 8;  // magic and version
constexpr std::size_t kMostHeader = std::size_t{1} << 16U;

[[noreturn]] void refuse(const std::filesystem::path& file, const char* why) {
  throw ConfigError(fmt::format(
      "{}: {}; numpy.save writes what is wanted: a matrix of float32 or float64, a row a picture",
      file.string(), why));
}

/// Returns the offset of the data. @pre the preamble is complete
std::size_t data_begin(const std::string& bytes) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
  };
  const bool is_long = byte(6) > 1;  // header length has four bytes instead of two
  const std::size_t length =
      byte(8) + (byte(9) << 8U) + (is_long ? (byte(10) << 16U) + (byte(11) << 24U) : 0U);
  return kPreamble + (is_long ? 4 : 2) + length;
}

/// Returns the text after `key` in a header without blanks; empty: no such key.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  return at == std::string_view::npos ? std::string_view() : header.substr(at + key.size());
}

/// Removes a leading number and `end` from `text` and returns the number; -1: no match.
std::int64_t take_number(std::string_view& text, char end) {
  std::int64_t number = -1;
  const auto found = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto size = static_cast<std::size_t>(found.ptr - text.data());
  if (found.ec != std::errc() || size == text.size() || text[size] != end) {
    return -1;
  }
  text.remove_prefix(size + 1);
  return number;
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
  if (begin > std::min(text->size(), kMostHeader)) {
    refuse(file, "ends within its header");
  }
  std::string header = text->substr(kPreamble, begin - kPreamble);
  std::erase_if(header, [](unsigned char character) { return std::isspace(character) != 0; });
  const std::string_view type = value_of(header, "'descr':");
  const bool is_double = type.starts_with("'<f8'");
  std::string_view shape = value_of(header, "'shape':(");
  const std::int64_t rows = take_number(shape, ',');
  const std::int64_t columns = take_number(shape, ')');
  if ((!is_double && !type.starts_with("'<f4'")) || rows < 0 || columns < 0 ||
      !value_of(header, "'fortran_order':").starts_with("False")) {
    refuse(file, "is none of '<f4' or '<f8' with two axes in C order");
  }
  const std::size_t numbers = (text->size() - begin) / (is_double ? 8 : 4);
  const auto wide = static_cast<std::size_t>(columns);
  const bool has_all =
      wide == 0 ? numbers == 0 : numbers % wide == 0 && std::cmp_equal(rows, numbers / wide);
  if (!has_all || (text->size() - begin) % (is_double ? 8 : 4) != 0) {
    refuse(file, "has not as many numbers as its header says");
  }
  const at::Tensor matrix = at::empty({rows, columns}, is_double ? at::kDouble : at::kFloat);
  std::memcpy(matrix.mutable_data_ptr(), text->data() + begin, matrix.nbytes());
  return matrix.to(at::kFloat);
}

}  // namespace gangway::launch
