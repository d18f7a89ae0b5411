// SPDX-License-Identifier: MIT
// Jobs small enough to be trained dozens of times in a test, and the images that they learn. Any
// thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::fidelity {

/// Writes 64 random images of 28 x 28 pixels with labels 0..9 as an IDX folder; the same bytes
/// every time.
void write_tiny_images(const std::filesystem::path& folder);
/// Such a folder, written once a process.
[[nodiscard]] const std::filesystem::path& tiny_images();

/// A DCGAN of 32 pixels with BatchNorm in 4 micro-batches of 4 images, on the images of `folder`.
[[nodiscard]] JobSpec small_dcgan(const std::filesystem::path& folder);
/// The dense pair on a toy mixture, in 4 micro-batches of 8 points. Its last discriminator layer
/// has a bias.
[[nodiscard]] JobSpec small_mlp();
/// small_dcgan() with ADA, whose strength rises by 16 / 200 an update.
[[nodiscard]] JobSpec adaptive_dcgan(const std::filesystem::path& folder);

/// A job that has something of its own to go wrong.
struct NamedJob {
  std::string name;  ///< letters and digits
  JobSpec job;
  int steps = 2;          ///< enough for every phase to run twice where that is affordable
  bool is_large = false;  ///< of millions of weights: one layout of a test's is enough
};

/// Networks that grow, in micro-batches of 2 images: at 4 pixels in step 0, half faded to 8 in step
/// 1, at 8 in steps 2 and 3, half faded to 16 in step 4.
[[nodiscard]] JobSpec small_progressive(const std::filesystem::path& folder);

/// Of a recipe; points for a family that makes them, else images of `folder`.
[[nodiscard]] JobSpec small_job_of(const Recipe& recipe, const ModelFamily* family,
                                   const std::filesystem::path& folder = "");
/// The same of recipe vae.
[[nodiscard]] JobSpec small_autoencoder(const ModelFamily* family,
                                        const std::filesystem::path& folder = "");

/// Of a recipe that makes pictures of pictures, on outlines or labels 1 and 2 of the images of
/// `folder`.
[[nodiscard]] JobSpec small_translation(const Recipe& recipe, const ModelFamily* family,
                                        const std::filesystem::path& folder = "");

/// Every network, loss, penalty, optimiser and schedule there is.
[[nodiscard]] std::vector<NamedJob> job_breadth(const std::filesystem::path& folder);

/// Recipe style-transfer on the images of write_tiny_images, with the style picture that it writes.
[[nodiscard]] JobSpec small_style_transfer(const std::filesystem::path& folder);

}  // namespace gangway::fidelity
