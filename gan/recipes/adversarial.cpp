// SPDX-License-Identifier: MIT
#include "gan/recipes/adversarial.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "job/blocks/style_specs.hpp"
#include "job/choices.hpp"

namespace gangway::gan {
namespace {

/// Streams of the discriminator's applications in a pass, which draw apart.
constexpr int kOfReals = 0;
constexpr int kOfFakes = 1;

/// Path lengths use one in this many examples to save memory (StyleGAN2, appendix B).
constexpr int kPathLengthShare = 2;

/// Makes the passes of one job; labels are included if its networks take them.
class Passes {
 public:
  explicit Passes(const Job& job)
      : job_(job),
        generator_(job.id_of("generator")),
        discriminator_(job.id_of("discriminator")),
        loss_(gangway::name_of(job.training.loss)),
        has_labels_(job.model.classes > 0) {}

  [[nodiscard]] NetworkId generator_network() const { return generator_; }
  [[nodiscard]] NetworkId discriminator_network() const { return discriminator_; }

  [[nodiscard]] bool couples() const { return job_.training.loss == LossKind::kRelativistic; }

  [[nodiscard]] Pass real() const {
    Pass pass{"real", {Reals{}, judge_reals(), loss("-real", {"real_logits"}, discriminator_)}};
    if (job_.training.labels.is_any()) {
      pass.nodes = {Reals{}, Draw{.kind = Draw::Kind::kTargets, .output = "targets"}, judge_reals(),
                    loss("-targets", {"real_logits", "targets"}, discriminator_)};
    }
    return with_lecam(std::move(pass), kLecamReal);
  }
  [[nodiscard]] Pass fake() const {
    return with_lecam(of_fakes("fake", loss("-fake", {"fake_logits"}, discriminator_)), kLecamFake);
  }
  /// Judges real and generated images in one loss.
  [[nodiscard]] Pass pair() const {
    return of_pairs("pair", loss("", {"real_logits", "fake_logits"}, discriminator_));
  }
  /// Returns the generator's pass. @param last  the discriminator's passes
  [[nodiscard]] Pass generator(const std::vector<Pass>& last) const {
    Pass pass =
        couples() ? of_pairs("generate_pair", loss("", {"fake_logits", "real_logits"}, generator_))
                  : of_fakes("generate", loss("-generator", {"fake_logits"}, generator_));
    if (job_.training.reuse_fakes) {
      const auto fakes = std::ranges::find(last, couples() ? "pair" : "fake", &Pass::name);
      pass.recall = {.phase = 0,
                     .pass = static_cast<int>(fakes - last.begin()),
                     .nodes = static_cast<int>(couples() ? paired("", {}).nodes.size()
                                                         : with_fakes("", {}).nodes.size())};
    }
    return pass;
  }
  /// Penalises interpolates of real and generated images, judged with the real image's label.
  [[nodiscard]] Pass gradient_penalty() const {
    const PenaltySpec& spec = job_.training.penalty;
    Penalty gradient = penalty("gradient_penalty", spec.gradient_penalty, "between", 1);
    gradient.schedule = spec.gradient_schedule;
    return {"gradient_penalty",
            {Reals{}, Draw{.output = "noise"}, generated("real_labels"),
             Draw{.kind = Draw::Kind::kMix, .output = "share"},
             Join{"interpolation", {"real", "fake", "share"}, "between"}, gradient}};
  }
  /// Returns R1 and R2 if the job has them. A lazy regulariser is scaled for the steps that it
  /// skips (StyleGAN2, appendix B).
  [[nodiscard]] std::vector<Pass> regularisers(int interval) const {
    const PenaltySpec& spec = job_.training.penalty;
    std::vector<Pass> passes;
    if (spec.r1_gamma > 0.0) {
      passes.push_back({"r1", {Reals{}, regulariser(spec.r1_gamma, "real", interval)}});
    }
    if (spec.r2_gamma > 0.0) {
      const Penalty r2 = regulariser(spec.r2_gamma, "fake", interval);
      passes.push_back(couples() ? paired("r2", {r2}) : with_fakes("r2", {r2}));
    }
    return passes;
  }

