# Finds the libraries that gputally uses. pkg-config is tried first if it is installed, because it finds libraries
# in unusual places; libraries without a .pc file (libdeflate and ISA-L before Debian 12, for example) are found by
# their header and file name.
#
#     gputally_find(NAME HEADER header LIBRARY library MODULE pkg-config-name PACKAGE debian-package
#                   [SUFFIXES include-sub-folder...])
#
# sets NAME_FOUND and, if the library is there, creates the target deps::NAME. Missing packages are collected in
# GPUTALLY_MISSING, and gputally_require() reports all of them at once.
#
# With GPUTALLY_STATIC_LIBS, targets with the property STATIC_LIBS (the program) link the static library instead, if there
# is one: loading eight shared libraries takes longer than reading 1 MB of a trace, and their pages are 1 MB.
option(GPUTALLY_STATIC_LIBS "link the program, not libgputally.so, with the static libraries that are installed" ON)
if(NOT GPUTALLY_PORTABLE) # whose libraries are all in one folder
  find_package(PkgConfig QUIET)
endif()
set(GPUTALLY_MISSING "")

function(gputally_find name)
  cmake_parse_arguments(ARG "" "HEADER;LIBRARY;MODULE;PACKAGE" "SUFFIXES" ${ARGN})
  if(PKG_CONFIG_FOUND AND ARG_MODULE)
    pkg_check_modules(PC_${name} QUIET ${ARG_MODULE})
  endif()
  find_path(${name}_INCLUDE_DIR ${ARG_HEADER} HINTS ${PC_${name}_INCLUDE_DIRS} PATH_SUFFIXES ${ARG_SUFFIXES})
  find_library(${name}_LIBRARY NAMES ${ARG_LIBRARY} HINTS ${PC_${name}_LIBRARY_DIRS})
  get_filename_component(folder "${${name}_LIBRARY}" DIRECTORY) # of the same version
  find_library(${name}_STATIC_LIBRARY NAMES lib${ARG_LIBRARY}.a PATHS "${folder}" NO_DEFAULT_PATH)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY ${name}_STATIC_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    set(${name}_FOUND FALSE PARENT_SCOPE)
    set(GPUTALLY_MISSING ${GPUTALLY_MISSING} ${ARG_PACKAGE} PARENT_SCOPE)
    return()
  endif()
  set(${name}_FOUND TRUE PARENT_SCOPE)
  add_library(deps::${name} UNKNOWN IMPORTED)
  set_target_properties(deps::${name} PROPERTIES
    IMPORTED_LOCATION ${${name}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
endfunction()

function(gputally_require purpose)
  if(GPUTALLY_MISSING)
    string(REPLACE ";" " " packages "${GPUTALLY_MISSING}")
    message(FATAL_ERROR "${purpose} needs libraries that were not found; Debian packages: ${packages}")
  endif()
endfunction()

find_package(Threads REQUIRED)
gputally_find(ZSTD HEADER zstd.h LIBRARY zstd MODULE libzstd PACKAGE libzstd-dev)
gputally_find(DEFLATE HEADER libdeflate.h LIBRARY deflate MODULE libdeflate PACKAGE libdeflate-dev)
gputally_find(ISAL HEADER isa-l/igzip_lib.h LIBRARY isal MODULE libisal PACKAGE libisal-dev)
gputally_find(ZLIB HEADER zlib.h LIBRARY z MODULE zlib PACKAGE zlib1g-dev)
# Without its pkg-config module, which would put minizip's zip.h before libzip's.
gputally_find(MINIZIP HEADER minizip/unzip.h LIBRARY minizip PACKAGE libminizip-dev)
gputally_find(SQLITE HEADER sqlite3.h LIBRARY sqlite3 MODULE sqlite3 PACKAGE libsqlite3-dev)
gputally_find(EXPAT HEADER expat.h LIBRARY expat MODULE expat PACKAGE libexpat1-dev)
gputally_find(PCRE2 HEADER pcre2.h LIBRARY pcre2-8 MODULE libpcre2-8 PACKAGE libpcre2-dev)
gputally_find(CAIRO HEADER cairo.h LIBRARY cairo MODULE cairo PACKAGE libcairo2-dev SUFFIXES cairo)
gputally_require("gputally")

# Cairo is not linked: it is loaded when the first figure is drawn.
set(GPUTALLY_LIBRARIES "")
foreach(name ZSTD DEFLATE ISAL MINIZIP ZLIB SQLITE EXPAT PCRE2)
  if(GPUTALLY_STATIC_LIBS AND ${name}_STATIC_LIBRARY)
    list(APPEND GPUTALLY_LIBRARIES
         $<IF:$<BOOL:$<TARGET_PROPERTY:STATIC_LIBS>>,${${name}_STATIC_LIBRARY},deps::${name}>)
  else()
    list(APPEND GPUTALLY_LIBRARIES deps::${name})
  endif()
endforeach()
list(APPEND GPUTALLY_LIBRARIES Threads::Threads m ${CMAKE_DL_LIBS})
if(GPUTALLY_PORTABLE)
  # Cairo and what its backends for images, PDF and SVG need: the linker takes only those from the libraries. Of
  # fontconfig and Brotli, only the headers are used (cmake/Portable.cmake).
  gputally_find(FREETYPE HEADER ft2build.h LIBRARY freetype PACKAGE libfreetype-dev SUFFIXES freetype2)
  gputally_find(PIXMAN HEADER pixman.h LIBRARY pixman-1 PACKAGE libpixman-1-dev SUFFIXES pixman-1)
  gputally_find(PNG HEADER png.h LIBRARY png16 PACKAGE libpng-dev)
  gputally_require("the portable program")
  set(GPUTALLY_LIBRARIES deps::CAIRO deps::FREETYPE deps::PIXMAN deps::PNG ${GPUTALLY_LIBRARIES})
endif()

# The same for programs that link libgputally.a: Libs.private of gputally.pc. The libraries are named here instead of
# in Requires.private, because pkg-config refuses a module that requires one without a .pc file.
set(GPUTALLY_PC_LIBS "")
foreach(name ZSTD DEFLATE ISAL MINIZIP ZLIB SQLITE EXPAT PCRE2)
  get_filename_component(folder ${${name}_LIBRARY} DIRECTORY)
  get_filename_component(library ${${name}_LIBRARY} NAME_WE)
  string(REGEX REPLACE "^lib" "" library ${library})
  if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    string(APPEND GPUTALLY_PC_LIBS "-L${folder} ")
  endif()
  string(APPEND GPUTALLY_PC_LIBS "-l${library} ")
endforeach()
string(APPEND GPUTALLY_PC_LIBS "-lm")
foreach(library ${CMAKE_DL_LIBS})
  string(APPEND GPUTALLY_PC_LIBS " -l${library}")
endforeach()
string(APPEND GPUTALLY_PC_LIBS " -pthread")

# For the tests only.
gputally_find(CMOCKA HEADER cmocka.h LIBRARY cmocka MODULE cmocka PACKAGE libcmocka-dev)
gputally_find(ZIP HEADER zip.h LIBRARY zip MODULE libzip PACKAGE libzip-dev)
