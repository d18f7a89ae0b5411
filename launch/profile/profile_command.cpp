// SPDX-License-Identifier: MIT
#include "launch/profile/profile_command.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "launch/process/environment.hpp"
#include "launch/profile/measure_profile.hpp"
#include "python/open/python_library.hpp"

namespace gangway::launch {

void add_profile_command(CLI::App& app, const ProfileProgram& program, int& code) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command =
      app.add_subcommand("profile", "Measure what a job costs on this machine, for `gangway plan`");
  command->add_option("job", options->job, "Job file")->required()->type_name("JOB.yaml");
  command->add_option("overrides", options->overrides, "Keys of the job, as training.batch=64")
      ->type_name("key=value");
  command->add_option("-o,--output", options->output,
                      "JSON file; default: JOB.profile.json in this folder");
  command
      ->add_option("--seconds", options->seconds,
                   "About how long it measures; a large job takes longer")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  command
      ->add_option("--hostfile", options->hostfile,
                   "Hosts, as 'node-a slots=8', whose links are measured as well, every pair")
      ->check(CLI::ExistingFile);
  command->add_flag("--anyway", options->anyway, "Measure even if this machine does other work");
  command->footer(
      "Examples:\n"
      "  gangway profile examples/fashion-mnist.yaml\n"
      "  gangway profile examples/fashion-mnist.yaml training.batch=256 -o wide.profile.json\n"
      "  gangway profile job.yaml --hostfile hosts\n"
      "A busy machine is refused. docs/planning.md says what is measured.");
  command->callback([options, program, &code] {
    const Environment environment = read_environment();
    JobSpec job = profiled_job(*options, environment);
    if (job.numerics.device != program.device) {
      become(program.device == DeviceKind::kCpu ? "gangway-model-cuda" : "gangway-model",
             program.typed);
    }
    python::open_python(job, job.layout);
    code = measure_profile(*options, job, environment, program.make);
  });
}

}  // namespace gangway::launch
