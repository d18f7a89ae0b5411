// SPDX-License-Identifier: MIT
// Tensors between devices, through memory of the hosts and over NCCL, on stand-ins whose streams
// are held up where a mistake would show.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/nccl/connect_peers.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "comm/transport/peer_error.hpp"
#include "tests/comm/nccl/fake_cuda.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "worker/cuda/nccl_carrier.hpp"
#include "worker/cuda/staged_carrier.hpp"

namespace gangway::worker {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""min;
using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Way { kStaged, kNccl, kFirstSteps };

constexpr int kLater = 100;  // times that a list of instructions has been performed

comm::CudaStream make_stream_of_end() {
  cudaStream_t stream = nullptr;
  comm::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a test's stream");
  return comm::CudaStream(stream);
}

/// Holds up a stream until it is opened. Opened when it ends, or nothing would.
class Gate {
 public:
  ~Gate() { open(); }
  void hold(cudaStream_t stream) {
    comm::check(cudaStreamSynchronize(stream), "a test's stream");
    fake::enqueue(stream, [opened = opened_] { opened.wait(); });
  }
  void open() {
    if (!was_opened_.exchange(true)) {
      open_.set_value();
    }
  }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
  std::atomic<bool> was_opened_ = false;
};

struct Timeouts {
  std::chrono::milliseconds messages = 10min;
  std::chrono::milliseconds nccl = 10min;
};

/// One of two workers that send each other tensors.
class End {
 public:
  End(comm::LoopbackHub& hub, int worker, Way way, Timeouts timeouts)
      : transport_(hub, worker), compute_(make_stream_of_end()) {
    const CarrierSetup setup{.transport = transport_,
                             .lane = lane_,
                             .channel = {.timeout = timeouts.messages},
                             .edges = {{0, 1}, {1, 0}}};
    const ComputingDevice device{.torch = at::kCPU, .compute = compute_.get()};
    if (way == Way::kStaged) {
      carrier_ = std::make_unique<StagedCarrier>(setup, device);
      return;
    }
    std::map<comm::TensorEdge, comm::NcclSession*> sessions;
    for (const comm::TensorEdge& edge : setup.edges) {
      comm::NcclSession& session =
          sessions_
              .try_emplace(edge, comm::NcclSetup{.id = comm::agree_on_unique_id(transport_, 10min),
                                                 .worker = worker == edge.first ? 0 : 1,
                                                 .num_workers = 2,
                                                 .group = {edge.first, edge.second},
                                                 .timeout = timeouts.nccl,
                                                 .meeting_timeout = 10min})
              .first->second;
      comm::connect_one_way(session);
      sessions[edge] = &session;
    }
    carrier_ = std::make_unique<NcclCarrier>(setup, device, std::move(sessions));
    carrier_->begin_step(way == Way::kFirstSteps ? 0 : kLater);
  }

  [[nodiscard]] TensorCarrier& carrier() { return *carrier_; }
  [[nodiscard]] cudaStream_t compute() const { return compute_.get(); }
  /// What `tensor` is for who computes with it next.
  [[nodiscard]] at::Tensor seen(const at::Tensor& tensor) const {
    comm::check(cudaStreamSynchronize(compute()), "a test's stream");
    return tensor;
  }
  void finish() {
    carrier_->finish();
    carrier_.reset();
    for (auto& [edge, session] : sessions_) {
      session.finalize();
    }
  }

