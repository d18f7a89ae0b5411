// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/spectral_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

/// Stores the weight of map `name`, divided by its spectral norm, in `w`.
std::string weight_lines(const std::string& self, const std::string& name) {
  return fmt::format(
      "    m = torch.flatten({0}.{1}.weight, 1)\n"
      "    v = torch.mv(torch.t(torch.detach(m)), {0}.{1}.direction)\n"
      "    v = v / torch.clamp_min(torch.norm(v), {2:e})\n"
      "    u = torch.mv(torch.detach(m), v)\n"
      "    u = u / torch.clamp_min(torch.norm(u), {2:e})\n"
      "    w = {0}.{1}.weight / torch.clamp_min(torch.dot(u, torch.mv(m, v)), {2:e})\n",
      self, name, gan::kSpectralFloor);
}

enum class Bias { kNo, kYes };

std::string bias_of(const std::string& self, const std::string& name, Bias bias) {
  return bias == Bias::kYes ? fmt::format("{}.{}.bias", self, name) : std::string("None");
}

/// Writes `to` = map `name` of `from`.
std::string linear_lines(const std::string& self, const std::string& name, const std::string& from,
                         const std::string& to, Bias bias) {
  return weight_lines(self, name) +
         fmt::format("    {} = torch.linear({}, w, {})\n", to, from, bias_of(self, name, bias));
}

std::string convolution_lines(const std::string& self, const std::string& name,
                              const std::string& from, const std::string& to, int kernel,
                              Bias bias) {
  return weight_lines(self, name) +
         fmt::format("    {0} = torch.conv2d({1}, w, {2}, [1, 1], [{3}, {3}])\n", to, from,
                     bias_of(self, name, bias), kernel / 2);
}

/// Source of a BatchNorm's gains and shifts: weights, or computed from `condition` or the label.
enum class HeadInput { kWeights, kStyle, kLabel };

/// Writes `y` = ReLU of BatchNorm `name` of `from`.
std::string norm_lines(const std::string& self, const std::string& name, const std::string& from,
                       HeadInput told) {
  const std::string weights = told != HeadInput::kWeights
                                  ? std::string("None, None")
                                  : fmt::format("{0}.{1}.weight, {0}.{1}.bias", self, name);
  std::string text;
  if (told == HeadInput::kLabel) {
    for (const char* part : {"gain", "shift"}) {
      text += fmt::format("    {2} = torch.index_select({0}.{1}_{2}.embedding, 0, labels)\n", self,
                          name, part);
    }
  }
  if (told == HeadInput::kStyle) {
    text += linear_lines(self, name + "_gain", "condition", "gain", Bias::kNo);
    text += linear_lines(self, name + "_shift", "condition", "shift", Bias::kNo);
  }
  text += fmt::format(
      "    y = torch.batch_norm({0}, {1}, {2}.{3}.running_mean, {2}.{3}.running_var, "
      "self.training, {4}, {5:.10f}, True)\n",
      from, weights, self, name, kStatisticMomentum, gan::kNormEpsilon);
  if (told != HeadInput::kWeights) {
    text +=
        "    y = y * torch.unsqueeze(torch.unsqueeze(gain + 1.0, 2), 3) + "
        "torch.unsqueeze(torch.unsqueeze(shift, 2), 3)\n";
  }
  return text + "    y = torch.relu(y)\n";
}

std::string doubled(const std::string& name) {
  return fmt::format("torch.upsample_nearest2d({0}, [2 * {0}.size(2), 2 * {0}.size(3)])", name);
}

std::string up_lines(const SpectralUpSpec& spec, const std::string& self) {
  const HeadInput told = spec.style > 0     ? HeadInput::kStyle
                         : spec.classes > 0 ? HeadInput::kLabel
                                            : HeadInput::kWeights;
  std::string text;
  if (told == HeadInput::kStyle) {
    text += fmt::format("    condition = torch.cat([style, torch.narrow(noise, 1, {}, {})], 1)\n",
                        spec.first, spec.taken);
  }
  text += norm_lines(self, "first_norm", "x", told);
  text += fmt::format("    y = {}\n", doubled("y"));
  text += convolution_lines(self, "first", "y", "y", 3, Bias::kYes);
  text += norm_lines(self, "second_norm", "y", told);
  text += convolution_lines(self, "second", "y", "y", 3, Bias::kYes);
  text += convolution_lines(self, "shortcut", "x", "x", 1, Bias::kYes);
  return text + fmt::format("    x = y + {}\n", doubled("x"));
}

