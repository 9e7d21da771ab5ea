# Fish completion for gputally and for the names of the programs that it replaces.
# Written by `gputally completion fish`; each TAB asks the program what may stand there.

function __gputally_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    # Other names may also be those of the programs that gputally replaces.
    set -l program $words[1]
    if not string match -qr '(^|/)gputally$' -- $program; and type -q gputally
        set program gputally
    end
    set -l lines ($program __complete (count $words) $words $typed 2>/dev/null)
    test (count $lines) -gt 0; or return
    test (count $lines) -gt 1; and printf '%s\n' $lines[2..-1]
    set -l kept ''
    if string match -q -- '--*=*' $typed
        set kept (string replace -r '=.*' '=' -- $typed)
        set typed (string replace -r '^[^=]*=' '' -- $typed)
    end
    set -l kinds (string split ' ' -- $lines[1])
    switch $kinds[1]
        case folders
            for path in (__fish_complete_directories $typed '')
                printf '%s%s\n' $kept $path
            end
        case files
            set -l all (__fish_complete_path $typed)
            set -l wanted
            for path in $all
                set -l name (string split \t -- $path)[1]
                if string match -q '*/' -- $name; or test (count $kinds) -eq 1
                    set -a wanted $path
                else if string match -qr -- '\.('(string join '|' $kinds[2..-1])')$' $name
                    set -a wanted $path
                end
            end
            # Names are only a guess: without a match, all files.
            test (count $wanted) -gt 0; or set wanted $all
            for path in $wanted
                printf '%s%s\n' $kept $path
            end
    end
end

complete -c gputally -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_pytorch -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_pytorch_inference -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_rocprof -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_jax -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_jax_analysis -f -a '(__gputally_complete)'
complete -c TraceLens_generate_multi_rank_collective_report_pytorch -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_genesis -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_pftrace_hip_api -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_pftrace_hip_activity -f -a '(__gputally_complete)'
complete -c TraceLens_generate_perf_report_pftrace_memory_copy -f -a '(__gputally_complete)'
complete -c TraceLens_compare_perf_reports_pytorch -f -a '(__gputally_complete)'
complete -c TraceLens_compare_traces_jax_llama -f -a '(__gputally_complete)'
complete -c TraceLens_split_inference_trace -f -a '(__gputally_complete)'
