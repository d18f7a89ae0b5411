// SPDX-License-Identifier: MIT
// Writes the networks' inputs from a data source to standard output, as bytes: for
// compare_with_pillow.py.
//
//   dump_images SOURCE RESOLUTION CHANNELS [REPEATS]
//
// With REPEATS it writes only the images read per second of processor time; each image is read
// REPEATS times.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "data/dataset.hpp"
#include "data/open_dataset.hpp"

namespace {

using gangway::data::Dataset;

void write_all(const Dataset& dataset) {
  std::vector<float> values(dataset.shape().elements());
  std::vector<unsigned char> bytes(values.size());
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    (void)dataset.read(i, values);
    for (std::size_t j = 0; j < values.size(); ++j) {
      bytes[j] = static_cast<unsigned char>(std::lround((values[j] + 1.0F) * 127.5F));
    }
    (void)std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  }
}

void measure(const Dataset& dataset, int repeats) {
  std::vector<float> values(dataset.shape().elements());
  const std::clock_t began = std::clock();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      (void)dataset.read(i, values);
    }
  }
  const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  std::printf("%.0f images/s\n", static_cast<double>(dataset.size()) * repeats / seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) {
    (void)std::fprintf(stderr, "usage: dump_images SOURCE RESOLUTION CHANNELS [REPEATS]\n");
    return 2;
  }
  try {
    gangway::ModelSpec model;
    model.resolution = std::stoi(words[1]);
    model.channels = std::stoi(words[2]);
    const auto dataset = gangway::data::open_dataset({.source = words[0]}, model, 0);
    words.size() > 3 ? measure(*dataset, std::stoi(words[3])) : write_all(*dataset);
    return 0;
  } catch (const gangway::Error& error) {
    (void)std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
