// SPDX-License-Identifier: MIT
#include "tests/comm/nccl/fake_nccl.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tests/comm/nccl/fake_cuda.hpp"

namespace {

std::atomic<int> g_communicators = 0;

struct Message {
  std::vector<std::byte> bytes;
  bool taken = false;
};

/// State shared by the workers of one unique id.
struct Hub {
  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> wires;
  int joined = 0;
  ncclResult_t error = ncclSuccess;
};

std::mutex g_hubs_mutex;  // guards the map
std::map<std::uint64_t, std::shared_ptr<Hub>> g_hubs;

std::shared_ptr<Hub> hub_of(const ncclUniqueId& id) {
  std::uint64_t key = 0;
  std::memcpy(&key, id.internal, sizeof key);
  const std::scoped_lock lock(g_hubs_mutex);
  return g_hubs.at(key);
}

/// The part of a communicator that queued work may use after the communicator's end.
struct Membership {
  std::shared_ptr<Hub> hub;
  int rank = 0;
  int size = 1;
  bool aborted = false;     // guarded by the hub's mutex, like the next member
  int captured_groups = 0;  // in living graphs
};

/// Memory that queued groups read and write.
std::mutex g_memory_mutex;  // guards the next two variables
std::map<std::byte*, std::size_t> g_allocated;
std::multiset<const void*> g_in_use;
std::atomic<int> g_freed_in_use = 0;

std::mutex g_sent_mutex;  // guards the map
std::map<std::pair<int, int>, std::uint64_t> g_sent;

struct Operation {
  enum class Kind { kSend, kReceive, kAverage } kind = Kind::kSend;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

std::size_t bytes_of(std::size_t count, ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return count;
    case ncclFloat64:
      return count * 8;
    case ncclFloat32:
      return count * 4;
    default:
      return count * 2;
  }
}

std::shared_ptr<Message> post(Membership& member, int peer, const void* from, std::size_t bytes) {
  auto message = std::make_shared<Message>();
  message->bytes.resize(bytes);
  std::memcpy(message->bytes.data(), from, bytes);
  const std::scoped_lock lock(member.hub->mutex);
  member.hub->wires[{member.rank, peer}].push_back(message);
  member.hub->changed.notify_all();
  return message;
}

void take(Membership& member, int peer, void* to, std::size_t bytes) {
  std::unique_lock lock(member.hub->mutex);
  auto& wire = member.hub->wires[{peer, member.rank}];
  member.hub->changed.wait(lock, [&] { return member.aborted || !wire.empty(); });
  if (member.aborted) {
    return;
  }
  const std::shared_ptr<Message> message = wire.front();
  wire.pop_front();
  if (message->bytes.size() == bytes) {
    std::memcpy(to, message->bytes.data(), bytes);
  } else {
    member.hub->error = ncclInvalidUsage;
  }
  message->taken = true;
  member.hub->changed.notify_all();
}

void average(Membership& member, const Operation& operation) {
  const std::size_t count = operation.bytes / sizeof(float);
  std::vector<float> sum(count);
  std::vector<float> theirs(count);
  for (int peer = 0; peer < member.size; ++peer) {
    (void)post(member, peer, operation.from, operation.bytes);
  }
  for (int peer = 0; peer < member.size; ++peer) {
    take(member, peer, theirs.data(), operation.bytes);
    for (std::size_t i = 0; i < count; ++i) {
      sum[i] += theirs[i];
    }
  }
  for (float& value : sum) {
    value /= static_cast<float>(member.size);
  }
  std::memcpy(operation.to, sum.data(), operation.bytes);
}

/// Performs all operations of a group at once, as one NCCL kernel does.
void perform(Membership& member, const std::vector<Operation>& operations) {
  std::vector<std::shared_ptr<Message>> sent;
  for (const Operation& operation : operations) {
    if (operation.kind == Operation::Kind::kSend) {
      sent.push_back(post(member, operation.peer, operation.from, operation.bytes));
      const std::scoped_lock lock(g_sent_mutex);
      g_sent[{member.rank, operation.peer}] += operation.bytes;
    }
  }
  for (const Operation& operation : operations) {
    if (operation.kind == Operation::Kind::kReceive) {
      take(member, operation.peer, operation.to, operation.bytes);
    } else if (operation.kind == Operation::Kind::kAverage) {
      average(member, operation);
    }
  }
  std::unique_lock lock(member.hub->mutex);
  for (const std::shared_ptr<Message>& message : sent) {
    member.hub->changed.wait(lock, [&] { return member.aborted || message->taken; });
  }
}

/// Keeps the communicator of `member` from ending during the result's lifetime.
std::shared_ptr<void> hold_by_graph(const std::shared_ptr<Membership>& member) {
  const std::scoped_lock lock(member->hub->mutex);
  ++member->captured_groups;
  return {nullptr, [member](void*) {
            const std::scoped_lock release(member->hub->mutex);
            --member->captured_groups;
            member->hub->changed.notify_all();
          }};
}

/// Marks the memory of `operations` as in use during the result's lifetime.
std::shared_ptr<void> hold_memory(const std::vector<Operation>& operations) {
  const std::scoped_lock lock(g_memory_mutex);
  for (const Operation& operation : operations) {
    g_in_use.insert(operation.from);
    g_in_use.insert(operation.to);
  }
  return {nullptr, [operations](void*) {
            const std::scoped_lock release(g_memory_mutex);
            for (const Operation& operation : operations) {
              g_in_use.erase(g_in_use.find(operation.from));
              g_in_use.erase(g_in_use.find(operation.to));
            }
          }};
}

/// Waits until all graphs that contain the communicator have ended.
void await_graphs(Membership& member) {
  std::unique_lock lock(member.hub->mutex);
  member.hub->changed.wait(lock, [&] { return member.captured_groups == 0; });
}

}  // namespace

