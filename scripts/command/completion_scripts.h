#ifndef HALYARD_COMMAND_COMPLETION_SCRIPTS_H
#define HALYARD_COMMAND_COMPLETION_SCRIPTS_H

/** \file
 * What a shell reads to complete command lines of halyard. Each asks the command that is being written (complete.h), so that a new option
 * needs no new script.
 */

namespace halyard {

constexpr const char *kBashCompletion = R"sh(# bash completion of halyard; made by `halyard completion bash`

_halyard() {
    # The words up to the cursor, as they are written: COMP_WORDS takes them apart at "=" and ":" too.
    local line=${COMP_LINE:0:COMP_POINT} words=() word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $line in
        [[:space:]]*) line=${line#"${line%%[![:space:]]*}"} words+=('') ;;
        *) [ $i -gt 0 ] || words+=('') ;;
        esac
        [ $i -lt "$COMP_CWORD" ] || word=$line
        words[${#words[@]} - 1]+=$word
        line=${line#"$word"}
    done
    local current=${words[${#words[@]} - 1]} command=${COMP_WORDS[0]/#\~/$HOME}
    # Readline puts an answer in the place of what follows the last "=" or ":".
    local kept=${current%"${current##*[=:]}"} file
    local ending
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        $'\tfolders' | $'\tfiles'*)
            compopt -o filenames
            ending=${line#$'\tfiles'} ending=${ending# }
            while IFS= read -r file; do
                if [ -d "$file" ] || [[ $line != $'\tfolders' && $file == *"$ending" ]]; then COMPREPLY+=("$file"); fi
            done < <(compgen -f -- "${current#"$kept"}")
            ;;
        *)
            line=${line%%$'\t'*}
            COMPREPLY+=("${line#"$kept"}")
            case $line in *=) compopt -o nospace ;; esac
            ;;
        esac
    done < <("$command" --complete "${words[@]:1}" 2>/dev/null)
}
complete -F _halyard halyard
)sh";

constexpr const char *kZshCompletion = R"sh(#compdef halyard
# zsh completion of halyard; made by `halyard completion zsh`

_halyard() {
    local -a whole parts
    local line word text
    for line in "${(@f)$(${~words[1]} --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        word=${line%%$'\t'*} text=${line#*$'\t'}
        if [[ -z $word ]]; then
            if [[ $PREFIX == --*=* ]]; then compset -P '*='; fi
            case $text in
            folders) _files -/ ;;
            files) _files ;;
            files\ *) _files -g "*${text#files }" ;;
            esac
        elif [[ $word == *= ]]; then
            parts+=("${word//:/\\:}:$text")
        else
            whole+=("${word//:/\\:}:$text")
        fi
    done
    (( $#whole )) && _describe -t values halyard whole
    (( $#parts )) && _describe -t values halyard parts -S ''
}

# Read by the completion system, or by a person's `source`.
if [[ $funcstack[1] == _halyard ]]; then _halyard "$@"; else compdef _halyard halyard; fi
)sh";

constexpr const char *kFishCompletion = R"sh(# fish completion of halyard; made by `halyard completion fish`

function __halyard_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l command (string replace -r '^~' $HOME -- $words[1])
    for line in ($command --complete $words[2..-1] $current 2>/dev/null)
        switch $line
            case \tfolders
                __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $current) ''
            case \tfiles '*.lua'
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- $current) ''
            case '*'
                echo $line
        end
    end
end
complete -c halyard -f -a '(__halyard_complete)'
)sh";

}  // namespace halyard

#endif
