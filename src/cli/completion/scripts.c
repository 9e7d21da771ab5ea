/* The scripts that shells load. They ask the program that is being called, so that a build without
 * installation and several versions side by side get their own options. The files of completions/ are copies
 * of these. */
#include "cli/completion/completion.h"

static const char bash[] =
    "# Bash completion for gputally and for the names of the programs that it replaces.\n"
    "# Written by `gputally completion bash`; each TAB asks the program what may stand there.\n"
    "\n"
    "_gputally() {\n"
    "    # Bash splits words at '=' and ':'; the program gets whole ones.\n"
    "    local words=() at=0 i word glued=\n"
    "    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if ((i)) && [[ $glued || $word == :* || ($word == = && ${words[-1]} == --*) ]]; then\n"
    "            words[-1]+=$word\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "        glued=\n"
    "        [[ $word == [=:] || $word == :: ]] && glued=1\n"
    "        ((i <= COMP_CWORD)) && at=$((${#words[@]} - 1))\n"
    "    done\n"
    "    local program=${words[0]/#\\~/$HOME} current=${words[at]} kept= typed lines value kind files=()\n"
    "    # Other names may also be those of the programs that gputally replaces.\n"
    "    [[ ${program##*/} != gputally ]] && type -P gputally >/dev/null && program=gputally\n"
    "    COMPREPLY=()\n"
    "    mapfile -t lines < <(\"$program\" __complete \"$at\" \"${words[@]}\" 2>/dev/null)\n"
    "    ((${#lines[@]})) || return\n"
    "    # What comes before the last '=' or ':' is no part of the word that bash replaces.\n"
    "    [[ $current == --*=* ]] && kept=${current%%=*}=\n"
    "    [[ $current == *:* && $COMP_WORDBREAKS == *:* ]] && kept=${current%\"${current##*:}\"}\n"
    "    typed=${current#\"$kept\"}\n"
    "    for value in \"${lines[@]:1}\"; do\n"
    "        value=${value%%$'\\t'*}\n"
    "        COMPREPLY+=(\"${value#\"$kept\"}\")\n"
    "    done\n"
    "    case ${lines[0]} in\n"
    "    folders) mapfile -t files < <(compgen -d -- \"$typed\") ;;\n"
    "    files*)\n"
    "        local all\n"
    "        mapfile -t all < <(compgen -f -- \"$typed\")\n"
    "        for value in \"${all[@]}\"; do\n"
    "            [[ ${lines[0]} == files || -d $value ]] && files+=(\"$value\") && continue\n"
    "            for kind in ${lines[0]#files}; do\n"
    "                [[ $value == *.\"$kind\" ]] && files+=(\"$value\") && break\n"
    "            done\n"
    "        done\n"
    "        # Endings are only a guess: without a match, all files.\n"
    "        ((${#files[@]})) || files=(\"${all[@]}\")\n"
    "        ;;\n"
    "    esac\n"
    "    if ((${#files[@]})); then\n"
    "        COMPREPLY+=(\"${files[@]}\")\n"
    "        compopt -o filenames 2>/dev/null\n"
    "    fi\n"
    "}\n"
    "\n";

