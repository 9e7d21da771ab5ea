# Compiler and linker options that make memory errors harder to exploit, as far as the compiler knows them. They are on in
# every build without sanitizers, which bring their own checks; tests/build/test_hardening.py looks for them in the program.
#
#     _FORTIFY_SOURCE=2               checks the sizes of buffers in calls of libc; needs optimisation
#     stack protector                 ends the program if a function's return address was overwritten
#     stack clash protection          touches every page of a large stack frame, so that none jumps over the guard page
#     control-flow protection         marks the valid targets of indirect jumps (x86-64), also signs return addresses (arm64)
#     relro, now                      tables of addresses are read-only once the program has started
#     position-independent program    its addresses differ in every run
include(CheckCCompilerFlag)
include(CheckPIESupported)

option(GPUTALLY_HARDENING "compile with protections against memory errors" ON)
if(GPUTALLY_HARDENING AND NOT GPUTALLY_SANITIZE AND NOT GPUTALLY_FUZZ AND NOT GPUTALLY_TSAN)
  if(NOT GPUTALLY_PORTABLE) # which links with -static-pie
    check_pie_supported(LANGUAGES C)
  endif()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(CONTROL_FLOW -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(CONTROL_FLOW -mbranch-protection=standard)
  endif()
  foreach(flag -fstack-protector-strong -fstack-clash-protection ${CONTROL_FLOW})
    string(MAKE_C_IDENTIFIER "HAS${flag}" known)
    set(CMAKE_REQUIRED_FLAGS -Werror) # clang only warns of options that it ignores
    check_c_compiler_flag(${flag} ${known})
    unset(CMAKE_REQUIRED_FLAGS)
    if(${known})
      add_compile_options(${flag})
    endif()
  endforeach()
  # Signing return addresses costs the reader 4 % on arm64. Its folders only mark jump targets.
  if(HAS_mbranch_protection_standard)
    foreach(folder base json stream trace input/json input/chrome)
      file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.c)
      set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -mbranch-protection=bti)
    endforeach()
  endif()
  add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()
