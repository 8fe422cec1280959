#!/usr/bin/env bash
# Values of halyard_add_library() reach the command as data: each as one word, or an error of CMake that names the argument.
#   values.sh HELPERS.cmake CMAKE
set -euo pipefail
helpers=$1 cmake=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "failed: $*" >&2; exit 1; }

cat >"$scratch/command" <<'END'
#!/bin/sh
printf '%s\n' "$@" >"$WORDS"
while [ $# -gt 0 ]; do
    case $1 in
        --output=*) output=${1#--output=} ;;
        --name=*) name=${1#--name=} ;;
    esac
    shift
done
touch "$output/$name.a" "$output/$name.h"
END
chmod +x "$scratch/command"
export WORDS=$scratch/words

configure() {  # GENERATOR ARGUMENT VALUE
    rm -rf "$scratch/build"
    "$cmake" -G "$1" -S "$here/values" -B "$scratch/build" -DHELPERS="$helpers" -DCOMMAND="$scratch/command" -DARGUMENT="$2" \
        -DVALUE="$3" "${@:4}" >"$scratch/log" 2>&1
}

# Refused, whichever argument it is of.
line=$'a=1\nb=2'
for argument in NAME OP SCHEDULE SHAPE DATABASE FUNCTION GENERATOR TARGETS DEVICES PARAMS SET; do
    # shellcheck disable=SC2016,SC1003
    for value in 'a=1;--generator;evil.sh' 'a=$<SHELL_PATH:/etc>' "$line" '--db=x' 'a=$(HOME)' 'a=[' 'a=1\'; do
        configure Ninja $argument "$value" && fail "$argument takes '$value'"
        what=$argument
        [ $argument != NAME ] || what='the name'
        tr '\n' ' ' <"$scratch/log" | tr -s ' ' | grep -qF "$what \"${value//$'\n'/ }\"" ||
            { cat "$scratch/log"; fail "$argument '$value': the error does not name both"; }
    done
done

# Whole words.
for generator in Ninja 'Unix Makefiles'; do
    while IFS='|' read -r argument value word; do
        configure "$generator" "$argument" "$value" || { cat "$scratch/log"; fail "$argument does not take '$value'"; }
        "$cmake" --build "$scratch/build" --target one.build >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "$argument '$value'"; }
        grep -qxF -- "$word" "$WORDS" || { cat "$WORDS"; fail "$argument '$value' is no word of the command"; }
    done <<'END'
PARAMS|a=1 --generator x|--param=a=1 --generator x
PARAMS|a="1" '2' $HOME # `id` %PATH% [3]|--param=a="1" '2' $HOME # `id` %PATH% [3]
SET|rows=2|--set=rows=2
SHAPE|rows=64,cols=4096|--shape=rows=64,cols=4096
SCHEDULE|unfused|--schedule=unfused
TARGETS|avx512,avx2|--target=avx512,avx2
DEVICES|sm_90a|--devices=sm_90a
FUNCTION|norm|--name=norm
OP|softmax|softmax
END
done
configure Ninja PARAMS a=1 -DMORE='b=2;SET;rows=4;cols=8' || { cat "$scratch/log"; fail "several values"; }
"$cmake" --build "$scratch/build" --target one.build >/dev/null
[ "$(grep -c -e '^--param=[ab]=[12]$' -e '^--set=rows=4$' -e '^--set=cols=8$' "$WORDS")" = 4 ] || { cat "$WORDS"; fail "several values"; }