 private:
  comm::LoopbackTransport transport_;
  comm::CudaStream compute_;
  std::map<comm::TensorEdge, comm::NcclSession> sessions_;
  comm::Lane lane_{[] {}};
  std::unique_ptr<TensorCarrier> carrier_;
};

class TensorCarriers : public ::testing::TestWithParam<Way> {
 protected:
  ~TensorCarriers() override {
    fake::dawdle(0);
    EXPECT_EQ(fake::num_communicators(), 0);
  }
  /// Runs both ends, a thread each. @throws the first failure
  void run(const std::function<void(End&)>& first, const std::function<void(End&)>& second,
           Timeouts timeouts = {}) {
    comm::LoopbackHub hub(2);
    comm::spawn_ranks(2, [&](int worker) {
      End end(hub, worker, GetParam(), timeouts);
      (worker == 0 ? first : second)(end);
    });
  }
};

comm::TensorKey key_of(int microbatch) { return {.step = 7, .microbatch = microbatch}; }

at::Tensor numbers(float value) { return at::full({40, 25}, value); }

TEST_P(TensorCarriers, BringATensorAsItLiesInMemory) {
  const std::vector<at::Tensor> tensors{
      at::rand({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast), at::rand({5, 3}).t(),
      at::arange(7, at::kLong), at::scalar_tensor(0.5), at::empty({0, 3})};
  run(
      [&](End& end) {
        for (int i = 0; i < static_cast<int>(tensors.size()); ++i) {
          end.carrier().send(1, key_of(i), tensors[static_cast<std::size_t>(i)]);
        }
        end.carrier().send(1, key_of(99), {});
        end.finish();
      },
      [&](End& end) {
        end.carrier().expect(0, static_cast<int>(tensors.size()) + 1);
        for (int i = 0; i < static_cast<int>(tensors.size()); ++i) {
          const at::Tensor& sent = tensors[static_cast<std::size_t>(i)];
          const at::Tensor received = end.seen(end.carrier().receive(0, key_of(i)));
          EXPECT_TRUE(received.equal(sent)) << i;
          EXPECT_EQ(received.strides(), sent.strides()) << i;
          EXPECT_EQ(received.scalar_type(), sent.scalar_type()) << i;
        }
        EXPECT_FALSE(end.carrier().receive(0, key_of(99)).defined());
        end.finish();
      });
}

TEST_P(TensorCarriers, TakeTensorsInAnotherOrderThanTheyWereSentInBothWays) {
  fake::dawdle(11);
  const auto body = [](int own) {
    return [own](End& end) {
      const int peer = 1 - own;
      constexpr int kSteps = 3;
      for (int step = 0; step < kSteps; ++step) {
        const auto key = [step](int microbatch) {
          return comm::TensorKey{.step = step, .microbatch = microbatch};
        };
        const auto value = [step](int from, int microbatch) {
          return static_cast<float>(100 * step + 10 * from + microbatch);
        };
        end.carrier().expect(peer, 4);
        for (const int microbatch : {0, 1, 2, 3}) {
          end.carrier().send(peer, key(microbatch), numbers(value(own, microbatch)));
        }
        for (const int microbatch : {2, 0, 3, 1}) {
          const at::Tensor received = end.seen(end.carrier().receive(peer, key(microbatch)));
          EXPECT_TRUE(received.equal(numbers(value(peer, microbatch))));
        }
      }
      end.finish();
    };
  };
  run(body(0), body(1));
}

TEST_P(TensorCarriers, SendWhatTheDeviceMakesAfterTheHostHasAskedForIt) {
  run(
      [](End& end) {
        Gate gate;
        at::Tensor tensor = numbers(-1.0F);
        float* const values = tensor.mutable_data_ptr<float>();
        gate.hold(end.compute());
        fake::enqueue(end.compute(),
                      [values, count = tensor.numel()] { std::fill_n(values, count, 7.0F); });
        end.carrier().send(1, key_of(0), tensor);
        gate.open();
        end.finish();
      },
      [](End& end) {
        end.carrier().expect(0, 1);
        EXPECT_TRUE(end.seen(end.carrier().receive(0, key_of(0))).equal(numbers(7.0F)));
        end.finish();
      });
}

TEST_P(TensorCarriers, KeepWhatIsSentUntilItHasLeft) {
  run(
      [](End& end) {
        Gate gate;
        gate.hold(end.compute());
        end.carrier().send(1, key_of(0), numbers(7.0F));
        // Nobody else has the tensor any more: its memory would be one of these's.
        std::vector<at::Tensor> later;
        for (int i = 0; i < 20; ++i) {
          later.push_back(numbers(-1.0F));
        }
        gate.open();
        end.finish();
      },
      [](End& end) {
        end.carrier().expect(0, 1);
        EXPECT_TRUE(end.seen(end.carrier().receive(0, key_of(0))).equal(numbers(7.0F)));
        end.finish();
      });
}

TEST_P(TensorCarriers, KeepTheirPlaceForWhatComesAndIsNotWanted) {
  run(
      [](End& end) {
        end.carrier().send(1, key_of(0), numbers(7.0F));
        end.finish();
      },
      [](End& end) {
        Gate gate;
        gate.hold(end.compute());
        end.carrier().expect(0, 1);
        (void)end.carrier().receive(0, key_of(0));  // dropped before it has come
        std::vector<at::Tensor> later;
        for (int i = 0; i < 20; ++i) {
          later.push_back(numbers(-1.0F));
        }
        gate.open();
        end.finish();
        for (const at::Tensor& one : later) {
          EXPECT_TRUE(end.seen(one).equal(numbers(-1.0F)));
        }
      });
}

TEST_P(TensorCarriers, HaveTheDeviceWaitForWhatItComputesWith) {
  Gate gate;  // of the sender's device
  run(
      [&](End& end) {
        gate.hold(end.compute());
        end.carrier().send(1, key_of(0), numbers(7.0F));
        if (GetParam() != Way::kNccl) {
          gate.open();  // the receiver's host waits for it, too
        }
        end.finish();
      },
      [&](End& end) {
        end.carrier().expect(0, 1);
        const at::Tensor received = end.carrier().receive(0, key_of(0));
        at::Tensor taken = numbers(-1.0F);
        const void* const from = received.const_data_ptr();
        void* const to = taken.mutable_data_ptr();
        fake::enqueue(end.compute(),
                      [from, to, bytes = taken.nbytes()] { std::memcpy(to, from, bytes); });
        gate.open();
        EXPECT_TRUE(end.seen(taken).equal(numbers(7.0F)));
        end.finish();
      });
}

TEST_P(TensorCarriers, NameWhoIsSilent) {
  const auto silent = [&] {
    run([](End&) {},
        [](End& end) {
          end.carrier().expect(0, 1);
          (void)end.carrier().receive(0, key_of(2));
        },
        {.messages = 40ms});
  };
  try {
    silent();
    FAIL() << "nothing was sent";
  } catch (const comm::PeerError& error) {
    EXPECT_EQ(error.worker(), WorkerIndex(0));
    EXPECT_THAT(error.what(), HasSubstr("for rank 1 (a tensor of step 7"));
  }
}

INSTANTIATE_TEST_SUITE_P(AllWays, TensorCarriers,
                         ::testing::Values(Way::kStaged, Way::kNccl, Way::kFirstSteps),
                         [](const auto& instance) {
                           return instance.param == Way::kStaged ? "Staged"
                                  : instance.param == Way::kNccl ? "Nccl"
                                                                 : "FirstSteps";
                         });

class TensorsOverNccl : public TensorCarriers {};

TEST_P(TensorsOverNccl, AreNotAwaitedWhereAllThatWasAnnouncedHasComeWithoutThem) {
  run(
      [](End& end) {
        end.carrier().send(1, key_of(0), numbers(1.0F));
        end.finish();
      },
      [](End& end) {
        end.carrier().expect(0, 1);
        EXPECT_THROW((void)end.carrier().receive(0, key_of(1)), InvariantError);
        (void)end.carrier().receive(0, key_of(0));
        end.finish();
      });
}

TEST_P(TensorsOverNccl, AreGivenUpWhereNobodyTakesThem) {
  const auto untaken = [&] {
    run(
        [](End& end) {
          end.carrier().send(1, key_of(0), numbers(1.0F));
          end.carrier().finish();
        },
        [](End& end) { end.carrier().expect(0, 1); }, {.nccl = 1000ms});
  };
  try {
    untaken();
    FAIL() << "nobody took it";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("rank 1, in a group of 2"), HasSubstr("sending a tensor"),
                      HasSubstr("is a worker stopped?")));
  }
}

