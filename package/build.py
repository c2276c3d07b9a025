#!/usr/bin/env python3
"""Builds what users install into build/package/dist: wheels, static programs, Debian packages, an SBOM (SPDX), checksums.

zig's C++ compiler (PyPI: ziglang) compiles all of it: one tool makes programs that are linked statically with musl and run on
every Linux, and Python modules that need glibc 2.28 or newer, on x86-64 for x86-64 and arm64. The libraries are built from
Debian's sources. Two builds of a commit give the same bytes, as long as Debian serves the same sources.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

START = time.monotonic()
ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/package"
DIST = BUILD / "dist"
CONTAINER = BUILD / "container"
TOOLS = ["ziglang==0.17.1", "scikit-build-core==1.1.2", "nanobind==3.1.0", "wheel==0.45.1"]
DEBIAN_SUITE = "bookworm"
GLIBC = "2.28"
PYTHONS = ["3.10", "3.11", "3.12"]  # the wheel of 3.12 uses the stable ABI: 3.13 and newer take it, too
DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
QUIET = ["disable-shared", "disable-xz", "disable-xzdec", "disable-lzmadec", "disable-lzmainfo", "disable-scripts", "disable-doc",
         "disable-nls"]  # fmt: skip
# By Debian source package: the folder of the source, and how it is built. Those of OpenSSL only for the program.
LIBRARIES = {
    "zlib": ("zlib-*", ["./configure", "--static"]),
    "xz-utils": ("xz-utils-*", ["./configure", "--host={arch}-linux-gnu", *(f"--{one}" for one in QUIET)]),
    "libzstd": ("libzstd-*/build/cmake", ["ZSTD_BUILD_PROGRAMS=OFF", "ZSTD_BUILD_SHARED=OFF", "ZSTD_LEGACY_SUPPORT=OFF"]),
    "utf8proc": ("utf8proc-*", []),
    "simdjson": ("simdjson-*", ["SIMDJSON_DEVELOPER_MODE=OFF"]),
    "openssl": ("openssl-*", ["./Configure", "linux-{arch}", "--libdir=lib", "--openssldir=/etc/ssl", "no-shared", "no-tests",
                              "no-legacy", "no-engine", "no-dso", "no-module", "no-comp", "no-filenames"]),  # fmt: skip
}  # fmt: skip
# Libraries of headers alone are those of the machine (Debian's -dev packages), which ./run installs.
HEADERS = ["include/eigen3", "include/CLI", "include/nlohmann", "include/boost", "include/xxhash.h", "share/cmake/CLI11",
           "share/cmake/nlohmann_json", "share/eigen3"]  # fmt: skip


MACHINE = os.uname().machine
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8"}


def say(text):
    print(f"== {time.monotonic() - START:.0f} s {text}", file=sys.stderr, flush=True)


def run(*command, cwd=ROOT, env=None):
    done = subprocess.run([str(one) for one in command], cwd=cwd, env={**ENVIRONMENT, **(env or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-6000:]}\npackage: failed with {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def once(stamp):
    """Whether a step is still to do. It makes `stamp` when it is done."""
    return not (BUILD / stamp).exists()


def fetch_sources():
    """The libraries' sources as Debian has them, with its patches, and {package: version}."""
    folder = BUILD / "sources"
    if once("sources/complete.json"):
        shutil.rmtree(folder, ignore_errors=True)
        for made in ("state/lists/partial", "cache/archives/partial", "etc"):
            (folder / "apt" / made).mkdir(parents=True)
        keys = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
        (folder / "apt/etc/sources.list").write_text(
            f"deb-src {keys} http://deb.debian.org/debian {DEBIAN_SUITE} main\n"
            f"deb-src {keys} http://deb.debian.org/debian-security {DEBIAN_SUITE}-security main\n")  # fmt: skip
        apt = ["-q", "-o", f"Dir::State={folder}/apt/state", "-o", f"Dir::Cache={folder}/apt/cache", "-o", "Dir::Etc::SourceParts=/dev/null",
               "-o", f"Dir::Etc::SourceList={folder}/apt/etc/sources.list", "-o", "APT::Sandbox::User="]  # fmt: skip
        run("apt-get", *apt, "update")
        versions = {}
        for name in LIBRARIES:
            known = re.findall(r"^Version: (\S+)", run("apt-cache", *apt, "showsrc", name), re.M)
            # The newest first. A mirror may not have all files of an update yet.
            for version in sorted(set(known), key=version_key, reverse=True):
                got = subprocess.run(["apt-get", *apt, "source", f"{name}={version}"], cwd=folder, env=ENVIRONMENT, capture_output=True)
                if got.returncode == 0:
                    versions[name] = version
                    break
                print(f"package: {name} {version} could not be had: {got.stderr.decode(errors='replace')[-300:]}", file=sys.stderr)
            else:
                sys.exit(f"package: could not fetch Debian's source of {name}; expected one of {known}")
        (folder / "complete.json").write_text(json.dumps(versions))
    return json.loads((folder / "complete.json").read_text())


