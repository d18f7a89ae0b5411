// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "gan/recipes/recipe_phases.hpp"
#include "gan/recipes/split_adversaries.hpp"
#include "job/choices.hpp"

namespace gangway::gan {
namespace {

/// Factor of the discriminators' loss, which slows their learning (the authors' code).
constexpr double kJudgesShare = 0.5;

/// A direction of translation: from `from` to `to`.
struct Way {
  std::string from;  ///< "a"
  std::string to;
  NetworkId generator{};      ///< translates `from` to `to`
  NetworkId discriminator{};  ///< judges `to`
  int stream = 0;             ///< first stream of its generator; streams draw apart
};

class Cycle {
 public:
  explicit Cycle(const Job& job)
      : job_(job),
        loss_name_(name_of(job.training.loss)),
        a_to_b_{"a", "b", job.id_of("generator_ab"), job.id_of("discriminator_b"), 0},
        b_to_a_{"b", "a", job.id_of("generator_ba"), job.id_of("discriminator_a"), 1} {}

  [[nodiscard]] std::vector<NetworkId> generators() const {
    return {a_to_b_.generator, b_to_a_.generator};
  }
  [[nodiscard]] std::vector<NetworkId> discriminators() const {
    return {a_to_b_.discriminator, b_to_a_.discriminator};
  }

  /// Returns nodes for pictures of both sides and their translations: "fake_b" from "real_a".
  [[nodiscard]] std::vector<Node> making() const {
    return {Reals{}, Join{"first-side", {"real"}, "real_a"},
            Join{"second-side", {"real"}, "real_b"}, made(a_to_b_), made(b_to_a_)};
  }
  [[nodiscard]] Pass translate() const {
    Pass pass{"translate", making()};
    for (const auto& [way, other] :
         {std::pair(&a_to_b_, &b_to_a_), std::pair(&b_to_a_, &a_to_b_)}) {
      add_verdict(pass.nodes, *way, "fake_" + way->to, 1);
      pass.nodes.emplace_back(adversarial("-generator", "fake_" + way->to, 1.0, way->generator));
      add_likeness(pass.nodes, "cycle_" + way->from, *other, "fake_" + way->to, "real_" + way->from,
                   job_.training.translation.cycle_weight, way->generator);
      if (job_.training.translation.identity_weight > 0.0) {
        add_likeness(pass.nodes, "same_" + way->to, *way, "real_" + way->to, "real_" + way->to,
                     job_.training.translation.identity_weight, way->generator);
      }
    }
    return pass;
  }
  /// Judges the results of `translate`, the first pass of the first phase.
  [[nodiscard]] Pass judge() const {
    Pass pass{"judge", making()};
    pass.recall = {.phase = 0, .pass = 0, .nodes = static_cast<int>(pass.nodes.size())};
    for (const Way* way : {&a_to_b_, &b_to_a_}) {
      std::string shown = "fake_" + way->to;
      if (job_.training.translation.pool > 0) {
        pass.nodes.emplace_back(Pool{shown, shown, "shown_" + way->to});
        shown = "shown_" + way->to;
      }
      for (const bool is_real : {true, false}) {
        const std::string images = is_real ? "real_" + way->to : shown;
        add_verdict(pass.nodes, *way, images, is_real ? 0 : 1);
        pass.nodes.emplace_back(
            adversarial(is_real ? "-real" : "-fake", images, kJudgesShare, way->discriminator));
      }
    }
    return pass;
  }

 private:
  [[nodiscard]] static Application made(const Way& way) {
    return {way.generator, {{"image", "real_" + way.from}}, "fake_" + way.to, way.stream};
  }
  static void add_verdict(std::vector<Node>& nodes, const Way& way, const std::string& images,
                          int stream) {
    nodes.emplace_back(
        Application{way.discriminator, {{"image", images}}, images + "_logits", stream});
  }
  [[nodiscard]] Loss adversarial(const char* part, const std::string& images, double weight,
                                 NetworkId of) const {
    return {.function = loss_name_ + part,
            .inputs = {images + "_logits"},
            .weight = weight,
            .shown_with = of};
  }
  /// Compares the translation of `given` by `way`'s generator with `wanted`.
  static void add_likeness(std::vector<Node>& nodes, const std::string& name, const Way& way,
                           const std::string& given, const std::string& wanted, double weight,
                           NetworkId shown_with) {
    const int stream = way.stream + (given == wanted ? 4 : 2);
    nodes.emplace_back(Application{way.generator, {{"image", given}}, name, stream});
    nodes.emplace_back(Loss{.function = "mean-absolute",
                            .inputs = {name, wanted},
                            .weight = weight,
                            .shown_with = shown_with});
  }

  const Job& job_;
  std::string loss_name_;
  Way a_to_b_;
  Way b_to_a_;
};

}  // namespace

std::vector<Phase> cyclegan_phases(const Job& job) {
  const Cycle cycle(job);
  return completed(
      job,
      {{.name = "generators",
        .networks = cycle.generators(),
        .takes_reals = true,
        .passes = {cycle.translate()}},
       {.name = "discriminators", .networks = cycle.discriminators(), .passes = {cycle.judge()}}});
}

}  // namespace gangway::gan
