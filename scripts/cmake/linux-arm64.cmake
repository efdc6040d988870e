# How programs for arm64 are built on another Debian: its cross compiler, and the libraries that scripts/sysroot has
# unpacked in <build folder>/sysroot. Used by scripts/cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# CMake reads this file again in the folders of its trial compilations.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MUSTER_SYSROOT)
if(NOT MUSTER_SYSROOT)
  set(MUSTER_SYSROOT ${CMAKE_BINARY_DIR}/sysroot)
endif()
if(NOT EXISTS ${MUSTER_SYSROOT}/made-of)
  message(FATAL_ERROR "There are no libraries of arm64 in ${MUSTER_SYSROOT}: run scripts/sysroot arm64 ${MUSTER_SYSROOT}, or scripts/cross")
endif()
set(CMAKE_SYSROOT ${MUSTER_SYSROOT})

# Programs run here; headers, libraries and packages are the other architecture's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# For this configuration alone: a native build of the same shell finds its own packages.
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
