// SPDX-License-Identifier: MIT
#include "worker/step/sample_pictures.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "comm/reduce/range_gather.hpp"
#include "gan/data/permutation.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/translate.hpp"
#include "gan/pictures/png.hpp"
#include "job/families/families.hpp"

namespace gangway::worker {
namespace {

constexpr int kScatterPoints = 1024;
/// Tags of the average's gather, apart from those of a load
/// (worker/state/load_from_checkpoint.cpp).
constexpr int kPicturePart = 32;

bool shows_points(const JobSpec& job) { return job.model.family->makes_points; }

int num_examples(const JobSpec& job) {
  return shows_points(job) ? kScatterPoints : job.output.grid * job.output.grid;
}

at::Tensor first_reals(const JobSpec& job, const data::Dataset& dataset) {
  std::vector<std::int64_t> shape = example_shape(job.model);
  const auto elements = dataset.shape().elements();
  shape.insert(shape.begin(), num_examples(job));
  at::Tensor reals = at::empty(shape, at::kFloat);
  const data::SampleOrder order(job.training.seed, dataset.size());
  for (int i = 0; i < num_examples(job); ++i) {
    float* out = reals.mutable_data_ptr<float>() + static_cast<std::size_t>(i) * elements;
    (void)dataset.read(order.dataset_index(i), {out, elements});
  }
  return reals;
}

/// Inputs, what `generator` makes of them (null: left out) and targets, as rows: about as many
/// pictures as a grid of others has.
at::Tensor side_rows(const JobSpec& job, const data::Dataset& dataset, gan::Network* generator) {
  const data::SampleOrder order(job.training.seed, dataset.size());
  const int bands = std::max(1, job.output.grid / 3);
  std::vector<std::int64_t> examples;
  for (int i = 0; i < bands * job.output.grid; ++i) {
    examples.push_back(order.dataset_index(i));
  }
  return gan::rows_of_sides(generator, dataset, examples, job.output.grid);
}

}  // namespace

std::string fakes_file(const JobSpec& job, std::int64_t steps_done) {
  const std::int64_t images = steps_done * job.images_per_step();
  if (images == 0) {
    return "fakes_init.png";
  }
  if (job.output.pictures_kimg < 1.0) {
    return fmt::format("fakes{:06}.{:03}.png", images / 1000, images % 1000);
  }
  return fmt::format("fakes{:06}.png", images / 1000);
}

void SamplePictures::write_reals() const {
  if (setup_.dataset.reads() == data::Reads::kNamed) {
    return;
  }
  if (setup_.job.training.recipe->translates) {
    write("reals.png", side_rows(setup_.job, setup_.dataset, nullptr));
    return;
  }
  write("reals.png", first_reals(setup_.job, setup_.dataset));
}

bool SamplePictures::write_fakes(const std::string& file) {
  NetworkState& generator = setup_.state;
  generator.fetch();
  comm::Arena& shown = generator.average() != nullptr ? *generator.average() : generator.weights();
  if (generator.average() != nullptr || generator.is_cut()) {
    std::vector<comm::ElementRange> wanted(
        static_cast<std::size_t>(setup_.transport.num_workers()));
    wanted[static_cast<std::size_t>(setup_.drawer)] = {0, generator.layout().size()};
    const comm::GatherRequest request{.network = static_cast<int>(setup_.network),
                                      .part = kPicturePart,
                                      .plan = &generator.plan(),
                                      .arena = &shown,
                                      .wanted = wanted,
                                      .timeout = setup_.timeout};
    setup_.lane.wait(setup_.lane.submit([&] { comm::gather_ranges(setup_.transport, request); }));
  }
  if (setup_.transport.worker() != setup_.drawer) {
    return false;
  }
  generator.with_weights(shown, [&] {
    if (setup_.job.training.recipe->translates) {
      write(file, side_rows(setup_.job, setup_.dataset, &generator.network()));
      return;
    }
    if (setup_.job.training.recipe->takes_pictures) {  // those of reals.png, place by place
      write(file, gan::translated(generator.network(), first_reals(setup_.job, setup_.dataset)));
      return;
    }
    if (const ModelSpec& model = setup_.job.model;
        model.has_codes() && model.family->makes_images()) {
      write(file, gan::generate_code_grid(generator.network(), model, setup_.job.output.grid));
      return;
    }
    std::vector<std::uint64_t> seeds(static_cast<std::size_t>(num_examples(setup_.job)));
    std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});
    write(file, gan::generate_for_seeds(generator.network(), setup_.job.model, seeds));
  });
  return true;
}

void SamplePictures::write(const std::string& file, const at::Tensor& examples) const {
  const at::Tensor plain = examples.contiguous();
  const std::span<const float> values(plain.const_data_ptr<float>(),
                                      static_cast<std::size_t>(plain.numel()));
  const std::filesystem::path path = setup_.run_directory / file;
  if (shows_points(setup_.job)) {
    const at::Tensor reals = first_reals(setup_.job, setup_.dataset).contiguous();
    const std::span<const float> behind(reals.const_data_ptr<float>(),
                                        static_cast<std::size_t>(reals.numel()));
    const std::vector<pictures::ScatterLayer> layers{{behind, pictures::kGray},
                                                     {values, pictures::kBlue}};
    pictures::write_png_scatter(path, layers);
    return;
  }
  const ModelSpec& model = setup_.job.model;
  pictures::write_png_grid(path,
                           {.pixels = values,
                            .count = static_cast<int>(plain.size(0)),
                            .channels = model.channels,
                            .height = model.resolution,
                            .width = model.resolution},
                           setup_.job.output.grid);
}

}  // namespace gangway::worker
