// SPDX-License-Identifier: MIT
#include "base/text/shell_word.hpp"

#include <algorithm>
#include <string_view>

namespace gangway {
namespace {

bool is_plain(char character) {
  constexpr std::string_view kHarmless = "%+,-./:=@_";
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') ||
         kHarmless.find(character) != std::string_view::npos;
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return word;
  }
  std::string text = "'";
  for (const char character : word) {
    text += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return text + "'";
}

}  // namespace gangway
