// SPDX-License-Identifier: MIT
// Jobs that are small enough to be trained dozens of times in a test, and their images. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::fidelity {

/// Writes 64 random images of 28 x 28 pixels with labels 0..9 as an IDX folder, always the same
/// bytes.
void write_tiny_images(const std::filesystem::path& folder);
/// Returns such a folder, written once per process.
[[nodiscard]] const std::filesystem::path& tiny_images();

/// A DCGAN of 32 pixels with BatchNorm in 4 micro-batches of 4 images, on the images of `folder`.
[[nodiscard]] JobSpec small_dcgan(const std::filesystem::path& folder);
/// The dense networks on a toy mixture, in 4 micro-batches of 8 points. The last layer of the
/// discriminator has a bias.
[[nodiscard]] JobSpec small_mlp();
/// small_dcgan() with ADA, whose strength rises by 16 / 200 an update.
[[nodiscard]] JobSpec adaptive_dcgan(const std::filesystem::path& folder);

/// A job with a feature that could break the contract.
struct NamedJob {
  std::string name;  ///< letters and digits
  JobSpec job;
  int steps = 2;          ///< enough for two runs of every phase, if affordable
  bool is_large = false;  ///< of millions of weights: a test trains it on one layout
};

/// Growing networks, in micro-batches of 2 images. 4 pixels in step 0; half faded to 8 in step 1; 8
/// in steps 2 and 3; half faded to 16 in step 4.
[[nodiscard]] JobSpec small_progressive(const std::filesystem::path& folder);

/// A job of a recipe; points if the family makes points, else images of `folder`.
[[nodiscard]] JobSpec small_job_of(const Recipe& recipe, const ModelFamily* family,
                                   const std::filesystem::path& folder = "");
/// The same of recipe vae.
[[nodiscard]] JobSpec small_autoencoder(const ModelFamily* family,
                                        const std::filesystem::path& folder = "");

/// A job of an image-to-image recipe, on outlines, or on labels 1 and 2, of the images of
/// `folder`.
[[nodiscard]] JobSpec small_translation(const Recipe& recipe, const ModelFamily* family,
                                        const std::filesystem::path& folder = "");

/// A generator pruned from a teacher of twice its width, on the images of `folder`.
[[nodiscard]] JobSpec small_distillation(const ModelFamily* family,
                                         const std::filesystem::path& folder = "");

/// Jobs that cover every network, loss, penalty, optimiser and schedule.
[[nodiscard]] std::vector<NamedJob> job_breadth(const std::filesystem::path& folder);

/// Recipe style-transfer on the images of write_tiny_images, with the style picture in that folder.
[[nodiscard]] JobSpec small_style_transfer(const std::filesystem::path& folder);

}  // namespace gangway::fidelity
