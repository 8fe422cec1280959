#!/usr/bin/env bash
# Installs Halyard into an empty folder and builds a project against it as a user would.
#   run.sh BUILD_DIR HALIDE_CMAKE_DIR CMAKE EMULATED_DRIVER
set -euo pipefail
build=$1 halide=$2 cmake=$3 emulator=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"   # an installation can be moved
cp -r "$here/project" "$scratch/project"
cd "$scratch/project"
"$cmake" -G Ninja -B build -DCMAKE_PREFIX_PATH="$scratch/prefix" -DHalide_DIR="$halide" -DHalideHelpers_DIR="$halide/../HalideHelpers" >configure.log 2>&1 || { cat configure.log; exit 1; }
"$cmake" --build build >build.log 2>&1 || { cat build.log; exit 1; }
HALYARD_CUDA_DRIVER=$emulator ./build/consumer
./build/consumer_c

fail() { echo "failed: $*" >&2; exit 1; }
# A change of a required file rebuilds what depends on it and nothing else.
sleep 0.01
echo '-- changed' >>helpers/rows.lua
"$cmake" --build build >rebuild.log 2>&1
grep -q 'Halyard my_norm' rebuild.log || { cat rebuild.log; fail "a changed helper did not rebuild my_norm"; }
! grep -q 'Halyard my_softmax\|Halyard my_blur' rebuild.log || fail "a changed helper rebuilt an unrelated library"
"$cmake" --build build | grep -q 'no work to do' || fail "a second build has work to do"
# A wrong schedule fails the build with file, line and suggestion, and leaves the old library.
sum=$(sha256sum build/halyard/my_norm/norm.a)
sed -i 's/k.inv_rms/k.inv_rns/' my_norm.lua
! "$cmake" --build build >wrong.log 2>&1 || fail "a wrong schedule was built"
grep -q 'my_norm.lua:11: error: there is no Func "inv_rns"' wrong.log || { cat wrong.log; fail "no file and line"; }
grep -q 'did you mean "inv_rms"?' wrong.log || fail "no suggestion"
[ "$sum" = "$(sha256sum build/halyard/my_norm/norm.a)" ] || fail "the old library is gone"
