// SPDX-License-Identifier: MIT
// What a step consists of, as data: phases, each with the network it trains and the passes over a
// micro-batch. Made from the job alone; no layout, no third party.
#pragma once

#include <string>
#include <vector>

#include "job/network_id.hpp"
#include "job/spec.hpp"

namespace gangway::pipeline {

/// One forward and backward of a phase over one micro-batch. The order of a phase's passes is the
/// order in which their gradients are added into the leaf.
enum class PassKind {
  kReal,  ///< discriminator on real images
  kFake,  ///< discriminator on images generated for it, without a graph through the generator
  kRealFakePair,     ///< both at once: a relativistic loss couples them
  kGradientPenalty,  ///< WGAN-GP on interpolates of real and generated images
  kR1,               ///< R1 on real images
  kGenerate,         ///< generator through the discriminator
  kGeneratePair,     ///< the same, with real logits for a relativistic loss
};

struct Phase {
  std::string name;  ///< "discriminator", "discriminator_regulariser", "generator"
  int index = 0;     ///< position in the job's list: part of every random key
  NetworkId network = NetworkId::kDiscriminator;
  int repeats = 1;   ///< n_critic
  int interval = 1;  ///< run in every step divisible by it
  std::vector<PassKind> passes;
  double clip_norm = 0.0;  ///< 0: updates need no agreement
};

/// The job's phases in the order of a step.
[[nodiscard]] std::vector<Phase> phases_of(const JobSpec& job);

/// Whether `phase` runs in `step` (steps done before it).
[[nodiscard]] inline bool runs_in(const Phase& phase, std::int64_t step) {
  return step % phase.interval == 0;
}

/// n / (n + 1) for a discriminator that is regularised in a phase of its own after every n updates,
/// else 1: the factor of learning rate and moments' decay that undoes the additional update
/// (StyleGAN2, app. B).
[[nodiscard]] double laziness_of(const JobSpec& job);

}  // namespace gangway::pipeline
