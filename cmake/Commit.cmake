# Which commit is built: writes commit.h with GT_COMMIT at each build, but touches it only if it changes, so that
# nothing else is compiled again. An archive made by git has its commit in commit.txt, so that it gives the same
# program as a checkout; other sources without git have an empty one unless -DGPUTALLY_COMMIT=HASH is given.
#
#     include(cmake/Commit.cmake)                        declares the target gputally_commit
#     cmake -DSOURCE=... -DOUT=... -P cmake/Commit.cmake  writes the file
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(GPUTALLY_COMMIT "" CACHE STRING "the commit that is built, for sources without git")
  add_custom_target(gputally_commit VERBATIM BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/commit.h
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/generated/commit.h
      -DCOMMIT=${GPUTALLY_COMMIT} -P ${CMAKE_CURRENT_LIST_FILE})
  return()
endif()

if(NOT COMMIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE hash ERROR_QUIET
    RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND git status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes
    ERROR_QUIET RESULT_VARIABLE compared)
  if(status EQUAL 0)
    set(COMMIT ${hash})
    if(NOT compared EQUAL 0 OR changes)
      set(COMMIT "${hash}, with changes")
    endif()
  endif()
endif()
if(NOT COMMIT AND NOT EXISTS ${SOURCE}/.git AND EXISTS ${SOURCE}/cmake/commit.txt)
  file(READ ${SOURCE}/cmake/commit.txt archived)
  if(archived MATCHES "^[0-9]+ ([0-9a-f]+)")
    set(COMMIT ${CMAKE_MATCH_1})
  endif()
endif()
set(text "#define GT_COMMIT \"${COMMIT}\"\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUT} "${text}")
endif()
