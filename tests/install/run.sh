#!/usr/bin/env bash
# Installs Halyard into an empty folder and builds a project against it as a user would.
#   run.sh BUILD_DIR CMAKE EMULATED_DRIVER PYTHON, one with the onnx package
set -euo pipefail
build=$1 cmake=$2 emulator=$3 python=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"   # an installation can be moved
# The manual and the completions, where programs look for them.
for file in man/man1/halyard.1 bash-completion/completions/halyard zsh/site-functions/_halyard fish/vendor_completions.d/halyard.fish; do
    [ -s "$scratch/prefix/share/$file" ] || { echo "failed: share/$file is not installed" >&2; exit 1; }
done
cp -r "$here/project" "$scratch/project"
cd "$scratch/project"
"$python" model.py
"$cmake" -G Ninja -B build -DCMAKE_PREFIX_PATH="$scratch/prefix" -DMODELS_PYTHON="$python" >configure.log 2>&1 || { cat configure.log; exit 1; }
"$cmake" --build build >build.log 2>&1 || { cat build.log; exit 1; }
HALYARD_CUDA_DRIVER=$emulator ./build/consumer
./build/consumer_c
./build/model build/halyard/my_model/my_model.weights

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

# The quickstart, in each way that a program finds an installed Halyard.
cp -r "$here/../../apps/quickstart" "$scratch/quickstart"
cd "$scratch/quickstart"
ran() {
    "$1" >output || fail "$1"
    grep -q 'largest difference from double [0-9.]*e-0[4-9]$' output || { cat output; fail "$1 does not say that it is right"; }
}
# CMake, with Ninja and with make; also the system's, which may be older.
system_cmake=$(command -v /usr/bin/cmake || echo "$cmake")
"$system_cmake" -G 'Unix Makefiles' -B make_build -DCMAKE_PREFIX_PATH="$scratch/prefix" >configure.log 2>&1 || { cat configure.log; exit 1; }
"$system_cmake" --build make_build >build.log 2>&1 || { cat build.log; exit 1; }
ran make_build/quickstart
ran make_build/quickstart_cpp
"$system_cmake" --build make_build 2>&1 | grep -q 'Halyard' && fail "a second make builds libraries again"
"$cmake" -G Ninja -B ninja_build -DCMAKE_PREFIX_PATH="$scratch/prefix" >configure.log 2>&1 || { cat configure.log; exit 1; }
"$cmake" --build ninja_build >build.log 2>&1 || { cat build.log; exit 1; }
ran ninja_build/quickstart
# pkg-config and make.
PKG_CONFIG_PATH="$scratch/prefix/lib/pkgconfig" make >make.log 2>&1 || { cat make.log; exit 1; }
ran ./quickstart
ran ./quickstart_cpp
# Nothing but a compiler.
cc -I "$scratch/prefix/include" quickstart.c norm.a product.a -L "$scratch/prefix/lib" -lhalyard_runtime -lpthread -ldl -lm -o plain
ran ./plain
c++ -std=c++17 -I "$scratch/prefix/include" quickstart.cpp norm.a product.a "$scratch/prefix/lib/libhalyard_runtime.a" -lpthread -ldl -o plain_cpp
ran ./plain_cpp