def version_key(version):
    return [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[^\d]+", version)]


class Target:
    """A processor and a C library: the compiler for it, the libraries built by it, and what is built with both."""

    def __init__(self, arch, libc):
        self.arch, self.libc, self.name = arch, libc, f"{arch}-{libc}"
        self.folder = BUILD / self.name
        self.prefix = self.folder / "prefix"
        triple = f"{arch}-linux-musl" if libc == "musl" else f"{arch}-linux-gnu.{GLIBC}"
        programs = self.folder / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        zig = BUILD / "tools/ziglang/zig"
        for name in ("cc", "c++", "ar", "ranlib"):
            # Headers name their files in messages: the folder of the build must not be in the program.
            target = f" -target {triple} -ffile-prefix-map={ROOT}/=" if name.startswith("c") else ""
            (programs / f"zig-{name}").write_text(f'#!/bin/sh\nexec {zig} {name}{target} "$@"\n')
            (programs / f"zig-{name}").chmod(0o755)
        self.env = {"PATH": f"{programs}:{ENVIRONMENT['PATH']}", "PKG_CONFIG_LIBDIR": f"{self.prefix}/lib/pkgconfig",
                    "CCACHE_COMPILERTYPE": "clang", "CCACHE_COMPILERCHECK": f"string:{TOOLS[0]} {triple} {ROOT}"}  # fmt: skip
        self.toolchain = self.folder / "toolchain.cmake"
        compilers = "".join(f"set(CMAKE_{language}_COMPILER {programs}/zig-{name})\n"
                            for language, name in (("C", "cc"), ("CXX", "c++")))  # fmt: skip
        modes = "".join(f"set(CMAKE_FIND_ROOT_PATH_MODE_{kind} {mode})\n"
                        for kind, mode in (("PROGRAM", "NEVER"), ("LIBRARY", "ONLY"), ("INCLUDE", "ONLY"), ("PACKAGE", "BOTH")))  # fmt: skip
        emulator = "" if arch == MACHINE else f"set(CMAKE_CROSSCOMPILING_EMULATOR qemu-{arch}-static)\n"
        self.toolchain.write_text(f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {arch})\n{compilers}"
                                  f"set(CMAKE_AR {programs}/zig-ar)\nset(CMAKE_RANLIB {programs}/zig-ranlib)\n"
                                  f"set(CMAKE_FIND_ROOT_PATH {self.prefix})\n{modes}{emulator}")  # fmt: skip
        self.settings = [f"-DCMAKE_TOOLCHAIN_FILE={self.toolchain}", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
                         f"-DCMAKE_PREFIX_PATH={self.prefix}"]  # fmt: skip
        if shutil.which("ccache"):
            self.settings += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]

    def build_libraries(self, names):
        for header in HEADERS:
            (self.prefix / header).parent.mkdir(parents=True, exist_ok=True)
            link = self.prefix / header
            if not link.is_symlink():
                link.symlink_to(Path("/usr") / header)
        for name in names:
            if not once(f"{self.name}/{name}.built"):
                continue
            say(f"{name} for {self.name}")
            pattern, options = LIBRARIES[name]
            (source,) = (path for path in (BUILD / "sources").glob(pattern) if path.is_dir())
            work = self.folder / name
            shutil.rmtree(work, ignore_errors=True)
            if not options or not options[0].startswith("./"):
                run("cmake", "-G", "Ninja", "-S", source, "-B", work, *self.settings, f"-DCMAKE_INSTALL_PREFIX={self.prefix}",
                    "-DCMAKE_INSTALL_LIBDIR=lib", "-DBUILD_SHARED_LIBS=OFF", *(f"-D{one}" for one in options), env=self.env)  # fmt: skip
                run("cmake", "--build", work, "-j2", "--target", "install", env=self.env)
            else:
                shutil.copytree(source, work, symlinks=True)
                launcher = "ccache " if shutil.which("ccache") else ""
                env = {**self.env, "CC": f"{launcher}zig-cc", "AR": "zig-ar", "RANLIB": "zig-ranlib", "CFLAGS": "-O2 -fPIC"}
                run(*(one.format(arch=self.arch) for one in options), "--prefix=/usr", cwd=work, env=env)  # OpenSSL keeps the folder
                staged = work / "staged"
                for targets in (["build_libs"], ["install_dev"]) if name == "openssl" else (["install"],):
                    run("make", "-j2", *targets, f"DESTDIR={staged}", cwd=work, env=env)
                shutil.copytree(staged / "usr", self.prefix, dirs_exist_ok=True)
            (self.folder / f"{name}.built").touch()
        for archive in self.prefix.glob("lib/*.la"):
            archive.unlink()  # they name folders of this machine, and nothing here reads them

    def build_program(self):
        """The program, linked statically: quorate with its server."""
        say(f"the program for {self.arch}")
        work = self.folder / "quorate"
        run("cmake", "-G", "Ninja", "-S", ROOT, "-B", work, *self.settings, "-DQUORATE_TESTS=OFF", "-DQUORATE_BENCH=OFF", "-DQUORATE_SERVER=ON", "-DQUORATE_KAFKA=OFF",
            "-DCMAKE_EXE_LINKER_FLAGS=-static -s", "-DCMAKE_INSTALL_PREFIX=/usr", env=self.env)  # fmt: skip
        run("cmake", "--build", work, "-j2", "--target", "quorate_cli", env=self.env)
        if "INTERP" in run("readelf", "-lW", work / "quorate"):
            sys.exit(f"package: {work / 'quorate'} is not static")
        return work / "quorate"

    def build_wheel(self, python, program, stub):
        """The wheel for an interpreter, with the program inside; `stub`: the module's types, written by a build that can be run."""
        version = run(python, "-c", "import sys; print(*sys.version_info[:2], sep='.')").strip()
        say(f"the wheel for Python {version}, {self.arch}")
        out = self.folder / "wheels" / version
        shutil.rmtree(out, ignore_errors=True)
        include = run(python, "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip()
        defines = [*(one[2:] for one in self.settings), f"QUORATE_PROGRAM={program}", f"Python_INCLUDE_DIR={include}",
                   *([f"QUORATE_STUB={stub}"] if stub else []), "CMAKE_SHARED_LINKER_FLAGS=-s", "CMAKE_MODULE_LINKER_FLAGS=-s"]  # fmt: skip
        settings = [f"build-dir={self.folder}/python-{version}", "build.targets=_core" + (";_core_stub" if stub is None else "")]
        run(python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps", "-w", out,
            *(f"--config-settings=cmake.define.{one}" for one in defines), *(f"--config-settings={one}" for one in settings), ROOT,
            env={**self.env, "_PYTHON_HOST_PLATFORM": f"linux-{self.arch}", "CMAKE_GENERATOR": "Ninja", "CMAKE_BUILD_PARALLEL_LEVEL": "2"})  # fmt: skip
        (wheel,) = out.glob("*.whl")
        run(python, "-m", "wheel", "tags", "--remove", "--platform-tag", f"manylinux_{GLIBC.replace('.', '_')}_{self.arch}", wheel)
        (wheel,) = out.glob("*.whl")
        (module,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so"))
        needed = re.findall(r"GLIBC_([0-9.]+)", run("readelf", "-VW", zipfile.ZipFile(wheel).extract(module, out)))
        if max(map(version_key, needed)) > version_key(GLIBC):
            sys.exit(f"package: {module} needs glibc {max(needed, key=version_key)}; expected {GLIBC} at most")
        shutil.copy(wheel, DIST)
        return wheel


def commit():
    """The commit that is built, and its time, which stands in all archives."""
    return run("git", "rev-parse", "HEAD").strip(), int(run("git", "log", "-1", "--format=%ct").strip())


def project_version():
    return re.search(r"^project\(quorate VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def interpreter(version):
    """A Python of that version with what builds a wheel, or None if this machine has none."""
    found = shutil.which(f"python{version}")
    found = found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0 and found  # a shim may lead nowhere
    others = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
    if not found and not others:
        return None
    folder = BUILD / "pythons" / version
    if once(f"pythons/{version}/complete"):
        shutil.rmtree(folder, ignore_errors=True)
        run(found or others[-1], "-m", "venv", folder)
        run(folder / "bin/pip", "install", "-q", "--disable-pip-version-check", *TOOLS[1:])
        (folder / "complete").touch()
    return folder / "bin/python"


def build_source_distribution(python):
    say("the source distribution")
    run(python, "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])", DIST)


def build_debian_packages(target):
    """The package of the program, and on the machine's own processor that of the C++ library, built by Debian's gcc."""
    say(f"the Debian packages for {target.arch}")
    settings = ["-D", f"CPACK_DEBIAN_PACKAGE_ARCHITECTURE={DEBIAN_NAMES[target.arch]}", "-B", DIST]
    run("cpack", "-G", "DEB", "-D", "CPACK_COMPONENTS_ALL=program", *settings, cwd=target.folder / "quorate", env=target.env)
    if target.arch == MACHINE:
        run("cpack", "-G", "DEB", "-D", "CPACK_COMPONENTS_ALL=dev", *settings, cwd=ROOT / "build/release")
    shutil.rmtree(DIST / "_CPack_Packages")


# What stands in LICENCES-THIRD-PARTY.txt, as SPDX has it.
LICENCES = {"Boost Software License 1.0": "BSL-1.0", "BSD 3-Clause": "BSD-3-Clause", "BSD 2-Clause": "BSD-2-Clause", "MIT": "MIT",
            "Mozilla Public License 2.0": "MPL-2.0", "Apache License 2.0": "Apache-2.0", "zlib": "Zlib",
            "MIT, Unicode data licence": "MIT AND Unicode-DFS-2016",
            "public domain, from version 5.6 on 0BSD": "LicenseRef-public-domain",
            "Apache License 2.0 with LLVM Exceptions": "Apache-2.0 WITH LLVM-exception"}  # fmt: skip
# The names there, and the Debian packages whose versions are compiled in.
SOURCES = {"Boost": "libboost1.81-dev", "CLI11": "libcli11-dev", "Eigen": "libeigen3-dev", "nlohmann/json": "nlohmann-json3-dev",
           "xxHash": "libxxhash-dev", "OpenSSL": "openssl", "simdjson": "simdjson", "utf8proc": "utf8proc",
           "XZ Utils (liblzma)": "xz-utils", "zlib": "zlib", "Zstandard": "libzstd"}  # fmt: skip


OF_TOOLS = {"LLVM (libc++, libc++abi, libunwind)": TOOLS[0], "musl": TOOLS[0], "Zig (compiler-rt)": TOOLS[0], "nanobind": TOOLS[2],
            "robin-map": TOOLS[2]}  # fmt: skip


def contained():
    """[(name, licence)] of the third parties whose code is compiled in."""
    return re.findall(r"^=+\n(\S.*)\nhttps://\S+\nLicence: (.+)$", (ROOT / "LICENCES-THIRD-PARTY.txt").read_text(), re.M)


def write_sbom(versions, head, when):
    """What is compiled in, with versions and licences, as SPDX 2.3."""
    version = {name: versions.get(package) or run("dpkg-query", "-W", "-f", "${Version}", package) for name, package in SOURCES.items()}
    version |= {name: tool.replace("==", " ") for name, tool in OF_TOOLS.items()}
    parts = [{"SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9]+', '-', name).strip('-')}", "name": name, "versionInfo": version[name],
              "downloadLocation": "NOASSERTION", "licenseConcluded": LICENCES[licence], "licenseDeclared": LICENCES[licence],
              "copyrightText": "NOASSERTION", "filesAnalyzed": False} for name, licence in contained()]  # fmt: skip
    own = {"SPDXID": "SPDXRef-quorate", "name": "quorate", "versionInfo": project_version(), "downloadLocation": "NOASSERTION",
           "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION", "filesAnalyzed": False}  # fmt: skip
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"]), *((own["SPDXID"], "CONTAINS", part["SPDXID"]) for part in parts)]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"quorate-{project_version()}",
        "documentNamespace": f"https://spdx.org/spdxdocs/quorate-{project_version()}-{head}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)), "creators": ["Tool: package/build.py"]},
        "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-public-domain", "extractedText": "liblzma is in the public domain."}],
        "packages": [own, *parts],
        "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b} for a, how, b in relations],
    }  # fmt: skip
    (DIST / f"quorate-{project_version()}.spdx.json").write_text(json.dumps(document, indent=1) + "\n")


