// SPDX-License-Identifier: MIT
// Users' Python networks as keys of a job; no test executes their code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/fingerprint.hpp"
#include "job/modules/module_files.hpp"
#include "python/read/python_sources.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using testing::problems_of;
using testing::spec_of;
using ::testing::UnorderedElementsAre;

class PythonNetworks : public ::testing::Test {
 protected:
  PythonNetworks() {
    folder.write("nets.py", "import torch\nfrom layers import norm\nimport layers.up, helpers\n");
    folder.write("layers/__init__.py", "");
    folder.write("layers/norm.py", "from . import deep\n");
    folder.write("layers/deep.py", "");
    folder.write("layers/up.py", "");
    folder.write("layers/unused.py", "");
    folder.write("helpers.py", "import nets  # in a circle\n");
    folder.write("unused.py", "");
    folder.write("d.py", "");
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder.path() / name).string();
  }
  [[nodiscard]] std::string job(const std::string& generator) const {
    return "model: {generator: " + generator + ", discriminator: '" + path("d.py") + ":D'}\n";
  }
  [[nodiscard]] std::string call(const std::string& arguments) const {
    return "{python: '" + path("nets.py") + ":Nets.Generator'" + arguments + "}";
  }
  [[nodiscard]] JobSpec settled(const std::string& arguments) const {
    JobSpec spec = spec_of(job(call(arguments)));
    settle_modules(spec, folder.path());
    return spec;
  }
  const testing::ScratchFolder folder;
};

TEST_F(PythonNetworks, AreMadeOfTheFilesThatTheyImport) {
  EXPECT_THAT(read_python_sources({.file = path("nets.py")}),
              UnorderedElementsAre(Key("nets.py"), Key("layers/__init__.py"), Key("layers/norm.py"),
                                   Key("layers/deep.py"), Key("layers/up.py"), Key("helpers.py")));
}

TEST_F(PythonNetworks, HaveArgumentsThatAreValues) {
  const JobSpec spec = spec_of(job(
      call(", width: 64, rate: 2e-4, deep: true, name: 'x 1', none: ~, at: [16, {b: 1, a: 2}]")));
  const ModuleFile& module = spec.network("generator").module;
  EXPECT_EQ(module.file, path("nets.py"));
  EXPECT_EQ(module.python_class, "Nets.Generator");
  EXPECT_EQ(
      module.arguments,
      R"({"at":[16,{"a":2,"b":1}],"deep":true,"name":"x 1","none":null,"rate":0.0002,"width":64})");
  EXPECT_EQ(spec.network("discriminator").module.python_class, "D");
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  EXPECT_EQ(spec.architectures()[NetworkId{0}].blocks.size(), 1U);
}

TEST_F(PythonNetworks, TakeAnArgumentFromTheCommandLine) {
  JobSources sources{.file = "job.yaml", .text = job(call(", width: 64, deep: 3"))};
  sources.overrides = {"model.generator.width=32", "model.discriminator.heads=[1, 2]"};
  const JobSpec spec = load_job(sources).spec;
  EXPECT_EQ(spec.network("generator").module.arguments, R"({"deep":3,"width":32})");
  EXPECT_EQ(spec.network("discriminator").module.arguments, R"({"heads":[1,2]})");
}

TEST_F(PythonNetworks, BelongToTheJobByFilesClassAndArguments) {
  const JobSpec before = settled(", width: 64");
  EXPECT_EQ(job_fingerprint(before), job_fingerprint(settled(", width: 64")));
  EXPECT_NE(job_fingerprint(before), job_fingerprint(settled(", width: 65")));
  JobSpec interpreted = before;
  interpreted.layout.python = "/somewhere";
  EXPECT_EQ(job_fingerprint(before), job_fingerprint(interpreted));
  folder.write("unused.py", "another");
  EXPECT_EQ(job_fingerprint(before), job_fingerprint(settled(", width: 64")));
  folder.write("layers/deep.py", "another");
  EXPECT_NE(job_fingerprint(before), job_fingerprint(settled(", width: 64")));
}

TEST_F(PythonNetworks, HaveASiblingInTheDataWhosePlaceSaysNothing) {
  const auto data_at = [&](const std::string& file) {
    return "model: {family: dense}\ndata: {source: {python: '" + file + ":Faces', size: 3}}\n";
  };
  folder.write("faces.py", "class Faces: pass");
  folder.write("elsewhere/faces.py", "class Faces: pass");
  JobSpec spec = parse_job(data_at(path("faces.py")), "job.yaml");
  settle_modules(spec, folder.path());
  EXPECT_EQ(spec.data.source, "faces.py:Faces");
  EXPECT_EQ(spec.data.module.arguments, R"({"size":3})");
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  JobSpec moved = parse_job(data_at(path("elsewhere/faces.py")), "job.yaml");
  settle_modules(moved, folder.path());
  EXPECT_EQ(job_fingerprint(moved), job_fingerprint(spec));
  folder.write("elsewhere/faces.py", "class Faces: size = 1");
  moved.data.module.hash.clear();
  settle_modules(moved, folder.path());
  EXPECT_NE(job_fingerprint(moved), job_fingerprint(spec));
  JobSources other{.file = "job.yaml", .text = data_at(path("faces.py"))};
  other.overrides = {"data.source=fashion-mnist"};
  EXPECT_FALSE(load_job(other).spec.data.module.is_python());
}

