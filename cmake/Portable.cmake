# The portable program: one file for every Linux system, whatever C library that has, or none at all.
#
# Everything is linked statically, also glibc: a program for the oldest glibc in use would not run on musl systems, and
# with glibc its memory allocation, copying and number formats are those of the normal program. The price is that dlopen
# cannot work: glibc's loads only libraries built with exactly its version, and crashes with others. So Cairo is linked
# (src/output/figure/cairo_linked.c), and a helper loads the libraries of drivers and of MPI (src/helper/helper.h).
#
# Included before the targets are declared. scripts/dist makes releases with it.
option(GPUTALLY_PORTABLE "build a fully static program (with cmake/Toolchain.cmake; scripts/dist does all of it)" OFF)

# Adds what only the portable program contains: the fonts of figures and the page's program, compressed.
function(gputally_add_portable_files target)
  if(NOT GPUTALLY_PORTABLE)
    return()
  endif()
  find_program(ZSTD_PROGRAM zstd)
  if(NOT ZSTD_PROGRAM)
    message(FATAL_ERROR "the portable program needs the program zstd: make deps GROUP=dist")
  endif()
  set(files "")
  foreach(name DejaVuSans.ttf DejaVuSans-Bold.ttf)
    set(font ${CMAKE_SYSROOT}/usr/share/fonts/truetype/dejavu/${name})
    add_custom_command(OUTPUT fonts/${name}.zst DEPENDS ${font} VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory fonts
      COMMAND ${ZSTD_PROGRAM} -q -f -19 ${font} -o fonts/${name}.zst)
    list(APPEND files ${CMAKE_BINARY_DIR}/fonts/${name}.zst)
  endforeach()
  add_custom_command(OUTPUT page/program.js.zst DEPENDS ${PAGE_FILES} VERBATIM
    COMMAND ${ZSTD_PROGRAM} -q -f -19 page/program.js -o page/program.js.zst)
  set(program ${CMAKE_BINARY_DIR}/page/program.js.zst)
  set_property(SOURCE src/page/program.c APPEND PROPERTY COMPILE_DEFINITIONS GT_PACKED_PROGRAM)
  set_property(SOURCE src/page/program.c APPEND PROPERTY OBJECT_DEPENDS ${program})
  target_sources(${target} PRIVATE ${files} ${program})
  set_source_files_properties(src/output/figure/cairo_linked.c PROPERTIES
    COMPILE_DEFINITIONS "GT_FONT_DIR=\"${CMAKE_BINARY_DIR}/fonts\"" OBJECT_DEPENDS "${files}")
endfunction()

# Adds gputally-helper, which loads libraries for the portable program (src/helper/start.c explains how it is linked).
function(gputally_add_helper)
  set(folder ${CMAKE_SOURCE_DIR}/src/helper)
  set(compile ${CMAKE_C_COMPILER} --sysroot=${CMAKE_SYSROOT} -nostdlib)
  set(libraries "")
  foreach(row LIBC:libc.so.6 LIBDL:libdl.so.2 LIBM:libm.so.6)
    string(REGEX MATCH "^([A-Z]+):(.*)$" ignored ${row})
    set(library ${CMAKE_BINARY_DIR}/helper/${CMAKE_MATCH_2})
    add_custom_command(OUTPUT ${library} DEPENDS ${folder}/symbols.c VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory helper
      COMMAND ${compile} -shared -DGT_${CMAKE_MATCH_1} -Wl,-soname,${CMAKE_MATCH_2} ${folder}/symbols.c -o ${library})
    list(APPEND libraries ${library})
  endforeach()
  set(sources ${folder}/helper.c ${folder}/mpi.c ${folder}/sensors.c ${folder}/start.c ${CMAKE_SOURCE_DIR}/src/os/library.c)
  # Nothing that refers to other functions of the C library: checked calls, the stack protector, tables of ctype.h.
  add_custom_command(OUTPUT gputally-helper VERBATIM
    DEPENDS ${sources} ${libraries} ${folder}/helper.h ${CMAKE_SOURCE_DIR}/src/os/library.h
      ${CMAKE_SOURCE_DIR}/src/run/sensors/sensors.h ${CMAKE_SOURCE_DIR}/src/procs/wire.h
    COMMAND ${compile} -std=gnu17 -O2 -Wall -Wextra -Wno-missing-field-initializers -fPIE -pie -U_FORTIFY_SOURCE -fno-stack-protector -D_GNU_SOURCE
      -D__NO_CTYPE -I${CMAKE_SOURCE_DIR}/src -ffunction-sections -fno-asynchronous-unwind-tables -Wl,--gc-sections
      -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--build-id=sha1 -s ${sources} ${libraries} -o gputally-helper)
  add_custom_target(helper DEPENDS gputally-helper)
  add_dependencies(gputally_bin helper)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/gputally-helper DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/gputally)
endfunction()

if(NOT GPUTALLY_PORTABLE)
  return()
endif()
if(NOT GPUTALLY_SYSROOT)
  message(FATAL_ERROR "GPUTALLY_PORTABLE needs -DCMAKE_TOOLCHAIN_FILE=cmake/Toolchain.cmake; run scripts/dist instead")
endif()

add_compile_definitions(GT_PORTABLE)
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Names of folders would make the program depend on where it was built. Nothing unwinds the stack.
add_compile_options(-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
# Code that runs once per command is compiled for size.
foreach(folder api batch cli doctor extension os page procs report run sweep)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.c)
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -Os)
endforeach()
# A warning of the linker tells of a function that works only with files of the system it was linked on.
set(PORTABLE_LINK_OPTIONS LINKER:--gc-sections LINKER:--fatal-warnings
  LINKER:--wrap=dlopen,--wrap=dlsym,--wrap=dlclose,--wrap=dlerror
  LINKER:--wrap=FT_Init_FreeType) # src/output/figure/cairo_linked.c
# Never called: SQLite loads no extensions, Cairo gets a font of ours, and that is not compressed. With the libraries that
# define these, the program would be a tenth larger.
foreach(unused __wrap_dlopen __wrap_dlsym __wrap_dlclose __wrap_dlerror
    FcConfigGetCurrent FcConfigSubstitute FcDefaultSubstitute FcFontMatch FcInitBringUptoDate FcPatternAddBool
    FcPatternAddDouble FcPatternAddInteger FcPatternAddString FcPatternCreate FcPatternDel FcPatternDestroy
    FcPatternDuplicate FcPatternGet FcPatternGetBool FcPatternGetFTFace FcPatternGetInteger FcPatternGetString
    BrotliDecoderDecompress)
  list(APPEND PORTABLE_LINK_OPTIONS LINKER:--defsym=${unused}=abort)
endforeach()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64") # linkers for arm64 cannot do this before binutils 2.43
  list(APPEND PORTABLE_LINK_OPTIONS LINKER:-z,pack-relative-relocs)
endif()
