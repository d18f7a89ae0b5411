// SPDX-License-Identifier: MIT
#include "launch/model/compute/yardsticks.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>

namespace gangway::launch {
namespace {

constexpr int kFewestCalls = 3;

double seconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<double> least_seconds(double seconds,
                                  const std::vector<std::function<void()>>& bodies) {
  for (const auto& body : bodies) {
    body();
  }
  std::vector<double> least(bodies.size(), std::numeric_limits<double>::max());
  double spent = 0.0;
  for (int call = 0; call < kFewestCalls || spent < seconds * static_cast<double>(bodies.size());
       ++call) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const double taken = seconds_of(bodies[i]);
      least[i] = std::min(least[i], taken);
      spent += taken;
    }
  }
  return least;
}

Yardstick plain_product(at::ScalarType type, double seconds) {
  std::vector<Yardstick> products;
  std::vector<std::function<void()>> runs;
  for (const std::int64_t size : {256, 512, 1024}) {
    const at::Tensor left = at::ones({size, size}, type);
    const at::Tensor right = at::ones({size, size}, type);
    const at::Tensor product = at::empty({size, size}, type);
    runs.emplace_back([=] {
      at::Tensor to = product;
      at::mm_out(to, left, right);
    });
    products.push_back({2.0 * static_cast<double>(size * size * size), runs.back()});
  }
  const std::vector<double> least = least_seconds(seconds, runs);
  std::size_t best = 0;
  for (std::size_t i = 1; i < products.size(); ++i) {
    if (products[i].amount / least[i] > products[best].amount / least[best]) {
      best = i;
    }
  }
  return products[best];
}

Yardstick plain_copy(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const auto from = std::make_shared<std::vector<char>>(size, 1);
  const auto to = std::make_shared<std::vector<char>>(size);
  return {2.0 * static_cast<double>(bytes), [=] {
            std::memcpy(to->data(), from->data(), size);
            __asm__ volatile("" : : "r"(to->data()) : "memory");
          }};
}

}  // namespace gangway::launch
