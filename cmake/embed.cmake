# quorate_embed(TARGET FOLDER SYMBOL) compiles the files of a folder into a target, as
#   std::span<const quorate::server::Asset> quorate::server::SYMBOL();
# FOLDER/index.html has the path "/", FOLDER/team.html "/team", FOLDER/lib/app.js "/lib/app.js". The folder is read when the
# target is built, so programs of a build step may put files there (name that step with add_dependencies and list the files
# after SYMBOL if they do not exist yet when CMake runs). FOLDER may also be one file, as schemas.json, with the path
# "/schemas.json".
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(quorate_embed_script ${CMAKE_CURRENT_LIST_FILE})
  function(quorate_embed target folder symbol)
    get_filename_component(folder ${folder} ABSOLUTE)
    if(IS_DIRECTORY ${folder})
      file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*)
    else()
      set(files ${folder})
    endif()
    set(output ${PROJECT_BINARY_DIR}/generated/${symbol}.cc)
    add_custom_command(OUTPUT ${output} DEPENDS ${files} ${ARGN} ${quorate_embed_script} VERBATIM
      COMMENT "Embedding ${folder}"
      COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D SYMBOL=${symbol} -D OUTPUT=${output} -P ${quorate_embed_script})
    target_sources(${target} PRIVATE ${output})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/apps)
  endfunction()
  return()
endif()

set(types .html=text/html .css=text/css .js=text/javascript .mjs=text/javascript .txt=text/plain .json=application/json
  .svg=image/svg+xml .png=image/png .ico=image/x-icon .woff2=font/woff2)
if(IS_DIRECTORY ${FOLDER})
  file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
else()
  get_filename_component(files ${FOLDER} NAME)
  get_filename_component(FOLDER ${FOLDER} DIRECTORY)
endif()
list(SORT files)
set(rows "")
foreach(file IN LISTS files)
  if(NOT file MATCHES "^[A-Za-z0-9._/-]+$")
    message(FATAL_ERROR "${FOLDER}/${file}: expected a name of letters, digits, '.', '_' and '-'")
  endif()
  get_filename_component(ending ${file} LAST_EXT)
  set(found ${types})
  string(REPLACE "." "[.]" pattern "^${ending}=")
  list(FILTER found INCLUDE REGEX "${pattern}")
  if(NOT found OR NOT ending)
    message(FATAL_ERROR "${FOLDER}/${file}: the type of files that end in '${ending}' is unknown; add it to ${CMAKE_SCRIPT_MODE_FILE}")
  endif()
  string(REGEX REPLACE "^[^=]*=" "" type ${found})
  if(type MATCHES "^text/")
    string(APPEND type "; charset=utf-8")
  endif()
  string(REGEX REPLACE "[.]html$" "" path "/${file}")
  string(REGEX REPLACE "/index$" "/" path "${path}")
  file(SIZE ${FOLDER}/${file} size)
  file(SHA256 ${FOLDER}/${file} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  file(READ ${FOLDER}/${file} hex HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" literal "${hex}")
  string(APPEND rows "      {\"${path}\", \"${type}\", {\"${literal}\", ${size}}, \"${hash}\"},\n")
endforeach()
if(NOT rows)
  message(FATAL_ERROR "${FOLDER}: expected files to embed")
endif()
file(WRITE ${OUTPUT} "#include \"server/static_files.h\"

namespace quorate::server {

std::span<const Asset> ${SYMBOL}();
std::span<const Asset> ${SYMBOL}() {
  static constexpr Asset kAssets[] = {
${rows}  };
  return kAssets;
}

}  // namespace quorate::server
")