def write_checksums():
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(sums))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", nargs="+", choices=list(DEBIAN_NAMES), default=list(DEBIAN_NAMES), help="processors (default: both)")
    parser.add_argument("--python", nargs="*", choices=PYTHONS, default=PYTHONS, help="Python versions of wheels (default: all)")
    chosen = parser.parse_args()
    chosen.arch.sort(key=lambda arch: arch != MACHINE)  # the stub of the module is made by the first, which can be run
    if chosen.arch[0] != MACHINE:
        parser.error(f"--arch: expected {MACHINE}, this machine's, among them")
    head, when = commit()
    ENVIRONMENT.update(SOURCE_DATE_EPOCH=str(when))
    ENVIRONMENT.pop("CCACHE_BASEDIR", None)  # with it ccache says ../header where the compiler alone says /folder/header
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    shutil.rmtree(CONTAINER, ignore_errors=True)
    (CONTAINER / "state").mkdir(parents=True)
    shutil.copy(ROOT / "package/Dockerfile", CONTAINER)
    if once("tools/complete"):
        say("the compiler")
        run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", BUILD / "tools", TOOLS[0])
        (BUILD / "tools/complete").touch()
    versions = fetch_sources()
    pythons = {version: python for version in chosen.python if (python := interpreter(version))}
    stub = None
    for arch in chosen.arch:
        musl = Target(arch, "musl")
        musl.build_libraries(LIBRARIES)
        program = musl.build_program()
        shutil.copy(program, DIST / f"quorate-{project_version()}-linux-{arch}")
        (CONTAINER / DEBIAN_NAMES[arch]).mkdir(parents=True)
        shutil.copy(program, CONTAINER / DEBIAN_NAMES[arch] / "quorate")
        build_debian_packages(musl)
        gnu = Target(arch, "gnu")
        gnu.build_libraries([name for name in LIBRARIES if name != "openssl"])
        for python in pythons.values():
            wheel = gnu.build_wheel(python, program, stub)
            if stub is None:
                stub = BUILD / "_core.pyi"
                stub.write_bytes(zipfile.ZipFile(wheel).read("quorate/_core.pyi"))
    if pythons:
        build_source_distribution(next(iter(pythons.values())))
    write_sbom(versions, head, when)
    write_checksums()
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>10,} {path.relative_to(ROOT)}")
    for version in sorted(set(chosen.python) - set(pythons)):
        print(f"package: no wheel for Python {version}: expected python{version} on the path, or below ~/.pyenv", file=sys.stderr)


if __name__ == "__main__":
    main()
