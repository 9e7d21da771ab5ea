# Shared by the two steps of the GitHub action (action.yml).
# shellcheck shell=bash
set -euo pipefail

# Prints one message, which the runner shows as an annotation, and ends the step. Text from inputs is escaped, so that it
# stays one message.
fail() {
    local text=$1
    text=${text//'%'/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    echo "::error title=gputally::$text"
    exit "${2:-1}"
}

# set_output NAME VALUE: VALUE must be one line, else it could set other outputs.
set_output() {
    case $2 in *[$'\n\r']*) fail "$1 has a line break" 2 ;; esac
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# lines TEXT ARRAY: the lines of TEXT that are not blank, without blanks at both ends.
lines() {
    local -n array=$2
    local line
    array=()
    while IFS= read -r line || [[ -n $line ]]; do
        line=${line%$'\r'}
        line=${line#"${line%%[![:space:]]*}"}
        line=${line%"${line##*[![:space:]]}"}
        [[ -z $line ]] || array+=("$line")
    done <<<"$1"
}
