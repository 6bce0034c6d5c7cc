# Completion of schedtop for fish 3.1 and later; `schedtop completion fish` prints it.

function __schedtop_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r -- '^~/' "$HOME/" $before[1])
    # A path from the root on, else the one in PATH. Never one of the current directory, which is not started by looking
    # at it.
    if not string match -q '/*' -- $program
        set program
        for place in $PATH
            if string match -q '/*' -- $place; and test -f $place/schedtop -a -x $place/schedtop
                set program $place/schedtop
                break
            end
        end
    end
    test -n "$program"; or return
    # Of --option=value fish replaces all.
    set -l option (string match -r -- '^--[a-z-]+=' $word)
    set -l value (string replace -- "$option" '' $word)
    for line in (env _SCHEDTOP_COMPLETE=fish SCHEDTOP_LINE=(string join \n -- $before | string collect) \
            SCHEDTOP_WORD="$word" $program 2>/dev/null)
        set -l fields (string split \t -- $line)
        switch $fields[1]
            case word part
                echo -- $fields[2]\t$fields[3]
            case file
                __fish_complete_path "$value" | string replace -r '^' -- "$option"
            case directory
                __fish_complete_directories "$value" | string replace -r '^' -- "$option"
            case task
                __fish_complete_pids | string replace -r '^' -- "$option"
        end
    end
end

complete --command schedtop --no-files --keep-order --arguments '(__schedtop_complete)'
