# SPDX-License-Identifier: MIT
# cmake -DFILES="A;B" -DOUTPUT=C.cpp -P EmbedFiles.cmake: writes a source with the content of text
# files, in their order, for report/page/page_files.cpp.
set(source "// Made by cmake/EmbedFiles.cmake.\n#include \"report/page/page_files.hpp\"\n\nnamespace gangway::report {\n")
set(rows "")
set(number 0)
foreach(file IN LISTS FILES)
  file(READ "${file}" content)
  get_filename_component(name "${file}" NAME)
  string(APPEND source "static constexpr std::string_view kContent${number} = R\"__file__(${content})__file__\";\n")
  string(APPEND rows "    {\"${name}\", kContent${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND source "static constexpr EmbeddedFile kFiles[] = {\n${rows}};\n"
  "std::span<const EmbeddedFile> embedded_files() { return kFiles; }\n}  // namespace gangway::report\n")
file(WRITE "${OUTPUT}" "${source}")
