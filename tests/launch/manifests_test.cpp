// SPDX-License-Identifier: MIT
#include "launch/init/manifests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/init/templates.hpp"

namespace gangway::launch {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Manifest example() {
  return {.spec = load_job({.file = "examples/ring8.yaml",
                            .text = std::nullopt,
                            .overrides = {"training.microbatches=8"},
                            .environment = {}})
                      .spec,
          .name = "Ring_8.b",
          .job_file = "/jobs/a b.yaml",
          .job_text = "model: {family: mlp}\n\ndata: {source: toy:ring8}  # @NAME@\n",
          .overrides = {"training.kimg=80"},
          .workers = 4,
          .nodes = 2,
          .gangway = "/opt/bin/gangway",
          .outdir = "/runs",
          .command = "gangway init",
          .file = "out"};
}

TEST(FillTemplate, PutsValuesAndDropsLinesOfEmptyOnes) {
  EXPECT_EQ(fill_template("a@@N@ @\nb @X@\n  @TEXT@\n",
                          {{"N", "1"}, {"X", ""}, {"TEXT", "p\n\n  q @N@"}}),
            "a@1 @\n  p\n\n    q @N@\n");
}

TEST(FillTemplate, KnowsWhatIsMissingOnEitherSide) {
  EXPECT_THROW((void)fill_template("@A@", {}), InvariantError);
  EXPECT_THROW((void)fill_template("a", {{"A", "1"}}), InvariantError);
}

TEST(SlurmScript, AsksForRoomForTheCoordinatorOnEachNode) {
  Manifest manifest = example();
  manifest.workers = 5;
  manifest.gpus_per_node = 4;
  manifest.time = parse_time_limit("2-12");
  manifest.grace = seconds(90);
  EXPECT_THAT(slurm_script(manifest),
              AllOf(HasSubstr("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n"),
                    HasSubstr("--gpus-per-node=4\n"), HasSubstr("--time=2-12:00:00\n"),
                    HasSubstr("--signal=B:USR1@90\n"), HasSubstr("--requeue\n"),
                    HasSubstr("/opt/bin/gangway run '/jobs/a b.yaml' training.kimg=80 --run "
                              "Ring_8.b -n 5 --resume auto --outdir /runs &\n")));
}

TEST(SlurmScript, LeavesOutWhatWasNotAskedFor) {
  EXPECT_THAT(slurm_script(example()),
              AllOf(Not(HasSubstr("--gpus")), Not(HasSubstr("#SBATCH --time"))));
}

TEST(KubernetesJob, SaysWhichVolumeThePicturesNeed) {
  Manifest manifest = example();
  EXPECT_THAT(kubernetes_job(manifest), Not(HasSubstr("TODO")));
  manifest.spec.data.source = "images:photos";
  manifest.folder = "/home/a";
  EXPECT_THAT(kubernetes_job(manifest),
              AllOf(HasSubstr("# TODO: make the claim ring-8-b-data, of a volume with a copy of "
                              "/home/a/photos: all pods read it.\n"),
                    HasSubstr("mountPath: /data, readOnly: true}\n"),
                    HasSubstr("persistentVolumeClaim: {claimName: ring-8-b-data, "),
                    HasSubstr("--outdir /runs data.source=images:/data &\n")));
}

TEST(KubernetesJob, CarriesTheJobFileAsItIs) {
  EXPECT_THAT(
      kubernetes_job(example()),
      AllOf(HasSubstr("  name: ring-8-b\n"),
            HasSubstr("    model: {family: mlp}\n\n    data: {source: toy:ring8}  # @NAME@"),
            HasSubstr("slotsPerWorker: 2\n"), HasSubstr("replicas: 2\n"),
            Not(HasSubstr("nvidia.com/gpu"))));
}

TEST(KubernetesJob, AsksForMoreMemoryThanItPutsInSharedMemory) {
  Manifest manifest = example();
  manifest.gpus_per_node = 2;
  manifest.spec.numerics.device = DeviceKind::kCuda;
  EXPECT_THAT(kubernetes_job(manifest),
              AllOf(HasSubstr("nvidia.com/gpu: \"2\""), HasSubstr("memory: 8832Mi"),
                    HasSubstr("sizeLimit: 128Mi")));
}

TEST(KubernetesJob, ProbesThePageWhereThereIsOne) {
  Manifest manifest = example();
  EXPECT_THAT(kubernetes_job(manifest),
              AllOf(HasSubstr("run /job/job.yaml output.http=127.0.0.1:8080 "),
                    HasSubstr("            livenessProbe:\n"), HasSubstr("/dev/tcp/127.0.0.1/8080"),
                    HasSubstr("GET /readyz")));
  manifest.spec.output.http = "0.0.0.0:9000";
  EXPECT_THAT(kubernetes_job(manifest),
              AllOf(HasSubstr("/dev/tcp/127.0.0.1/9000"), Not(HasSubstr("output.http"))));
  manifest.spec.output.http = "off";
  EXPECT_THAT(kubernetes_job(manifest),
              AllOf(Not(HasSubstr("livenessProbe")), Not(HasSubstr("output.http"))));
}

TEST(ContainerFile, BuildsWhatTheDeviceNeeds) {
  EXPECT_THAT(container_file(example()),
              AllOf(HasSubstr("./launch/setup training\n"), HasSubstr("--without cuda release"),
                    Not(HasSubstr("gangway-worker-cuda"))));
  Manifest manifest = example();
  manifest.spec.numerics.device = DeviceKind::kCuda;
  EXPECT_THAT(container_file(manifest),
              AllOf(HasSubstr("./launch/setup everything\n"), HasSubstr("gangway-worker-cuda")));
}

TEST(Places, AreRefusedWhereNodesWouldIdleOrGpusBeShared) {
  Manifest manifest = example();
  EXPECT_NO_THROW(require_places(manifest));
  manifest.nodes = 5;
  EXPECT_THROW(require_places(manifest), ConfigError);
  manifest.nodes = 2;
  manifest.gpus_per_node = 1;
  try {
    require_places(manifest);
    FAIL() << "two workers on one GPU";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("4 workers on 2 nodes need 2 each; use -n 2 or --nodes 4"));
  }
  manifest.gpus_per_node = 0;
  manifest.workers = 9;
  EXPECT_THROW(require_places(manifest), ConfigError) << "more than micro-batches";
}

