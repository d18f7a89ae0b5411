// SPDX-License-Identifier: MIT
#include "gan/pictures/digits.hpp"

#include <algorithm>
#include <array>

namespace gangway::pictures {
namespace {

struct Glyph {
  char letter;
  std::array<std::string_view, kDigitHeight> rows;
};

constexpr std::array kGlyphs{Glyph{'0', {"###", "# #", "# #", "# #", "###"}},
                             Glyph{'1', {" # ", "## ", " # ", " # ", "###"}},
                             Glyph{'2', {"###", "  #", "###", "#  ", "###"}},
                             Glyph{'3', {"###", "  #", "###", "  #", "###"}},
                             Glyph{'4', {"# #", "# #", "###", "  #", "  #"}},
                             Glyph{'5', {"###", "#  ", "###", "  #", "###"}},
                             Glyph{'6', {"###", "#  ", "###", "# #", "###"}},
                             Glyph{'7', {"###", "  #", "  #", "  #", "  #"}},
                             Glyph{'8', {"###", "# #", "###", "# #", "###"}},
                             Glyph{'9', {"###", "# #", "###", "  #", "###"}},
                             Glyph{'-', {"   ", "   ", "###", "   ", "   "}},
                             Glyph{'+', {"   ", " # ", "###", " # ", "   "}},
                             Glyph{'.', {"   ", "   ", "   ", "   ", " # "}},
                             Glyph{'e', {"   ", "###", "###", "#  ", "###"}},
                             Glyph{':', {"   ", " # ", "   ", " # ", "   "}}};

void blacken(Raster& raster, Pixel at) {
  if (at.column >= 0 && at.column < raster.width && at.row >= 0 && at.row < raster.height) {
    std::fill_n(raster.pixels.data() + raster.offset(at.row, at.column), raster.channels, 0);
  }
}

}  // namespace

void write_digits(Raster& raster, std::string_view text, Pixel at, int scale) {
  for (const char letter : text) {
    const auto glyph = std::ranges::find(kGlyphs, letter, &Glyph::letter);
    for (int row = 0; glyph != kGlyphs.end() && row < kDigitHeight * scale; ++row) {
      const std::string_view bits = glyph->rows[static_cast<std::size_t>(row / scale)];
      for (int column = 0; column < kDigitWidth * scale; ++column) {
        if (bits[static_cast<std::size_t>(column / scale)] == '#') {
          blacken(raster, {at.column + column, at.row + row});
        }
      }
    }
    at.column += kDigitStep * scale;
  }
}

}  // namespace gangway::pictures
