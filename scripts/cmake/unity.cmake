# Several sources of a room are compiled as one: most of the compiler's time goes to headers and to templates that each
# source needs again. The whole product takes less than half of the time. Price: a name without linkage must be
# unique in its room, and a source can use an include of its neighbor. -DMUSTER_UNITY=OFF compiles each source alone: a
# missing include is an error then, and it is quicker if one source changes often.
option(MUSTER_UNITY "Compile several sources of a room as one" ON)
# Larger groups take less of the processor in all, and more for a source that changes. 0: each room is one.
set(MUSTER_UNITY_BATCH 8 CACHE STRING "How many sources of a room are compiled as one; 0: all")

# Each of these defines what its neighbors define too: the functions of a mutator, of a reconciler, of a hook, of a job kind.
file(GLOB muster_alone CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/mutators/*.cpp
     ${CMAKE_SOURCE_DIR}/kinds/hooks/*.cpp ${CMAKE_SOURCE_DIR}/reconcilers/queues/*.cpp)
foreach(source api/config/configuration_schema.cpp api/config/feature_gates.cpp jobs/described/described_kind.cpp
        jobs/jobset/jobset.cpp jobs/pod/pod_kind.cpp kube/transport/connection.cpp reconcilers/jobset/jobset_crd.cpp
        reconcilers/workload/workload.cpp)
  list(APPEND muster_alone ${CMAKE_SOURCE_DIR}/${source})
endforeach()
# And these, since test/faults links copies of them before the library (scripts/cmake/faulty_sources.cmake).
if(MUSTER_TESTS)
  file(STRINGS ${CMAKE_SOURCE_DIR}/test/faults/faults.cmake faults REGEX "^fault\\(")
  foreach(fault ${faults})
    string(REGEX MATCH "[a-z0-9_/]+\\.cpp" source "${fault}")
    list(APPEND muster_alone ${CMAKE_SOURCE_DIR}/${source})
  endforeach()
endif()
set_source_files_properties(${muster_alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# muster_unity(<target>)
function(muster_unity target)
  if(MUSTER_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${MUSTER_UNITY_BATCH})
    # A parameter can have the name that a neighbor declares for itself (`using nlohmann::json`). GCC takes each source
    # for a header, whose types should not be without linkage, and warns of the inside of std::variant.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-shadow -Wshadow=local -Wno-subobject-linkage -Wno-maybe-uninitialized)
    endif()
  endif()
endfunction()
