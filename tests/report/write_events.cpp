// SPDX-License-Identifier: MIT
// Writes the event files that read_events.py reads: a run of two ticks, and its resumption from
// step 10.
#include <filesystem>
#include <string>
#include <vector>

#include "gan/pictures/png.hpp"
#include "report/tensorboard.hpp"

namespace {

/// Counts of four values: two near each other, one far away.
gangway::HistogramCounts counts() {
  gangway::Histogram histogram;
  histogram.add(std::vector<float>{-0.5F, 1.0F, 1.1F, 1.25F});
  return histogram.counts();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::vector<float> pixels(3 * 4 * 5, 1.0F);
  const gangway::pictures::ImageBatch images{
      .pixels = pixels, .count = 1, .channels = 3, .height = 4, .width = 5};
  const std::string png = gangway::pictures::encode_png(gangway::pictures::arrange_grid(images, 1));
  double now = 1'700'000'000;
  const auto clock = [&now] { return now += 1; };

  gangway::report::TensorboardWriter first(folder, {.host = "node7", .pid = 1}, clock, 0);
  first.add_tick({.index = 1,
                  .step = 10,
                  .kimg = 1.28,
                  .losses = {{"generator", 0.5}, {"discriminator", -2}},
                  .exposed = {{.phase = "generator", .seconds_per_step = 0.125}},
                  .updates = {{.network = "generator",
                               .count = 10,
                               .lr = 0.25,
                               .norms =
                                   gangway::report::UpdateNorms{
                                       .gradient = 2, .weights = 4, .update_ratio = 0.5}}},
                  .figures = {{"discriminator_accuracy", 0.75}},
                  .histograms = {{.step = 8, .tag = "Weights/generator", .counts = counts()}}});
  first.add_text("Events", "goes on with 3 workers, Größe 七", 9);
  first.add_image("Images/fakes", png, 10);
  first.add_tick({.index = 2,
                  .step = 300,
                  .kimg = 38.4,
                  .losses = {{"generator", 99}, {"discriminator", 99}}});

  gangway::report::TensorboardWriter second(folder, {.host = "node7", .pid = 2}, clock, 10);
  second.add_tick({.index = 2,
                   .step = 300,
                   .kimg = 38.4,
                   .losses = {{"generator", 0.25}, {"discriminator", 1}}});
  return 0;
}