struct ncclComm {
  std::shared_ptr<Membership> member = std::make_shared<Membership>();
  bool blocks = false;
  bool ends = false;
  int polls_until_launch = 0;
  cudaStream_t stream = nullptr;
  std::vector<Operation> group;

  void launch() {
    if (!group.empty()) {
      const std::shared_ptr<void> held =
          gangway::fake::is_capturing(stream) ? hold_by_graph(member) : hold_memory(group);
      gangway::fake::enqueue(stream, [member = member, operations = std::move(group), held] {
        perform(*member, operations);
      });
      group.clear();
    }
  }
};

namespace {

thread_local ncclComm_t t_group_of = nullptr;  // communicator of the open group

ncclResult_t add(ncclComm_t communicator, cudaStream_t stream, const Operation& operation) {
  t_group_of = communicator;
  communicator->stream = stream;
  communicator->group.push_back(operation);
  return ncclSuccess;
}

}  // namespace

namespace gangway::fake {

void break_communicators(const ncclUniqueId& id, ncclResult_t error) {
  const std::shared_ptr<Hub> hub = hub_of(id);
  const std::scoped_lock lock(hub->mutex);
  hub->error = error;
}

int num_communicators() { return g_communicators; }
int num_freed_in_use() { return g_freed_in_use; }

std::map<std::pair<int, int>, std::uint64_t> take_bytes_sent() {
  const std::scoped_lock lock(g_sent_mutex);
  return std::exchange(g_sent, {});
}

}  // namespace gangway::fake

// NOLINTBEGIN(readability-identifier-naming): NCCL's names
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote error" : "an error of the stand-in";
}
const char* ncclGetLastError(ncclComm_t /*comm*/) { return "said by the stand-in"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<std::uint64_t> next = 1;
  const std::uint64_t key = next.fetch_add(1);
  std::memcpy(id->internal, &key, sizeof key);
  const std::scoped_lock lock(g_hubs_mutex);
  g_hubs[key] = std::make_shared<Hub>();
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config) {
  auto* const made = new ncclComm;
  made->member->hub = hub_of(commId);
  made->member->rank = rank;
  made->member->size = nranks;
  made->blocks = config->blocking == 1;
  *comm = made;
  ++g_communicators;
  std::unique_lock lock(made->member->hub->mutex);
  ++made->member->hub->joined;
  made->member->hub->changed.notify_all();
  if (!made->blocks) {
    return ncclInProgress;
  }
  made->member->hub->changed.wait(lock, [&] { return made->member->hub->joined == nranks; });
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  std::unique_lock lock(comm->member->hub->mutex);
  *asyncError = comm->member->hub->error;
  if (*asyncError == ncclSuccess && comm->member->hub->joined < comm->member->size) {
    *asyncError = ncclInProgress;
  } else if (*asyncError == ncclSuccess && comm->ends && comm->member->captured_groups > 0) {
    *asyncError = ncclInProgress;
  } else if (*asyncError == ncclSuccess && comm->polls_until_launch > 0) {
    --comm->polls_until_launch;
    if (comm->polls_until_launch == 0) {
      lock.unlock();
      comm->launch();
    } else {
      *asyncError = ncclInProgress;
    }
  }
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  {
    const std::scoped_lock lock(comm->member->hub->mutex);
    comm->member->aborted = true;
    comm->member->hub->changed.notify_all();
  }
  await_graphs(*comm->member);
  delete comm;
  --g_communicators;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm->blocks) {
    await_graphs(*comm->member);
  }
  comm->ends = true;
  return comm->blocks ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  await_graphs(*comm->member);
  delete comm;
  --g_communicators;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  t_group_of = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (t_group_of == nullptr) {
    return ncclSuccess;
  }
  if (t_group_of->blocks) {
    t_group_of->launch();
    return ncclSuccess;
  }
  t_group_of->polls_until_launch = 3;
  return ncclInProgress;
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream,
             {Operation::Kind::kSend, sendbuff, nullptr, bytes_of(count, datatype), peer});
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream,
             {Operation::Kind::kReceive, nullptr, recvbuff, bytes_of(count, datatype), peer});
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  if (op != ncclAvg || datatype != ncclFloat32) {
    return ncclInvalidArgument;
  }
  return add(comm, stream,
             {Operation::Kind::kAverage, sendbuff, recvbuff, bytes_of(count, datatype), 0});
}

ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  if (cudaMalloc(ptr, size) != cudaSuccess) {
    return ncclUnhandledCudaError;
  }
  const std::scoped_lock lock(g_memory_mutex);
  g_allocated[static_cast<std::byte*>(*ptr)] = size;
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* ptr) {
  {
    const std::scoped_lock lock(g_memory_mutex);
    const auto block = g_allocated.find(static_cast<std::byte*>(ptr));
    const auto used = g_in_use.lower_bound(block->first);
    if (used != g_in_use.end() && *used < block->first + block->second) {
      ++g_freed_in_use;
    }
    g_allocated.erase(block);
  }
  return cudaFree(ptr) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(const ncclComm_t /*comm*/, void* buff, size_t /*size*/,
                              void** handle) {
  *handle = buff;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t /*comm*/, void* /*handle*/) { return ncclSuccess; }
// NOLINTEND(readability-identifier-naming)