/// The lists of instructions of two workers need not be new in the same steps.
TEST_P(TensorsOverNccl, GoTheWayThatTheirSenderHasChosen) {
  fake::dawdle(12);
  const auto body = [](int own) {
    return [own](End& end) {
      const int peer = 1 - own;
      for (int step = 0; step < 6; ++step) {
        end.carrier().begin_step((step + own) % 3 == 0 ? 0 : kLater);
        end.carrier().expect(peer, 3);
        const auto key = [step](int microbatch) {
          return comm::TensorKey{.step = step, .microbatch = microbatch};
        };
        for (const int microbatch : {0, 1, 2}) {
          end.carrier().send(peer, key(microbatch), numbers(static_cast<float>(step + microbatch)));
        }
        for (const int microbatch : {2, 0, 1}) {
          const at::Tensor received = end.seen(end.carrier().receive(peer, key(microbatch)));
          EXPECT_TRUE(received.equal(numbers(static_cast<float>(step + microbatch))));
        }
      }
      end.finish();
    };
  };
  run(body(0), body(1));
}

/// As where the host of either waits for its device meanwhile.
TEST_P(TensorsOverNccl, LetNothingStandOnADeviceInTheFirstSteps) {
  const auto body = [](int own) {
    return [own](End& end) {
      end.carrier().begin_step(0);
      end.carrier().expect(1 - own, 1);
      const at::Tensor sent = numbers(7.0F);
      end.carrier().send(1 - own, key_of(0), sent);
      fake::wait_for_device();
      EXPECT_TRUE(end.seen(end.carrier().receive(1 - own, key_of(0))).equal(sent));
      end.carrier().finish();
      end.carrier().begin_step(kLater);
      EXPECT_EQ(sent.use_count(), 1) << "another step needs its memory";
      end.finish();
    };
  };
  run(body(0), body(1), {.nccl = 20'000ms});
}

INSTANTIATE_TEST_SUITE_P(OneWay, TensorsOverNccl, ::testing::Values(Way::kNccl));

}  // namespace
}  // namespace gangway::worker
