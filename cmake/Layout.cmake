# What is in a partial (src/crew/part.h) is decided by the files that put it there. Their checksum is part of each partial,
# so that a program with other ones calls it that of another version, not damaged. It is the same on all processors.
file(GLOB_RECURSE LAYOUT_FILES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*.c
     ${CMAKE_SOURCE_DIR}/src/findings/ranks/ranks.h ${CMAKE_SOURCE_DIR}/src/report/collective.h)
list(SORT LAYOUT_FILES)
set(LAYOUT "")
foreach(name ${LAYOUT_FILES})
  file(STRINGS ${CMAKE_SOURCE_DIR}/${name} uses REGEX "gt_image_(add|give)|gt_tables_save|gt_rank_facts;" LIMIT_COUNT 1)
  if(uses OR name MATCHES "^src/analysis/collective/")
    file(SHA256 ${CMAKE_SOURCE_DIR}/${name} sum)
    string(APPEND LAYOUT "${name} ${sum}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name})
  endif()
endforeach()
string(SHA256 LAYOUT "${LAYOUT}")
set_source_files_properties(src/crew/part.c PROPERTIES COMPILE_DEFINITIONS "GT_PART_LAYOUT=\"${LAYOUT}\"")