static const char zsh[] =
    "# Zsh completion for gputally and for the names of the programs that it replaces.\n"
    "# Written by `gputally completion zsh`; each TAB asks the program what may stand there.\n"
    "\n"
    "_gputally() {\n"
    "    local -a lines values texts kinds\n"
    "    local line typed=$PREFIX\n"
    "    local -a asked=(\"${(@Q)words}\")\n"
    "    asked[CURRENT]=${(Q)PREFIX}\n"
    "    # Other names may also be those of the programs that gputally replaces.\n"
    "    local program=${~${(Q)words[1]}}\n"
    "    [[ ${program:t} != gputally ]] && (( $+commands[gputally] )) && program=gputally\n"
    "    lines=(\"${(@f)$($program __complete $((CURRENT - 1)) \"${asked[@]}\" 2>/dev/null)}\")\n"
    "    (( $#lines )) || return 1\n"
    "    for line in \"${(@)lines[2,-1]}\"; do\n"
    "        [[ -n $line ]] || continue\n"
    "        values+=(\"${line%%$'\\t'*}\")\n"
    "        texts+=(\"${line%%$'\\t'*}${${line#*$'\\t'}:+ -- ${line#*$'\\t'}}\")\n"
    "    done\n"
    "    local done=1\n"
    "    if (( $#values )); then\n"
    "        compadd -U -l -d texts -a values && done=0\n"
    "    fi\n"
    "    [[ $typed == --*=* ]] && compset -P '*='\n"
    "    case $lines[1] in\n"
    "    folders) _files -/ && done=0 ;;\n"
    "    files) _files && done=0 ;;\n"
    "    files\\ *)\n"
    "        kinds=(${(s: :)${lines[1]#files }})\n"
    "        { _files -g \"*.(${(j:|:)kinds})(-.)\" || _files } && done=0\n"
    "        ;;\n"
    "    esac\n"
    "    return done\n"
    "}\n"
    "\n"
    "if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n"
    "    _gputally \"$@\"\n"
    "else\n"
    "    compdef _gputally";

static const char fish[] =
    "# Fish completion for gputally and for the names of the programs that it replaces.\n"
    "# Written by `gputally completion fish`; each TAB asks the program what may stand there.\n"
    "\n"
    "function __gputally_complete\n"
    "    set -l words (commandline -opc)\n"
    "    set -l typed (commandline -ct)\n"
    "    # Other names may also be those of the programs that gputally replaces.\n"
    "    set -l program $words[1]\n"
    "    if not string match -qr '(^|/)gputally$' -- $program; and type -q gputally\n"
    "        set program gputally\n"
    "    end\n"
    "    set -l lines ($program __complete (count $words) $words $typed 2>/dev/null)\n"
    "    test (count $lines) -gt 0; or return\n"
    "    test (count $lines) -gt 1; and printf '%s\\n' $lines[2..-1]\n"
    "    set -l kept ''\n"
    "    if string match -q -- '--*=*' $typed\n"
    "        set kept (string replace -r '=.*' '=' -- $typed)\n"
    "        set typed (string replace -r '^[^=]*=' '' -- $typed)\n"
    "    end\n"
    "    set -l kinds (string split ' ' -- $lines[1])\n"
    "    switch $kinds[1]\n"
    "        case folders\n"
    "            for path in (__fish_complete_directories $typed '')\n"
    "                printf '%s%s\\n' $kept $path\n"
    "            end\n"
    "        case files\n"
    "            set -l all (__fish_complete_path $typed)\n"
    "            set -l wanted\n"
    "            for path in $all\n"
    "                set -l name (string split \\t -- $path)[1]\n"
    "                if string match -q '*/' -- $name; or test (count $kinds) -eq 1\n"
    "                    set -a wanted $path\n"
    "                else if string match -qr -- '\\.('(string join '|' $kinds[2..-1])')$' $name\n"
    "                    set -a wanted $path\n"
    "                end\n"
    "            end\n"
    "            # Names are only a guess: without a match, all files.\n"
    "            test (count $wanted) -gt 0; or set wanted $all\n"
    "            for path in $wanted\n"
    "                printf '%s%s\\n' $kept $path\n"
    "            end\n"
    "    end\n"
    "end\n"
    "\n";

static void each_name(FILE *out, const char *format)
{
    fprintf(out, format, "gputally");
    for (size_t i = 0; i < gt_command_count; i++)
        if (gt_commands[i].old_name) fprintf(out, format, gt_commands[i].old_name);
}

bool gt_completion_script(FILE *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        fputs(bash, out);
        fputs("complete -F _gputally", out);
        each_name(out, " \\\n    %s");
        fputc('\n', out);
    } else if (strcmp(shell, "zsh") == 0) {
        fputs("#compdef", out);
        each_name(out, " %s");
        fputc('\n', out);
        fputs(zsh, out);
        each_name(out, " \\\n        %s");
        fputs("\nfi\n", out);
    } else if (strcmp(shell, "fish") == 0) {
        fputs(fish, out);
        each_name(out, "complete -c %s -f -a '(__gputally_complete)'\n");
    } else {
        return false;
    }
    return true;
}
