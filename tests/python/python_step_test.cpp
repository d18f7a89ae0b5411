// SPDX-License-Identifier: MIT
// Steps that are the user's Python (docs/own-step.md): what is refused of them, and how.
#include "python/open/python_step.hpp"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/python/with_python.hpp"

namespace gangway::gan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class PythonSteps : public WithPython {
 protected:
  /// What is said of a step whose phase does `body` before it returns a loss.
  std::string complaint_of_phase(const std::string& body, const std::string& capture = "False") {
    return complaint_of_step(
        "class Step(gangway.Step):\n    @gangway.phase(trains='discriminator', capture=" + capture +
        ")\n    def judge(self, batch, step):\n        " + body +
        "\n        return self.discriminator(batch['image']).mean()\n");
  }
  /// What is said of the class Step of a file with this text, and of its phase `judge`.
  std::string complaint_of_step(const std::string& text, const std::string& arguments = {}) {
    static int number = 0;
    const std::string name = "step" + std::to_string(number++) + ".py";
    job_.training.step =
        ModuleFile{{.file = folder_.write(name, "import gangway, torch\n" + text).string()},
                   "Step",
                   arguments};
    try {
      judge();
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(StartsWith("training.step: step"), Not(HasSubstr("\n"))));
      return error.what();
    }
    return "";
  }

 private:
  void judge() {
    python::open_python(job_, job_.layout);
    PerNetwork<Network> networks = build_networks(job_);
    PerNetwork<Network*> pointers;
    PerNetwork<StatisticSink*> nobody;
    for (Network& network : networks) {
      network.initialise(job_.training.seed);
      pointers.add(&network);
      nobody.add(nullptr);
    }
    const std::unique_ptr<python::PythonStep> step = python::make_python_step(job_, pointers);
    step->begin_step(3);
    (void)step->call({.method = "judge",
                      .batch = {{"image", image()}},
                      .key = {.seed = 1},
                      .sinks = nobody,
                      .trained = {kDiscriminator}});
  }
};

TEST_F(PythonSteps, ThatCannotBeMadeAreRefusedInALine) {
  const std::string phase =
      "    @gangway.phase(trains='discriminator')\n    def judge(self, batch, step):\n"
      "        return self.discriminator(batch['image']).mean()\n";
  const std::string whole = "class Step(gangway.Step):\n" + phase;
  EXPECT_THAT(complaint_of_step(whole), IsEmpty());
  EXPECT_THAT(complaint_of_step(whole, R"({"gama": 1})"),
              HasSubstr("got an unexpected keyword argument 'gama'; it takes ()"));
  EXPECT_THAT(complaint_of_step("class Other(gangway.Step):\n" + phase),
              HasSubstr("has no class Step; it has Other"));
  EXPECT_THAT(complaint_of_step("class Step:\n" + phase),
              HasSubstr("Step is no class derived from gangway.Step"));
  EXPECT_THAT(complaint_of_step("class Step(gangway.Step):\n    pass\n"),
              HasSubstr("Step has no phase"));
  EXPECT_THAT(complaint_of_step("class Step(gangway.Step):\n    generator = 3\n" + phase),
              HasSubstr("self.generator of Step is something else"));
  EXPECT_THAT(complaint_of_step("import notthere\n" + whole),
              HasSubstr("No module named 'notthere'; a job's own files lie beside"));
}

TEST_F(PythonSteps, ThatDoWhatIsNotTheirsAreRefusedInALine) {
  EXPECT_THAT(complaint_of_phase("pass"), IsEmpty());
  EXPECT_THAT(complaint_of_phase("self.calls = 1"), HasSubstr("judge changes self.calls"));
  EXPECT_THAT(complaint_of_phase("return batch['image'].mean()"),
              HasSubstr("depends on no weights"));
  EXPECT_THAT(complaint_of_phase("return self.discriminator(batch['image'])"),
              HasSubstr("judge returns a tensor [4, 1]"));
  EXPECT_THAT(complaint_of_phase("import time; return self.discriminator(batch['image']).mean() * "
                                 "(time.perf_counter_ns() % 997)"),
              HasSubstr("another loss of the same micro-batch"));
  EXPECT_THAT(complaint_of_phase("self.kept['other']"),
              HasSubstr(".py:5 in judge: LookupError: no phase has kept 'other' in this step"));
  EXPECT_THAT(complaint_of_phase("batch['image'].mul_(0.5)"),
              AllOf(HasSubstr("judge writes to batch[\"image\"]"), HasSubstr("clone()")));
  EXPECT_THAT(complaint_of_phase("self.discriminator(batch['image']).mean().backward()"),
              HasSubstr(".py:5 in judge: a phase returns its loss, and calls no backward()"));
  EXPECT_THAT(complaint_of_phase("torch.distributed.init_process_group('gloo')"),
              HasSubstr(".py:5 in judge: init_process_group has no place here"));
  EXPECT_THAT(complaint_of_phase("batch['image'].cuda()"), HasSubstr("take cuda() and the like"));
}

TEST_F(PythonSteps, ThatMayBeRecordedHaveTheirNumbersInTensors) {
  const std::string looks = "assert isinstance(step, torch.Tensor) and step.item() == 3";
  EXPECT_THAT(complaint_of_phase(looks, "True"), IsEmpty());
  EXPECT_THAT(complaint_of_phase(looks), HasSubstr("AssertionError"));
  const std::string shows = "return self.discriminator(batch['image']).mean(), {'three': 3.0}";
  EXPECT_THAT(complaint_of_phase(shows), IsEmpty());
  EXPECT_THAT(complaint_of_phase(shows, "True"), HasSubstr("judge returns a float for three"));
}

}  // namespace
}  // namespace gangway::gan
