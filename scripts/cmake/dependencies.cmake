# Everything here is a Debian 12 package; ./check and ./demo install what is missing.
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog REQUIRED)
pkg_check_modules(LIBYAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(mimalloc 2.0 REQUIRED)
# The allocator of the release: reviews and simulated clusters are trees of small values (docs/benchmarks.md).
# Sanitizers bring their own allocator.
function(muster_allocator target)
  if(TARGET ${target} AND NOT MUSTER_SANITIZE)
    target_link_libraries(${target} PRIVATE -Wl,--no-as-needed mimalloc -Wl,--as-needed)
  endif()
endfunction()

# The size of httplib::Request depends on these flags, and the package is compiled
# with them: take pkg-config's, never our own.
pkg_check_modules(CPP_HTTPLIB REQUIRED cpp-httplib)
add_library(httplib_client INTERFACE)
target_compile_options(httplib_client INTERFACE ${CPP_HTTPLIB_CFLAGS})
target_link_libraries(httplib_client INTERFACE ${CPP_HTTPLIB_LINK_LIBRARIES} OpenSSL::SSL Threads::Threads)
