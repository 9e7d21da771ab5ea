# The version, in GPUTALLY_VERSION: that of the tag (v1.2.3) if this commit has one, else that of the newest section of
# CHANGELOG.md, also for sources without git. A release has both, and they are equal (scripts/dist checks it).
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../CHANGELOG.md headings REGEX "^## [0-9]")
list(GET headings 0 heading)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" GPUTALLY_VERSION "${heading}")
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../.git)
  execute_process(COMMAND git describe --tags --exact-match --match "v[0-9]*" WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}
    OUTPUT_VARIABLE tag ERROR_QUIET RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND tag MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)$")
    set(GPUTALLY_VERSION ${CMAKE_MATCH_1})
  endif()
endif()
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE) # cmake -P cmake/Version.cmake prints it
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${GPUTALLY_VERSION})
else()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../CHANGELOG.md)
endif()
