# Headers that nearly every source reads, parsed once: nlohmann's and the standard library's are most of
# what a source is (1.0 s of 2.2 s for a rule). Sources still include what they use: `scripts/warnings` reads
# each without this file.
option(MUSTER_PRECOMPILED "Parse the large headers once" ON)

set(MUSTER_LARGE_HEADERS <nlohmann/json.hpp> <algorithm> <array> <chrono> <functional> <map> <memory> <optional> <set>
    <span> <string> <string_view> <unordered_map> <variant> <vector>)

# muster_precompiled(<target> <owner> [header...]): the large headers, and these. The first target of an
# owner compiles them; the others, which must have the same compiler flags, use them.
function(muster_precompiled target owner)
  if(NOT MUSTER_PRECOMPILED OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${MUSTER_LARGE_HEADERS} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  # For ccache, which hashes what the preprocessor prints. GCC 12 warns of the inside of std::string then
  # (its bug 105651), since it forgets that these headers are the system's.
  target_compile_options(${target} PRIVATE -fpch-preprocess -Wno-array-bounds -Wno-restrict
                         -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()
