// SPDX-License-Identifier: MIT
#include "gan/losses/losses.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/errors.hpp"

namespace gangway::gan {
namespace {

using Inputs = std::span<const at::Tensor>;

struct NamedLoss {
  std::string_view name;
  LossFunction function;
};

/// Returns the sum over an example's elements, averaged over examples.
at::Tensor mean_of_sums(const at::Tensor& elements) {
  return elements.sum() / static_cast<double>(elements.size(0));
}

/// Maps [-1, 1] to [0, 1].
at::Tensor probability(const at::Tensor& shade) { return 0.5 * (shade + 1.0); }

at::Tensor bernoulli(std::span<const at::Tensor> in) {
  return mean_of_sums(
      at::binary_cross_entropy(probability(in[0]), probability(in[1]), {}, at::Reduction::None));
}

/// Computes the divergence in closed form (Kingma and Welling, 2014, appendix B).
at::Tensor gaussian_kl(std::span<const at::Tensor> in) {
  const std::vector<at::Tensor> code = in[0].chunk(2, 1);
  return mean_of_sums(0.5 * (code[0].square() + code[1].exp() - 1.0 - code[1]));
}

/// Lower bound of the variance; without it the likelihood of an exactly known code is unbounded.
constexpr double kLeastVariance = 1e-4;

at::Tensor category_code(std::span<const at::Tensor> in) {
  const at::Tensor logits = in[0].narrow(1, 0, in[1].size(1));
  return mean_of_sums(-in[1] * at::log_softmax(logits, 1));
}

at::Tensor gaussian_code(std::span<const at::Tensor> in) {
  const std::int64_t codes = in[1].size(1);
  const std::int64_t first = in[0].size(1) - 2 * codes;
  const at::Tensor variance = in[0].narrow(1, first + codes, codes).exp() + kLeastVariance;
  const at::Tensor distance = in[1] - in[0].narrow(1, first, codes);
  return mean_of_sums(0.5 * (distance.square() / variance + variance.log()));
}

/// Returns squared differences of neighbours along `dim`.
at::Tensor squared_differences(const at::Tensor& x, std::int64_t dim) {
  const std::int64_t count = x.size(dim) - 1;
  return (x.narrow(dim, 1, count) - x.narrow(dim, 0, count)).square().sum();
}

at::Tensor total_variation(std::span<const at::Tensor> in) {
  return (squared_differences(in[0], 2) + squared_differences(in[0], 3)) /
         static_cast<double>(in[0].size(0));
}

/// Reshapes the targets to one an example, beside logits of any number of patches.
at::Tensor targets_beside(Inputs in) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(in[0].dim()), 1);
  shape.front() = in[0].size(0);
  return in[1].reshape(shape);
}

/// Returns the cross entropy with targets t: -t log D(x) - (1 - t) log(1 - D(x)), on logits.
at::Tensor nonsaturating_targets(Inputs in) {
  return (at::softplus(-in[0]) + (1.0 - targets_beside(in)) * in[0]).mean();
}

constexpr std::array kLosses{
    // Goodfellow et al., 2014, eq. 1, on logits; the generator maximises log D(G(z)) (section 3)
    NamedLoss{"nonsaturating-real", [](Inputs in) { return at::softplus(-in[0]).mean(); }},
    NamedLoss{"nonsaturating-fake", [](Inputs in) { return at::softplus(in[0]).mean(); }},
    NamedLoss{"nonsaturating-generator", [](Inputs in) { return at::softplus(-in[0]).mean(); }},
    NamedLoss{"nonsaturating-targets", nonsaturating_targets},
    // Mao et al., 2017, eq. 2 with a = 0, b = c = 1, without its factor of one half
    NamedLoss{"least-squares-real", [](Inputs in) { return (in[0] - 1.0).square().mean(); }},
    NamedLoss{"least-squares-fake", [](Inputs in) { return in[0].square().mean(); }},
    NamedLoss{"least-squares-generator", [](Inputs in) { return (in[0] - 1.0).square().mean(); }},
    NamedLoss{"least-squares-targets",
              [](Inputs in) { return (in[0] - targets_beside(in)).square().mean(); }},
    // Lim and Ye, 2017; Miyato et al., 2018, eq. 16
    NamedLoss{"hinge-real", [](Inputs in) { return at::relu(1.0 - in[0]).mean(); }},
    NamedLoss{"hinge-fake", [](Inputs in) { return at::relu(1.0 + in[0]).mean(); }},
    NamedLoss{"hinge-generator", [](Inputs in) { return -in[0].mean(); }},
    // Arjovsky et al., 2017, eq. 3
    NamedLoss{"wasserstein-real", [](Inputs in) { return -in[0].mean(); }},
    NamedLoss{"wasserstein-fake", [](Inputs in) { return in[0].mean(); }},
    NamedLoss{"wasserstein-generator", [](Inputs in) { return -in[0].mean(); }},
    NamedLoss{"reconstruction-bernoulli", bernoulli},
    NamedLoss{"reconstruction-squared",
              [](Inputs in) { return mean_of_sums(0.5 * (in[0] - in[1]).square()); }},
    NamedLoss{"reconstruction-absolute",
              [](Inputs in) { return mean_of_sums((in[0] - in[1]).abs()); }},
    NamedLoss{"mean-absolute", [](Inputs in) { return (in[0] - in[1]).abs().mean(); }},
    NamedLoss{"gaussian-kl", gaussian_kl},
    // Chen et al., 2016, eq. 5, without the entropies, which are constant
    NamedLoss{"information-category", category_code},
    NamedLoss{"information-codes", gaussian_code},
    // Johnson et al., 2016, eq. 2, 4 and section 3.2, after Mahendran and Vedaldi, 2015, beta = 2
    NamedLoss{"content", [](Inputs in) { return (in[0] - in[1]).square().mean(); }},
    NamedLoss{"style", [](Inputs in) { return mean_of_sums((in[0] - in[1]).square()); }},
    NamedLoss{"total-variation", total_variation},
    NamedLoss{"lecam", [](Inputs in) { return (in[0] - in[1]).square().mean(); }},
    NamedLoss{"made", [](Inputs in) { return in[0]; }},  // computed by the job's own step
    NamedLoss{"relativistic", [](Inputs in) { return at::softplus(in[1] - in[0]).mean(); }},
};

}  // namespace

LossFunction loss_named(std::string_view name) {
  const auto* const found = std::ranges::find(kLosses, name, &NamedLoss::name);
  if (found == kLosses.end()) {
    throw InvariantError("no loss is named " + std::string(name));
  }
  return found->function;
}

}  // namespace gangway::gan
