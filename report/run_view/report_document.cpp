// SPDX-License-Identifier: MIT
#include "report/run_view/report_document.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "report/run_view/run_view.hpp"

namespace gangway::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Nothing where it cannot be read.
std::optional<std::string> data_uri(const fs::path& file, std::string_view type,
                                    std::size_t most_bytes) {
  try {
    const auto content = read_small_file(file, most_bytes);
    if (!content) {
      return std::nullopt;
    }
    std::string text((content->size() + 2) / 3 * 4 + 1, '\0');
    const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(content->data()),
                                       static_cast<int>(content->size()));
    text.resize(static_cast<std::size_t>(length));
    return fmt::format("data:{};base64,{}", type, text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// `count` places of a list of `size`, evenly spaced, first and last among them.
std::set<std::size_t> evenly(std::size_t size, std::size_t count) {
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    places.insert(count == 1 ? size - 1 : i * (size - 1) / (count - 1));
  }
  return places;
}

/// Those of `pictures` that are taken; as many as are surely within `bytes`.
ordered_json within(const ordered_json& pictures, std::size_t bytes) {
  std::size_t largest = 1;
  for (const ordered_json& picture : pictures) {
    largest = std::max(largest, picture["bytes"].get<std::size_t>() +
                                    picture.value("sound_bytes", std::size_t{0}));
  }
  const std::size_t most = std::max<std::size_t>(2, bytes / largest);
  if (pictures.size() <= most) {
    return pictures;
  }
  auto taken = ordered_json::array();
  auto fakes = ordered_json::array();
  for (const ordered_json& picture : pictures) {
    (picture["kind"] == "fakes" ? fakes : taken).push_back(picture);
  }
  for (const std::size_t place :
       evenly(fakes.size(), std::max<std::size_t>(1, most - std::min(most, taken.size())))) {
    taken.push_back(fakes[place]);
  }
  return taken;
}

double now_unix() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ordered_json report_document(const fs::path& run, std::size_t picture_bytes) {
  ordered_json document = RunView(run).document();
  const std::size_t all = document["pictures"].size();
  ordered_json taken = within(document["pictures"], picture_bytes);
  document["pictures_left_out"] = all - taken.size();
  for (ordered_json& picture : taken) {
    const auto put = [&](const char* name, const char* as, std::string_view type) {
      if (!picture.contains(name)) {
        return;
      }
      if (auto data = data_uri(run / picture[name].get<std::string>(), type, picture_bytes)) {
        picture[as] = std::move(*data);
      }
    };
    put("file", "data", "image/png");
    put("sound", "sound_data", "audio/wav");
  }
  std::erase_if(taken.get_ref<ordered_json::array_t&>(),
                [](const ordered_json& picture) { return !picture.contains("data"); });
  document["pictures"] = std::move(taken);
  document["made_unix"] = now_unix();
  return document;
}

}  // namespace gangway::report