TEST(KubernetesName, IsOneOfItsLabels) {
  EXPECT_EQ(kubernetes_name("Fashion_MNIST..2-"), "fashion-mnist-2");
  EXPECT_EQ(kubernetes_name("8gaussians"), "gangway-8gaussians");
  EXPECT_EQ(kubernetes_name("___"), "gangway-job");
  EXPECT_EQ(kubernetes_name(std::string(70, 'x')).size(), 40U);
}

TEST(TimeLimit, IsReadAsSbatchDoes) {
  EXPECT_EQ(parse_time_limit("90"), seconds(5400));
  EXPECT_EQ(parse_time_limit("1:30"), seconds(90));
  EXPECT_EQ(parse_time_limit("12:00:00"), seconds(43'200));
  EXPECT_EQ(parse_time_limit("2-12"), seconds(216'000));
  EXPECT_EQ(parse_time_limit("1-00:01"), seconds(86'460));
  EXPECT_EQ(slurm_time(parse_time_limit("1-02:03:04")), "1-02:03:04");
  for (const char* text : {"", "0", "-1", "1h", "1:2:3:4", "1-2-3", "1:2-3", "1-2:3:4:5", "1-"}) {
    EXPECT_THROW((void)parse_time_limit(text), ConfigError) << text;
  }
}

}  // namespace
}  // namespace gangway::launch
