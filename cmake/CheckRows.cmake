# SPDX-License-Identifier: MIT
# cmake -DNM=nm -DFILE=libmine.so -P CheckRows.cmake: fails if the rows in FILE need LibTorch.
execute_process(COMMAND "${NM}" --dynamic --undefined-only "${FILE}" OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
if(names MATCHES " (_Z[A-Za-z]*N?K?(2at|3c10|5torch|7gangway3gan)[^\n]*)")
  file(REMOVE "${FILE}")
  get_filename_component(name "${FILE}" NAME)
  message(FATAL_ERROR "${name}: the rows use ${CMAKE_MATCH_1}, and programs without LibTorch read them: use it in blocks "
    "alone, and make no tensor in a variable outside functions (docs/bring-your-own.md)")
endif()