std::string down_lines(const SpectralDownSpec& spec, const std::string& self) {
  std::string text = spec.is_first ? "    y = x\n" : "    y = torch.relu(x)\n";
  text += convolution_lines(self, "first", "y", "y", 3, Bias::kYes);
  text += "    y = torch.relu(y)\n";
  text += convolution_lines(self, "second", "y", "y", 3, Bias::kYes);
  if (spec.halves) {
    text += "    x = torch.avg_pool2d(x, [2, 2])\n    y = torch.avg_pool2d(y, [2, 2])\n";
  }
  if (spec.halves || spec.in != spec.out) {
    text += convolution_lines(self, "shortcut", "x", "x", 1, Bias::kYes);
  }
  return text + "    x = y + x\n";
}

std::string attention_lines(const std::string& self) {
  const auto largest_of_four = [](const char* name) {
    return fmt::format(
        "    {0} = torch.flatten(torch.amax(torch.reshape({0}, [{0}.size(0), {0}.size(1), "
        "{0}.size(2) // 2, 2, {0}.size(3) // 2, 2]), [3, 5]), 2)\n",
        name);
  };
  return convolution_lines(self, "query", "x", "query", 1, Bias::kNo) +
         "    query = torch.transpose(torch.flatten(query, 2), 1, 2)\n" +
         convolution_lines(self, "key", "x", "key", 1, Bias::kNo) + largest_of_four("key") +
         convolution_lines(self, "value", "x", "value", 1, Bias::kNo) + largest_of_four("value") +
         "    shares = torch.softmax(torch.matmul(query, key), -1)\n"
         "    y = torch.matmul(value, torch.transpose(shares, 1, 2))\n"
         "    y = torch.reshape(y, [x.size(0), -1, x.size(2), x.size(3)])\n" +
         convolution_lines(self, "joined", "y", "y", 1, Bias::kNo) +
         fmt::format("    x = x + {}.gain * y\n", self);
}

std::string head_lines(const SpectralHeadSpec& spec, const std::string& self) {
  std::string text = "    y = torch.sum(torch.relu(x), [2, 3])\n";
  text += linear_lines(self, "linear", "y", "x", Bias::kYes);
  if (spec.classes > 0) {
    text += weight_lines(self, "embedding");
    text += fmt::format(
        "    x = x + torch.sum(torch.matmul(torch.to(torch.one_hot(labels, {}), y.dtype), w) * y, "
        "[1], True)\n",
        spec.classes);
  }
  return text;
}

}  // namespace

std::string lines_of_spectral(const gan::Block& block, const std::string& self) {
  if (const auto* stem = dynamic_cast<const gan::SpectralStem*>(&block)) {
    return fmt::format("    y = torch.narrow(noise, 1, 0, {})\n", stem->spec().taken) +
           linear_lines(self, "linear", "y", "y", Bias::kYes) +
           fmt::format("    x = torch.reshape(y, [-1, {}, {}, {}])\n", stem->spec().channels,
                       kStemSide, kStemSide);
  }
  if (const auto* shared = dynamic_cast<const gan::SharedEmbedding*>(&block)) {
    return fmt::format(
        "    style = torch.matmul(torch.to(torch.one_hot(labels, {0}), {1}.embedding.dtype), "
        "{1}.embedding)\n",
        shared->spec().classes, self);
  }
  if (const auto* up = dynamic_cast<const gan::SpectralUp*>(&block)) {
    return up_lines(up->spec(), self);
  }
  if (dynamic_cast<const gan::SpectralPicture*>(&block) != nullptr) {
    return norm_lines(self, "norm", "x", HeadInput::kWeights) +
           convolution_lines(self, "picture", "y", "x", 3, Bias::kYes) + "    x = torch.tanh(x)\n";
  }
  if (const auto* down = dynamic_cast<const gan::SpectralDown*>(&block)) {
    return down_lines(down->spec(), self);
  }
  if (dynamic_cast<const gan::SpectralAttention*>(&block) != nullptr) {
    return attention_lines(self);
  }
  if (const auto* head = dynamic_cast<const gan::SpectralHead*>(&block)) {
    return head_lines(head->spec(), self);
  }
  return "";
}

}  // namespace gangway::launch