  /// Returns the generator's path length pass, on fewer examples than other passes.
  [[nodiscard]] Pass path_length(int interval) const {
    Pass pass = drawn("path_length", kPathLengthShare);
    pass.nodes.emplace_back(
        Penalty{.network = generator_,
                .function = "path_length",
                .weight = job_.training.path_length.weight * interval,
                .inputs = with_labels({{"noise", "noise"}}, "fake_labels"),
                .inner_tensor = kStyles,
                .shown_with = interval == 1 ? std::optional(generator_) : std::nullopt,
                .harvests = true});
    return pass;
  }

 private:
  [[nodiscard]] std::vector<Input> with_labels(std::vector<Input> inputs,
                                               const std::string& labels) const {
    if (has_labels_) {
      inputs.push_back({"labels", labels});
    }
    return inputs;
  }
  [[nodiscard]] Application generated(const std::string& labels) const {
    return {generator_, with_labels({{"noise", "noise"}}, labels), "fake"};
  }
  /// Draws the generator's inputs.
  [[nodiscard]] Pass drawn(const std::string& name, int share = 1) const {
    Pass pass{name, {Draw{.output = "noise", .share = share}}};
    if (has_labels_) {
      pass.nodes.emplace_back(Draw{.kind = job_.training.fake_labels == FakeLabels::kData
                                               ? Draw::Kind::kDataLabels
                                               : Draw::Kind::kLabels,
                                   .output = "fake_labels",
                                   .share = share});
    }
    return pass;
  }
  /// Generates images, then `rest`.
  [[nodiscard]] Pass with_fakes(const std::string& name, const std::vector<Node>& rest) const {
    Pass pass = drawn(name);
    pass.nodes.emplace_back(generated("fake_labels"));
    pass.nodes.insert(pass.nodes.end(), rest.begin(), rest.end());
    return pass;
  }
  [[nodiscard]] Pass of_fakes(const std::string& name, const Loss& loss) const {
    return with_fakes(name, {judge_fakes(), loss});
  }
  /// As with_fakes, for fakes that are compared with real images: each has the label of its real
  /// image (Huang et al., 2024, the authors' code: one condition for both).
  [[nodiscard]] Pass paired(const std::string& name, const std::vector<Node>& rest) const {
    if (!has_labels_) {
      return with_fakes(name, rest);
    }
    Pass pass{name, {Reals{}, Draw{.output = "noise"}, generated("real_labels")}};
    pass.nodes.insert(pass.nodes.end(), rest.begin(), rest.end());
    return pass;
  }
  [[nodiscard]] Pass of_pairs(const std::string& name, const Loss& loss) const {
    std::vector<Node> rest{judge_reals(), judge_fakes(), loss};
    if (!has_labels_) {
      rest.insert(rest.begin(), Reals{});
    }
    return paired(name, rest);
  }
  /// Returns the labels with which generated images are judged.
  [[nodiscard]] std::string labels_of_fakes() const {
    return couples() ? "real_labels" : "fake_labels";
  }
  /// Adds LeCam if the job has it: the application moves the mean `statistic`, and its logits are
  /// drawn to the other mean, read before any update.
  [[nodiscard]] Pass with_lecam(Pass pass, const std::string& statistic) const {
    const double weight = job_.training.lecam.weight;
    if (weight == 0.0) {
      return pass;
    }
    const auto judged = std::ranges::find_if(pass.nodes, [this](const Node& node) {
      const auto* application = std::get_if<Application>(&node);
      return application != nullptr && application->network == discriminator_;
    });
    auto& application = std::get<Application>(*judged);
    application.statistic = statistic;
    const std::string logits = application.output;
    const std::string other = statistic == kLecamReal ? kLecamFake : kLecamReal;
    pass.nodes.insert(judged, Running{discriminator_, other, other});
    pass.nodes.emplace_back(Loss{.function = "lecam",
                                 .inputs = {logits, other},
                                 .weight = weight,
                                 .shown_with = discriminator_});
    return pass;
  }
  [[nodiscard]] Application judge_reals() const {
    return {discriminator_, with_labels({{"image", "real"}}, "real_labels"), "real_logits",
            kOfReals};
  }
  [[nodiscard]] Application judge_fakes() const {
    return {discriminator_, with_labels({{"image", "fake"}}, labels_of_fakes()), "fake_logits",
            kOfFakes};
  }
  [[nodiscard]] Loss loss(const std::string& part, std::vector<std::string> logits,
                          NetworkId of) const {
    return {.function = loss_ + part, .inputs = std::move(logits), .shown_with = of};
  }
  /// Returns a penalty; one in a phase of its own is not in the shown loss. @param images  names
  /// also the tensor of labels
  [[nodiscard]] Penalty penalty(const std::string& function, double weight,
                                const std::string& images, int interval) const {
    const std::string labels = images == "fake" ? labels_of_fakes() : "real_labels";
    return {.network = discriminator_,
            .function = function,
            .weight = weight,
            .inputs = with_labels({{"image", images}}, labels),
            .shown_with = interval == 1 ? std::optional(discriminator_) : std::nullopt};
  }

