// SPDX-License-Identifier: MIT
// Passes that no recipe has. Compares gradients of the graph, cut at every tensor, with plain
// autograd through the whole graph.
#include "worker/pass/pass_run.hpp"

#include <functional>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/losses/losses.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/named_rows.hpp"
#include "tests/worker/one_microbatch.hpp"
#include "worker/pass/draws.hpp"

namespace gangway::worker {
namespace {

using pipeline::Application;
using pipeline::completed;
using pipeline::Draw;
using pipeline::Join;
using pipeline::Loss;
using pipeline::Reals;

constexpr NetworkId kG = kGenerator;
constexpr NetworkId kD = kDiscriminator;
/// Two networks and real points.
class Bench : public OneMicrobatch {
 public:
  explicit Bench(JobSpec job = fidelity::small_mlp()) : OneMicrobatch(std::move(job)) {}

  /// Returns plain autograd's gradients of `loss`, a function of the fakes' noise, the real points
  /// and the shares.
  Gradients plain_gradients(
      const std::function<at::Tensor(const at::Tensor& noise, const at::Tensor& real,
                                     const at::Tensor& share)>& loss) {
    return of_loss(loss(noise(0, 0), real(),
                        gan::keyed_uniform(key(RandomDraw::kMix, 0), {count(), 1}, at::kCPU)));
  }
};

/// Two networks and a join take the fakes; one of three losses couples two branches.
std::vector<pipeline::Phase> branching(const std::vector<NetworkId>& trained) {
  return completed(
      {{.name = "branching",
        .networks = trained,
        .takes_reals = true,
        .passes = {{"branching",
                    {Draw{.output = "noise"}, Application{kG, {{"noise", "noise"}}, "fake"},
                     Reals{}, Draw{.kind = Draw::Kind::kMix, .output = "share"},
                     Join{"interpolation", {"real", "fake", "share"}, "between"},
                     Application{kD, {{"image", "between"}}, "of_between"},
                     Application{kD, {{"image", "fake"}}, "of_fake", 1},
                     Loss{"hinge-real", {"of_between"}, 0.5, kD},
                     Loss{"nonsaturating-fake", {"of_fake"}, 1.0, kG},
                     Loss{"relativistic", {"of_between", "of_fake"}, 2.0, kD}}}}}});
}

at::Tensor branching_loss(Bench& bench, const at::Tensor& noise, const at::Tensor& real,
                          const at::Tensor& share) {
  const at::Tensor fake = bench.apply(kG, noise);
  const std::vector<at::Tensor> logits{bench.apply(kD, share * real + (1.0 - share) * fake),
                                       bench.apply(kD, fake)};
  return 0.5 * gan::loss_named("hinge-real")({&logits[0], 1}) +
         gan::loss_named("nonsaturating-fake")({&logits[1], 1}) +
         2.0 * gan::loss_named("relativistic")(logits);
}

TEST(PassRun, AddsUpGradientsOfATensorThatSeveralTake) {
  Bench bench;
  const Gradients expected = bench.plain_gradients(
      [&](const auto&... inputs) { return branching_loss(bench, inputs...); });
  const Gradients found = bench.of_phases(branching({kG, kD}));
  expect_close(found, expected, 1e-6);
  EXPECT_EQ(bench.of_phases(branching({kG, kD})).size(), found.size());
}

TEST(PassRun, TrainsAnAutoencoderThroughTheSampleOfItsCode) {
  JobSpec job = fidelity::small_autoencoder(family_named("mlp"));
  job.training.autoencoder.kl_weight = 0.3;
  Bench bench(job);
  const NetworkId encoder = job.id_of("encoder");
  const NetworkId decoder = job.id_of("decoder");
  const Gradients expected = bench.plain_gradients([&](const at::Tensor& noise,
                                                       const at::Tensor& real, const at::Tensor&) {
    const at::Tensor code = bench.apply(encoder, real);
    const at::Tensor mean = code.slice(1, 0, job.model.latent);
    const at::Tensor log_variance = code.slice(1, job.model.latent);
    const at::Tensor made = bench.apply(decoder, mean + (0.5 * log_variance).exp() * noise);
    const at::Tensor likeness = 0.5 * (made - real).square().sum();
    const at::Tensor kl = -0.5 * (1.0 + log_variance - mean.square() - log_variance.exp()).sum();
    return (likeness + 0.3 * kl) / static_cast<double>(real.size(0));
  });
  expect_close(bench.of_phases(gan::phases_of(job)), expected, 1e-6);
  EXPECT_GT(bench.shown().by_network[0], 0.0);
  EXPECT_GT(bench.shown().by_network[1], 0.0);
}

/// Returns the discriminator's phase of `job` with only the pass `name`.
std::vector<pipeline::Phase> only_pass(const JobSpec& job, const std::string& name) {
  std::vector<pipeline::Phase> phases = gan::phases_of(job);
  phases.resize(1);
  std::erase_if(phases[0].passes, [&](const pipeline::Pass& pass) { return pass.name != name; });
  return completed(std::move(phases));
}

TEST(PassRun, DrawsWhatIsSaidOfImagesToTheMovingMeanOfTheOtherKind) {
  JobSpec job = fidelity::small_mlp();
  job.training.lecam.weight = 0.5;
  const std::map<std::string, float> means{{kLecamReal, 0.75F}, {kLecamFake, -0.25F}};
  for (const bool is_real : {true, false}) {
    Bench bench(job);
    gan::Network& discriminator = bench.network(kD);
    for (const auto& [name, mean] : means) {
      at::Tensor running = discriminator.kept_mean(name).running;
      running.fill_(mean);
    }
    at::Tensor said;
    const Gradients expected = bench.plain_gradients(
        [&](const at::Tensor& noise, const at::Tensor& real, const at::Tensor&) {
          said = bench.apply(kD, is_real ? real : bench.apply(kG, noise).detach());
          const at::Tensor loss = at::softplus(is_real ? -said : said).mean();
          return loss + 0.5 * (said - (is_real ? -0.25 : 0.75)).square().mean();
        });
    expect_close(bench.of_phases(only_pass(job, is_real ? "real" : "fake")), expected, 1e-6);
    const gan::Statistic& own = discriminator.kept_mean(is_real ? kLecamReal : kLecamFake);
    const gan::Statistic& other = discriminator.kept_mean(is_real ? kLecamFake : kLecamReal);
    EXPECT_NEAR(bench.seen_of(own).item<float>(), said.mean().item<float>(), 1e-6F);
    EXPECT_EQ(bench.seen_of(other).item<float>(), 0.0F);
  }
}

TEST(PassRun, TellsTheDiscriminatorThatSomeRealImagesAreGenerated) {
  JobSpec job = fidelity::small_mlp();
  job.training.labels = {.smoothing = 0.2, .noise = 0.4};
  Bench bench(job);
  const Gradients expected =
      bench.plain_gradients([&](const at::Tensor&, const at::Tensor& real, const at::Tensor&) {
        const RandomKey key{.seed = job.training.seed,
                            .phase = 0,
                            .draw = static_cast<std::int32_t>(RandomDraw::kLabelFlip)};
        const at::Tensor said = bench.apply(kD, real);
        const at::Tensor flips = gan::keyed_uniform(key, {real.size(0), 1}, at::kCPU).lt(0.4);
        return at::binary_cross_entropy_with_logits(
            said, at::full_like(said.detach(), 0.8).masked_fill(flips, 0.0));
      });
  expect_close(bench.of_phases(only_pass(job, "real")), expected, 1e-6);
}

TEST(PassRun, LeavesNothingInTheWeightsOfANetworkThatIsNotTrained) {
  Bench bench;
  const Gradients all = bench.plain_gradients(
      [&](const auto&... inputs) { return branching_loss(bench, inputs...); });
  for (const auto& [trained, name] : {std::pair(kG, "generator"), std::pair(kD, "discriminator")}) {
    Gradients expected = all;
    std::erase_if(expected, [&](const auto& entry) { return !entry.first.starts_with(name); });
    expect_close(bench.of_phases(branching({trained})), expected, 1e-6);
  }
}

TEST(PassRun, GivesTheSameBitsEachTime) {
  Bench bench;
  const Gradients first = bench.of_phases(branching({kG, kD}));
  const Gradients second = bench.of_phases(branching({kG, kD}));
  for (const auto& [name, gradient] : first) {
    EXPECT_TRUE(at::equal(gradient, second.at(name))) << name;
  }
}

TEST(PassRun, ShowsEachLossWithItsNetworkAndItsWeight) {
  Bench bench;
  std::vector<pipeline::Phase> phases = branching({kG, kD});
  bench.of_phases(phases);
  const messages::MicrobatchLoss shown = bench.shown();
  auto& coupled = std::get<Loss>(phases[0].passes[0].nodes.back());
  coupled.shown_with = std::nullopt;
  bench.of_phases(phases);
  const double hinge = bench.shown().by_network[1];
  EXPECT_GT(hinge, 0.0);
  EXPECT_GT(shown.by_network[1], hinge);
  EXPECT_EQ(shown.by_network[0], bench.shown().by_network[0]);
  coupled = {"relativistic", {"of_between", "of_fake"}, 4.0, kD};
  bench.of_phases(phases);
  EXPECT_NEAR(bench.shown().by_network[1] - hinge, 2.0 * (shown.by_network[1] - hinge), 1e-6);
}

TEST(PassRun, MultipliesGradientsByTheScaleOfTheirPhaseAndShowsLossesWithout) {
  Bench bench;
  const Gradients plain = bench.of_phases(branching({kG, kD}));
  const messages::MicrobatchLoss shown = bench.shown();
  bench.loss_scale = [] { return 256.0; };
  const Gradients scaled = bench.of_phases(branching({kG, kD}));
  for (const auto& [name, gradient] : plain) {  // scaling by a power of two is exact
    EXPECT_TRUE(at::equal(scaled.at(name), gradient * 256.0)) << name;
  }
  EXPECT_EQ(bench.shown().by_network[0], shown.by_network[0]);
  EXPECT_EQ(bench.shown().by_network[1], shown.by_network[1]);
}

TEST(PassRun, ComputesEachNetworkInItsPrecision) {
  const auto gradients_in = [](Precision generator, Precision discriminator) {
    JobSpec job = fidelity::small_mlp();
    job.network("generator").precision = generator;
    job.network("discriminator").precision = discriminator;
    return Bench(job).of_phases(branching({kG, kD}));
  };
  using enum Precision;
  const Gradients plain = gradients_in(kFp32, kFp32);
  const Gradients discriminators = gradients_in(kFp32, kBf16);
  const Gradients both = gradients_in(kBf16, kBf16);
  for (const auto& [name, gradient] : plain) {
    EXPECT_FALSE(at::equal(discriminators.at(name), gradient)) << name;
    EXPECT_FALSE(at::equal(both.at(name), discriminators.at(name))) << name;
    EXPECT_EQ(both.at(name).scalar_type(), at::kFloat) << name;
    EXPECT_LE((both.at(name) - gradient).norm().item<double>(),
              0.25 * gradient.norm().item<double>() + 0.05)
        << name;
  }
}

TEST(PassRun, DrawsOtherNumbersFromEachStream) {
  Bench bench;
  const auto gradients_with = [&](int stream) {
    return bench.of_phases(
        completed({{.name = "one",
                    .networks = {kG},
                    .passes = {{"one",
                                {Draw{.output = "noise", .stream = stream},
                                 Application{kG, {{"noise", "noise"}}, "fake"},
                                 Application{kD, {{"image", "fake"}}, "logits"},
                                 Loss{"nonsaturating-generator", {"logits"}}}}}}}));
  };
  const Gradients first = gradients_with(0);
  const Gradients other = gradients_with(1);
  EXPECT_FALSE(at::equal(first.begin()->second, other.begin()->second));
}

TEST(Draws, FindLabelsOfTheDataOnADeviceThatTheHostWouldFind) {
  JobSpec job = fidelity::small_mlp();
  job.data.limit = 100;
  const auto data = data::open_dataset(job.data, job.model, job.training.seed);
  const Draw draw{.kind = Draw::Kind::kDataLabels};
  const RandomKey key{.seed = 1, .step = 2};
  const at::Tensor by_host = drawn(draw, key, {.job = job, .data = data.get()});
  const at::Tensor labels = all_labels(*data, at::kCPU);
  EXPECT_EQ(labels.size(0), 100);
  EXPECT_TRUE(at::equal(drawn(draw, key, {.job = job, .labels = labels}), by_host));
  EXPECT_GT(std::get<0>(at::_unique(by_host)).numel(), 1) << "or it proves nothing";
}

TEST(PassRun, RefusesLossesAndPenaltiesThatNobodyKnows) {
  Bench bench;
  std::vector<pipeline::Phase> phases = branching({kG, kD});
  std::get<Loss>(phases[0].passes[0].nodes.back()).function = "no such loss";
  EXPECT_THROW(static_cast<void>(bench.run_of(phases)), InvariantError);
  phases[0].passes[0].nodes = {Reals{}, pipeline::Penalty{.function = "none"}};
  EXPECT_THROW(static_cast<void>(bench.run_of(phases)), InvariantError);
}

}  // namespace
}  // namespace gangway::worker
