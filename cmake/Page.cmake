# The page's program (src/page/web): joins its modules and styles when gputally is built. CMake is all it needs.
#
# Included by CMakeLists.txt, this declares the files in ${CMAKE_BINARY_DIR}/page and the rule that makes them:
#
#     page.html    the frame, as it is
#     style.css    style.css, then sections/*.css, without indentation
#     program.js   main.js after all that it imports, and so on, in one block, without imports, exports,
#                  comment lines and indentation: every page has it
#     *.sha256     hash of style and program in hexadecimal digits: the page's policy admits only these
#
# The rule runs this file as a script: cmake -DWEB=src/page/web -DTO=build/page -P cmake/Page.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(PAGE_WEB ${CMAKE_SOURCE_DIR}/src/page/web)
  set(PAGE_DIR ${CMAKE_BINARY_DIR}/page)
  file(GLOB_RECURSE PAGE_SOURCES CONFIGURE_DEPENDS ${PAGE_WEB}/*.js ${PAGE_WEB}/*.css ${PAGE_WEB}/*.html)
  set(PAGE_FILES ${PAGE_DIR}/page.html ${PAGE_DIR}/style.css ${PAGE_DIR}/style.sha256 ${PAGE_DIR}/program.js
      ${PAGE_DIR}/program.sha256)
  add_custom_command(OUTPUT ${PAGE_FILES} VERBATIM DEPENDS ${PAGE_SOURCES} ${CMAKE_SOURCE_DIR}/cmake/Page.cmake
    COMMAND ${CMAKE_COMMAND} -DWEB=${PAGE_WEB} -DTO=${PAGE_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/Page.cmake)
  return()
endif()

cmake_policy(SET CMP0057 NEW) # if(... IN_LIST ...)

# What would end the element that holds the text, or begin a comment in it. A carriage return would be another character
# for the browser than for the hash.
function(check_text name text)
  string(TOLOWER "${text}" lower)
  foreach(forbidden "</script" "<script" "<!--" "</style")
    string(FIND "${lower}" "${forbidden}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${name} of the page contains ${forbidden}")
    endif()
  endforeach()
  string(FIND "${text}" "\r" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${name} of the page contains a carriage return")
  endif()
endfunction()

function(write_text name text)
  check_text(${name} "${text}")
  file(WRITE ${TO}/${name} "${text}")
  get_filename_component(stem ${name} NAME_WE)
  file(SHA256 ${TO}/${name} hash)
  file(WRITE ${TO}/${stem}.sha256 "${hash}")
endfunction()

# Adds a module to the program, after those that it imports: without lines `import ...;` and without the word `export` at the
# begin of a line.
function(add_module path)
  get_property(added GLOBAL PROPERTY MODULES)
  if(path IN_LIST added)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY MODULES ${path})
  file(READ ${path} text)
  set(text "\n${text}")
  get_filename_component(folder ${path} DIRECTORY)
  string(REGEX MATCHALL "\nimport [^\n;]* from '[^\n']*'" imports "${text}")
  foreach(import ${imports})
    string(REGEX REPLACE ".* from '(.*)'" "\\1" other "${import}")
    get_filename_component(other ${other} ABSOLUTE BASE_DIR ${folder})
    add_module(${other})
  endforeach()
  string(REGEX REPLACE "\nimport [^\n]*;" "" text "${text}")
  string(REGEX REPLACE "\nexport (async |class|const|function|let)" "\n\\1" text "${text}")
  if(text MATCHES "\n(import|export)[^a-zA-Z0-9_]")
    message(FATAL_ERROR "${path}: an import must be one line, and an export a declaration")
  endif()
  string(REGEX REPLACE "\n *//[^\n]*" "" text "${text}")
  set_property(GLOBAL APPEND_STRING PROPERTY PROGRAM "${text}")
endfunction()

add_module(${WEB}/main.js)
get_property(program GLOBAL PROPERTY PROGRAM)
set(program "'use strict';\n{${program}}\n")

file(READ ${WEB}/style.css style)
file(GLOB_RECURSE sheets ${WEB}/sections/*.css)
list(SORT sheets)
foreach(sheet ${sheets})
  file(READ ${sheet} text)
  string(APPEND style "${text}")
endforeach()

string(REGEX REPLACE "\n[ \n]*" "\n" program "${program}")
string(REGEX REPLACE "\n[ \n]*" "\n" style "${style}")

write_text(program.js "${program}")
write_text(style.css "${style}")
configure_file(${WEB}/page.html ${TO}/page.html COPYONLY)
# Also where a file was written before and is unchanged, it is newer than the sources now.
file(TOUCH ${TO}/page.html)
