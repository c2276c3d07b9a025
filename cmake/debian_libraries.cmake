# For `pip install .` on a Debian where the libraries below are missing and nobody may install them: their packages, fetched
# by apt-get without root and unpacked into the build folder. The wheel then carries the shared ones.
set(quorate_fetched ${PROJECT_BINARY_DIR}/debian)
set(fetched_packages libeigen3-dev libcli11-dev nlohmann-json3-dev libsimdjson-dev libxxhash-dev zlib1g-dev liblzma-dev
  libzstd-dev libutf8proc-dev pkgconf-bin libpkgconf3)
find_program(apt_get apt-get)
find_program(dpkg_deb dpkg-deb)
if(NOT apt_get OR NOT dpkg_deb)
  list(JOIN fetched_packages " " names)
  message(FATAL_ERROR "Quorate needs these libraries; on Debian: apt-get install ${names}")
endif()

set(apt ${apt_get} -q -o Dir::State=${quorate_fetched}/state -o Dir::Cache=${quorate_fetched}/cache
  -o Dir::State::status=/var/lib/dpkg/status -o APT::Sandbox::User=)
file(MAKE_DIRECTORY ${quorate_fetched}/state/lists/partial ${quorate_fetched}/cache/archives/partial ${quorate_fetched}/packages)
function(quorate_apt)
  execute_process(COMMAND ${apt} ${ARGV} WORKING_DIRECTORY ${quorate_fetched}/packages RESULT_VARIABLE failed
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    list(JOIN fetched_packages " " names)
    message(FATAL_ERROR "could not fetch libraries; as root: apt-get install ${names}\n${said}")
  endif()
endfunction()

if(NOT EXISTS ${quorate_fetched}/tree)
  message(STATUS "Fetching Debian packages into ${quorate_fetched}")
  quorate_apt(update)
  quorate_apt(download ${fetched_packages})
  # What the -dev packages link to is in packages of its own, whose names have versions.
  set(shared)
  file(GLOB packages ${quorate_fetched}/packages/*.deb)
  foreach(package ${packages})
    execute_process(COMMAND ${dpkg_deb} -f ${package} Depends OUTPUT_VARIABLE depends)
    string(REGEX MATCHALL "lib(simdjson|utf8proc|zstd|lzma)[0-9]+" found "${depends}")
    list(APPEND shared ${found})
  endforeach()
  list(REMOVE_DUPLICATES shared)
  quorate_apt(download ${shared} zlib1g)
  file(GLOB packages ${quorate_fetched}/packages/*.deb)
  foreach(package ${packages})
    execute_process(COMMAND ${dpkg_deb} -x ${package} ${quorate_fetched}/unpacked COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(RENAME ${quorate_fetched}/unpacked ${quorate_fetched}/tree) # whole, or not at all
endif()

list(PREPEND CMAKE_PREFIX_PATH ${quorate_fetched}/tree/usr)
set(PKG_CONFIG_EXECUTABLE ${quorate_fetched}/tree/usr/bin/pkgconf)
set(libraries ${quorate_fetched}/tree/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(ENV{LD_LIBRARY_PATH} ${libraries})
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${quorate_fetched}/tree)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${quorate_fetched}/tree/usr/share/pkgconfig)
file(GLOB quorate_carried ${libraries}/lib*.so.* ${quorate_fetched}/tree/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lib*.so.*)
list(FILTER quorate_carried EXCLUDE REGEX pkgconf)
