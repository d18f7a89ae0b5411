// SPDX-License-Identifier: MIT
// LMDBs as LMDB's own library writes them, for tests of the reader.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <lmdb.h>

namespace gangway::testing {

using LmdbPair = std::pair<std::string, std::string>;

inline void require_done(int result) {
  if (result != 0) {
    throw std::runtime_error(::mdb_strerror(result));
  }
}

/// Writes the pairs into data.mdb of `folder`, one transaction.
/// @param database  its name; null: the one that has none
inline void write_lmdb(const std::filesystem::path& folder, std::span<const LmdbPair> pairs,
                       const char* database = nullptr, unsigned flags = 0) {
  constexpr std::size_t kMapBytes = std::size_t{1} << 30U;
  std::filesystem::create_directories(folder);
  MDB_env* made = nullptr;
  require_done(::mdb_env_create(&made));
  const std::unique_ptr<MDB_env, void (*)(MDB_env*)> environment(made, ::mdb_env_close);
  require_done(::mdb_env_set_mapsize(made, kMapBytes));
  require_done(::mdb_env_set_maxdbs(made, 1));
  require_done(::mdb_env_open(made, folder.c_str(), MDB_NOSYNC, 0644));
  MDB_txn* transaction = nullptr;
  require_done(::mdb_txn_begin(made, nullptr, 0, &transaction));
  MDB_dbi values = 0;
  require_done(::mdb_dbi_open(transaction, database, flags | MDB_CREATE, &values));
  for (const auto& [key, value] : pairs) {
    MDB_val mdb_key{key.size(), const_cast<char*>(key.data())};
    MDB_val mdb_value{value.size(), const_cast<char*>(value.data())};
    require_done(::mdb_put(transaction, values, &mdb_key, &mdb_value, 0));
  }
  require_done(::mdb_txn_commit(transaction));
}

}  // namespace gangway::testing
