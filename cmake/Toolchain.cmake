# The compiler and the libraries of a portable program, natively and for the other architecture:
#
#     cmake -DCMAKE_TOOLCHAIN_FILE=cmake/Toolchain.cmake -DGPUTALLY_ARCH=x86_64|aarch64 -DGPUTALLY_PORTABLE=ON
#
# Headers and libraries come only from build/sysroot/ARCH (scripts/sysroot), never from this machine.
set(GPUTALLY_ARCH "" CACHE STRING "architecture of the portable program: x86_64 or aarch64")
set(GPUTALLY_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/${GPUTALLY_ARCH}" CACHE PATH "folder made by scripts/sysroot")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPUTALLY_ARCH GPUTALLY_SYSROOT)
if(NOT GPUTALLY_ARCH MATCHES "^(x86_64|aarch64)$")
  message(FATAL_ERROR "GPUTALLY_ARCH must be x86_64 or aarch64")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${GPUTALLY_ARCH})
set(CMAKE_C_COMPILER ${GPUTALLY_ARCH}-linux-gnu-gcc)
get_filename_component(CMAKE_SYSROOT ${GPUTALLY_SYSROOT} ABSOLUTE)
# A native gcc looks for the C library in its own prefix first, whatever the sysroot is. Linking statically is for
# CMake's own checks as well: the sysroot has no shared C library.
set(CMAKE_C_FLAGS_INIT "-B\"${CMAKE_SYSROOT}/usr/lib/${GPUTALLY_ARCH}-linux-gnu\"")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-pie -L\"${CMAKE_SYSROOT}/usr/lib/${GPUTALLY_ARCH}-linux-gnu\"")
set(CMAKE_LIBRARY_ARCHITECTURE ${GPUTALLY_ARCH}-linux-gnu)
foreach(kind INCLUDE LIBRARY PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
