#!/bin/bash
# Second step of the GitHub action: runs gputally and passes its answers on. Inputs and outputs: action.yml.
#
# Files and conditions are arguments after their option or after --, so that none is taken for another option. Names in a
# trace are printed by gputally, so the runner's commands (lines that begin with ::) are off while it runs.
# shellcheck source=packaging/action/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

is_bool() { # NAME VALUE
    [[ $2 == true || $2 == false ]] || fail "$1: neither true nor false: $2" 2
}
is_bool strict-trust "$GPUTALLY_STRICT_TRUST"
is_bool summary "$GPUTALLY_SUMMARY"
patterns=() conditions=() arguments=()
lines "$GPUTALLY_FILES" patterns
lines "$GPUTALLY_FAIL_IF" conditions
lines "$GPUTALLY_ARGUMENTS" arguments
output=$GPUTALLY_OUTPUT_DIR
[[ -n $output ]] || fail "output-dir is empty" 2
case $output in *[$'\n\r']*) fail "output-dir has a line break" 2 ;; esac

# A name that exists is that file, also if it looks like a pattern.
files=()
shopt -s nullglob
for pattern in "${patterns[@]}"; do
    if [[ -e $pattern ]]; then
        files+=("$pattern")
        continue
    fi
    IFS='' # a blank in a pattern does not end it
    # shellcheck disable=SC2206 # expanded on purpose
    matches=($pattern)
    unset IFS
    [[ ${#matches[@]} -gt 0 && -e ${matches[0]} ]] || fail "files: $pattern does not exist"
    files+=("${matches[@]}")
done
count=${#files[@]}
[[ $count -gt 0 ]] || fail "files: no file is named" 2

# One trace gives files, several give folders. What a folder gives is known afterwards.
mkdir -p -- "$output"
output=$(realpath -- "$output")
sheets=$output/sheets
if [[ $count -eq 1 && -f ${files[0]} || $GPUTALLY_COMMAND == compare ]]; then
    page=$output/page.html summary=$output/summary.md json=$output/report.json
else
    page=$output/pages summary=$output/summaries json=$output/json
fi
# A second run into the same folder must not pass on what the first one left. Files of others are never removed.
marker=$output/.gputally-action
if [[ -e $marker ]]; then
    rm -rf -- "$sheets" "$output"/{page.html,pages,pages.html,summary.md,summaries,summaries.md,report.json,json,json.json}
elif [[ -n $(ls -A -- "$output") ]]; then
    fail "output-dir: $GPUTALLY_OUTPUT_DIR is not empty" 2
fi
: >"$marker"

gate=()
case $GPUTALLY_COMMAND in
report)
    [[ ${#conditions[@]} -eq 0 ]] || fail "fail-if: only compare has conditions" 2
    [[ $GPUTALLY_STRICT_TRUST == false ]] || gate=(--strict_trust)
    gate_status=4
    ;;
compare)
    [[ $count -ge 2 ]] || fail "files: compare needs two files or more" 2
    [[ $GPUTALLY_STRICT_TRUST == false ]] || fail "strict-trust: only report has it" 2
    for condition in "${conditions[@]}"; do gate+=("--fail_if=$condition"); done
    gate_status=3
    [[ $count -eq 2 ]] || page= # the page is of two files
    ;;
*) fail "command: neither report nor compare: $GPUTALLY_COMMAND" 2 ;;
esac

token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
status=0
"$GPUTALLY_PROGRAM" "$GPUTALLY_COMMAND" --no_progress --output_csvs_dir "$sheets" --output_md "$summary" --output_json "$json" \
    ${page:+--output_html "$page"} "${gate[@]}" "${arguments[@]}" -- "${files[@]}" || status=$?
echo
echo "::$token::"

# A folder with one trace, such as a run of rocprofv3, gives files after all.
give_ending() { # NAME ENDING: adds the ending to the file that the variable NAME names
    local -n path=$1
    if [[ -f $path && $path != *."$2" ]]; then
        mv -- "$path" "$path.$2"
        path=$path.$2
    fi
    [[ -e $path ]] || path=
}
give_ending page html
give_ending summary md
give_ending json json
[[ -e $sheets ]] || sheets=
set_output report "$sheets"
set_output page "$page"
set_output summary "$summary"
set_output json "$json"
if [[ $status -eq $gate_status ]]; then set_output gate-failed true; else set_output gate-failed false; fi

if [[ $GPUTALLY_SUMMARY == true && -n $summary ]]; then
    # The runner drops a summary of more than 1 MiB.
    left=1000000
    while IFS= read -r -d '' file; do
        size=$(stat -c %s -- "$file")
        if ((size + 2 > left)); then
            echo "The rest of the summary is too long for this page." >>"$GITHUB_STEP_SUMMARY"
            break
        fi
        { cat -- "$file"; printf '\n\n'; } >>"$GITHUB_STEP_SUMMARY"
        left=$((left - size - 2))
    done < <(find "$summary" -type f -name '*.md' -print0 | sort -z)
fi

if [[ $status -eq $gate_status ]]; then
    case $GPUTALLY_COMMAND in
    report) fail "the gate failed: a trace cannot be trusted" "$status" ;;
    compare) fail "the gate failed: a condition of fail-if is met" "$status" ;;
    esac
fi
[[ $status -eq 0 ]] || fail "gputally $GPUTALLY_COMMAND ended with status $status" "$status"
