// SPDX-License-Identifier: MIT
// Compares users' Python networks, run by libgangway-python.so in this process, with the same
// classes in plain PyTorch in another process (tests/python/plain.py). Both take PyTorch's kernels.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "python/open/process_generator.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/python/with_python.hpp"

namespace gangway::gan {
namespace {

class PythonNetworksByPyTorchsKernels : public WithPython {
 protected:
  PythonNetworksByPyTorchsKernels() : WithPython(KernelChoice::kPytorch) {}
};

TEST_F(PythonNetworksByPyTorchsKernels, HaveTheBitsOfPlainPyTorch) {
  for (const char* name : {"Discriminator", "Smooth"}) {
    Network network = discriminator(name);
    network.initialise(job_.training.seed);
    const ForwardContext context{.key = {.seed = 1, .step = 2}};
    KeptStatistics kept;
    ForwardContext harvesting = context;
    harvesting.sink = &kept;
    const at::Tensor logits = network.forward({{"image", image()}}, harvesting);
    at::Tensor loss = at::softplus(-logits).mean();
    loss = loss +
           whole_network_penalty(network, PenaltyKind::kR1, 10.0, {{"image", image()}}, context);
    std::vector<at::Tensor> parameters;
    c10::Dict<std::string, at::Tensor> expected;
    for (const Network::NamedParameter& named : network.parameters()) {
      parameters.push_back(named.parameter->tensor);
    }
    const auto gradients = torch::autograd::grad({loss}, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const std::string parameter = network.parameters()[i].parameter->name;
      expected.insert("parameter " + parameter, parameters[i].detach());
      expected.insert("gradient " + parameter, gradients[i]);
    }
    for (const auto& [statistic, value] : kept.values) {
      expected.insert("buffer " + statistic, value);
    }
    expected.insert("image", image());
    expected.insert("loss", loss.detach());
    // The key of the random numbers includes the first block's number.
    RandomKey key = context.key;
    expected.insert(
        "seed", at::scalar_tensor(static_cast<std::int64_t>(python::seed_of_call(key)), at::kLong));
    const std::vector<char> bytes = torch::jit::pickle_save(expected);
    const std::string file = folder_.write("expected.pt", {bytes.data(), bytes.size()}).string();
    const std::string command = std::string(".venv/bin/python tests/python/plain.py ") + name +
                                " " + std::to_string(job_.training.seed) + " " + file;
    EXPECT_EQ(std::system(command.c_str()), 0) << name;
  }
}

}  // namespace
}  // namespace gangway::gan