  /// Returns R1 on `images`.
  [[nodiscard]] Penalty regulariser(double gamma, const std::string& images, int interval) const {
    Penalty r1 = penalty("r1", gamma * interval, images, interval);
    r1.schedule = job_.training.penalty.gamma_course();
    return r1;
  }

  const Job& job_;
  NetworkId generator_;
  NetworkId discriminator_;
  std::string loss_;
  bool has_labels_;
};

std::vector<Pass> discriminator_passes(const Job& job, const Passes& of) {
  std::vector<Pass> passes =
      of.couples() ? std::vector{of.pair()} : std::vector{of.real(), of.fake()};
  if (job.training.penalty.gradient_penalty > 0.0) {
    passes.push_back(of.gradient_penalty());
  }
  if (!job.training.penalty.is_lazy()) {
    std::ranges::move(of.regularisers(1), std::back_inserter(passes));
  }
  return passes;
}

std::vector<Pass> generator_passes(const Job& job, const Passes& of,
                                   const std::vector<Pass>& of_discriminator) {
  std::vector<Pass> passes{of.generator(of_discriminator)};
  if (job.training.path_length.is_any() && !job.training.path_length.is_lazy()) {
    passes.push_back(of.path_length(1));
  }
  return passes;
}

}  // namespace

std::vector<Phase> adversarial_phases(const Job& job) {
  const Passes of(job);
  const NetworkSpec& discriminator = job.network("discriminator");
  const bool takes_new = job.training.generator_reals == GeneratorReals::kNew;
  std::vector<Phase> phases;
  phases.push_back({.name = "discriminator",
                    .networks = {of.discriminator_network()},
                    .repeats = discriminator.steps,
                    .takes_reals = true,
                    .passes = discriminator_passes(job, of)});
  phases.push_back({.name = "generator",
                    .networks = {of.generator_network()},
                    .takes_reals = takes_new,
                    .first_reals = takes_new ? discriminator.steps : 0,
                    .orthogonal_weight = job.training.orthogonal_weight,
                    .passes = generator_passes(job, of, phases.front().passes)});
  // Runs after the generator's phase: an earlier run would wait at once for the discriminator's new
  // weights, which now travel while the generator makes images.
  if (job.training.penalty.is_lazy()) {
    phases.push_back({.name = "discriminator_regulariser",
                      .networks = {of.discriminator_network()},
                      .interval = job.training.penalty.r1_interval,
                      .passes = of.regularisers(job.training.penalty.r1_interval)});
  }
  if (const PathLengthSpec& lengths = job.training.path_length; lengths.is_lazy()) {
    phases.push_back({.name = "generator_regulariser",
                      .networks = {of.generator_network()},
                      .interval = lengths.interval,
                      .passes = {of.path_length(lengths.interval)}});
  }
  return completed(job, with_augmentation(job, std::move(phases)));
}

}  // namespace gangway::gan