TEST_F(PythonNetworks, AreKeptInTheRunDirectoryWithWhatTheyImport) {
  JobSpec spec = settled("");
  const fs::path run = folder.path() / "run";
  keep_modules(spec, run);
  fs::remove_all(folder.path() / "layers");
  fs::remove(path("nets.py"));
  use_kept_modules(spec, run);
  const PythonSpec script = *python_in(spec.architectures()[NetworkId{0}]);
  EXPECT_EQ(script.file, run / "python" / script.hash / "nets.py");
  EXPECT_EQ(read_trusted_python(script).size(), 6U);
  folder.write("run/python/" + script.hash + "/layers/up.py", "another");
  EXPECT_THROW((void)read_trusted_python(script), ConfigError);
}

TEST_F(PythonNetworks, OfAPackageAreNamedByItAndReadWithItsFolderBeside) {
  folder.write("R3GAN/Networks.py",
               "from .Resamplers import up\nfrom torch_utils.ops import fma\n");
  folder.write("R3GAN/Resamplers.py", "");
  folder.write("torch_utils/__init__.py", "");
  folder.write("torch_utils/ops/__init__.py", "from .. import misc\n");
  folder.write("torch_utils/ops/fma.py", "");
  folder.write("torch_utils/misc.py", "");
  const std::string text = "model: {generator: {python: 'R3GAN.Networks:Generator', width: 4}}\n";
  JobSpec spec = parse_job(text, "job.yaml");
  EXPECT_EQ(spec.network("generator").module.file, "R3GAN/Networks.py");
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  settle_modules(spec, folder.path());
  EXPECT_EQ(spec.network("generator").module.file, path("R3GAN/Networks.py"));
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  const fs::path run = folder.path() / "run";
  keep_modules(spec, run);
  use_kept_modules(spec, run);
  const PythonSpec script = *python_in(spec.architectures()[NetworkId{0}]);
  EXPECT_EQ(script.folder(), (run / "python" / script.hash / "").string());
  EXPECT_EQ(script.import_name(), "R3GAN.Networks");
  EXPECT_THAT(
      read_trusted_python(script),
      UnorderedElementsAre(Key("R3GAN/Networks.py"), Key("R3GAN/Resamplers.py"),
                           Key("torch_utils/__init__.py"), Key("torch_utils/ops/__init__.py"),
                           Key("torch_utils/ops/fma.py"), Key("torch_utils/misc.py")));
}

TEST_F(PythonNetworks, OfAPackageAreNoSourceOfPictures) {
  const auto module_of = [](const std::string& source) {
    return parse_job("model: {family: dense}\ndata: {source: '" + source + "'}\n", "job.yaml")
        .data.module;
  };
  EXPECT_EQ(module_of("faces.small:Faces").module, "faces.small");
  EXPECT_EQ(module_of("src/faces.small:Faces").file, "src/faces/small.py");
  EXPECT_FALSE(module_of("images:faces.zip").is_python());
  EXPECT_FALSE(module_of("images:/data/faces.small:Faces").is_python());
}

TEST_F(PythonNetworks, LieBesideTheJobFileWhereTheyAreNotInTheFolderThatOneIsIn) {
  JobSpec spec = parse_job("model: {generator: nets.py:Generator}\n", "job.yaml");
  settle_modules(spec, folder.path());
  EXPECT_EQ(spec.network("generator").module.file, path("nets.py"));
}

TEST_F(PythonNetworks, AreRefusedInOneLineWhereTheyAreMisnamed) {
  const auto problem = [&](const std::string& generator) {
    const std::vector<std::string> problems =
        problems_of("model: {generator: " + generator + "}\n");
    return problems.size() == 1 ? problems.front() : std::to_string(problems.size()) + " problems";
  };
  EXPECT_THAT(problem("nets.py"), HasSubstr("expected FILE.py:CLASS"));
  EXPECT_THAT(problem("'nets.py:3D'"), HasSubstr("expected FILE.py:CLASS"));
  EXPECT_THAT(problem("{width: 64}"), HasSubstr("expected python: FILE.py:CLASS"));
  EXPECT_THAT(problem("{python: g.pt}"), HasSubstr("expected FILE.py:CLASS"));
  EXPECT_THAT(problem("{python: 'nets.py:G', rate: .nan}"), HasSubstr("finite"));
  EXPECT_THAT(problem("{python: 'nets.py:G', 'a b': 1}"), HasSubstr("no name of an argument"));
  EXPECT_THAT(problems_of("layout: {python: /somewhere}\n"),
              ElementsAre(HasSubstr("Python alone")));
  JobSpec missing = parse_job("model: {generator: nowhere.py:G}\n", "job.yaml");
  try {
    settle_modules(missing, folder.path());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("model.generator: nowhere.py: No such file"));
  }
}

}  // namespace
}  // namespace gangway
