// SPDX-License-Identifier: MIT
#include "worker/step/sample_pictures.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "comm/reduce/range_gather.hpp"
#include "data/permutation.hpp"
#include "gan/evaluation/generate.hpp"
#include "gan/evaluation/picture_batch.hpp"
#include "gan/evaluation/step_batch.hpp"
#include "gan/evaluation/translate.hpp"
#include "gan/pictures/png.hpp"
#include "job/families/families.hpp"

namespace gangway::worker {
namespace {

constexpr int kScatterPoints = 1024;
/// Tag of the average's gather; differs from a load's (worker/state/load_from_checkpoint.cpp).
constexpr int kPicturePart = 32;

bool shows_points(const Job& job) { return job.model.family->makes_points; }

int num_examples(const Job& job, int grid) {
  return shows_points(job) ? kScatterPoints : grid * grid;
}

at::Tensor first_reals(const Job& job, const data::Dataset& dataset, int grid) {
  return gan::step_batch(job, dataset, 0, num_examples(job, grid)).at("image");
}

/// Returns rows of inputs, outputs of `generator` (null: left out) and targets, with about as many
/// pictures as a grid.
at::Tensor side_rows(const SamplePicturesSetup& setup, gan::Network* generator) {
  const data::SampleOrder order(setup.job.training.seed, setup.dataset.size());
  const int bands = std::max(1, setup.grid / 3);
  std::vector<std::int64_t> examples;
  for (int i = 0; i < bands * setup.grid; ++i) {
    examples.push_back(order.dataset_index(i));
  }
  return gan::rows_of_sides(generator, setup.dataset, examples, setup.grid);
}

}  // namespace

std::string fakes_file(const Job& job, const OutputSpec& output, std::int64_t steps_done) {
  const std::int64_t images = steps_done * job.images_per_step();
  if (images == 0) {
    return "fakes_init.png";
  }
  if (output.pictures_kimg < 1.0) {
    return fmt::format("fakes{:06}.{:03}.png", images / 1000, images % 1000);
  }
  return fmt::format("fakes{:06}.png", images / 1000);
}

void SamplePictures::write_reals() const {
  if (setup_.dataset.reads() == data::Reads::kNamed) {
    return;
  }
  write("reals.png", setup_.job.training.recipe->translates
                         ? side_rows(setup_, nullptr)
                         : first_reals(setup_.job, setup_.dataset, setup_.grid));
}

comm::Arena& SamplePictures::gathered(NetworkId network) {
  NetworkState& state = *setup_.states[network];
  state.fetch();
  comm::Arena& shown = state.average() != nullptr ? *state.average() : state.weights();
  if (state.average() != nullptr || state.is_cut()) {
    std::vector<comm::ElementRange> wanted(
        static_cast<std::size_t>(setup_.transport.num_workers()));
    wanted[static_cast<std::size_t>(setup_.drawer)] = {0, state.layout().size()};
    const comm::GatherRequest request{.network = static_cast<int>(network),
                                      .part = kPicturePart,
                                      .plan = &state.plan(),
                                      .arena = &shown,
                                      .wanted = wanted,
                                      .timeout = setup_.timeout};
    setup_.lane.wait(setup_.lane.submit([&] { comm::gather_ranges(setup_.transport, request); }));
  }
  return shown;
}

void SamplePictures::write_own(const std::string& file) {
  std::function<void()> draw = [&] {
    const python::PythonStep::Shown shown = setup_.own_step->show(
        gan::step_batch(setup_.job, setup_.dataset, 0, std::int64_t{setup_.grid} * setup_.grid));
    const std::filesystem::path path = setup_.run_directory / file;
    const std::filesystem::path sounds = std::filesystem::path(path).replace_extension(".wav");
    std::error_code failure;
    if (shown.wav.empty()) {
      std::filesystem::remove(sounds, failure);  // left by the run before a resume
    } else {                                     // written first: the picture's reader expects it
      write_file_atomically(sounds, shown.wav);
    }
    pictures::write_png_grid(path, gan::batch_of(shown.pictures), setup_.grid);
  };
  for (const NetworkId id : setup_.states.ids()) {
    comm::Arena& weights = gathered(id);
    draw = [state = setup_.states[id], &weights, inner = std::move(draw)] {
      state->with_weights(weights, inner);
    };
  }
  if (setup_.transport.worker() == setup_.drawer) {
    draw();
  }
}

bool SamplePictures::write_fakes(const std::string& file) {
  if (setup_.own_step != nullptr) {
    write_own(file);
    return setup_.transport.worker() == setup_.drawer;
  }
  comm::Arena& shown = gathered(setup_.network);
  if (setup_.transport.worker() != setup_.drawer) {
    return false;
  }
  NetworkState& generator = *setup_.states[setup_.network];
  generator.with_weights(shown, [&] {
    if (setup_.job.training.recipe->translates) {
      write(file, side_rows(setup_, &generator.network()));
      return;
    }
    if (setup_.job.training.recipe->takes_pictures) {  // same pictures as in reals.png
      write(file, gan::translated(generator.network(),
                                  first_reals(setup_.job, setup_.dataset, setup_.grid)));
      return;
    }
    if (const ModelSpec& model = setup_.job.model;
        model.has_codes() && model.family->makes_images()) {
      write(file, gan::generate_code_grid(generator.network(), model, setup_.grid));
      return;
    }
    std::vector<std::uint64_t> seeds(
        static_cast<std::size_t>(num_examples(setup_.job, setup_.grid)));
    std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});
    write(file, gan::generate_for_seeds(generator.network(), setup_.job.model, seeds));
  });
  return true;
}

void SamplePictures::write(const std::string& file, const at::Tensor& examples) const {
  const at::Tensor plain = examples.contiguous();
  const std::filesystem::path path = setup_.run_directory / file;
  if (shows_points(setup_.job)) {
    const at::Tensor reals = first_reals(setup_.job, setup_.dataset, setup_.grid).contiguous();
    const std::vector<pictures::ScatterLayer> layers{{gan::values_of(reals), pictures::kGray},
                                                     {gan::values_of(plain), pictures::kBlue}};
    pictures::write_png_scatter(path, layers);
    return;
  }
  pictures::write_png_grid(path, gan::batch_of(plain), setup_.grid);
}

}  // namespace gangway::worker
