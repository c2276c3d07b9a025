# Debian's packages, made by package/build.py: quorate, the program, linked statically, for every release, and quorate-dev, the C++
# library, for the release that it was built on.
set(CPACK_PACKAGE_VENDOR "The Quorate developers")
set(CPACK_PACKAGE_CONTACT "The Quorate developers <developers@quorate.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME quorate)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME quorate-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "nlohmann-json3-dev, libsimdjson-dev, zlib1g-dev, liblzma-dev, libzstd-dev, libutf8proc-dev, pkg-config")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program quorate: it trains, predicts, compares learners, and serves
 questions to the people who label. It needs no other package.")
set(CPACK_COMPONENT_DEV_DESCRIPTION "The C++ library: headers, a static library and its CMake package.")
include(CPack)
