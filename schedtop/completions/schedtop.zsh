#compdef schedtop
# Completion of schedtop for zsh; `schedtop completion zsh` prints it.

_schedtop() {
	local line kind value meaning place program=${${(Q)words[1]}/#\~\//$HOME/}
	# A path from the root on, else the one in PATH. Never one of the current directory, which is not started by looking
	# at it.
	if [[ $program != /* ]]; then
		program=
		for place in $path; do
			[[ $place != /* || ! -f $place/schedtop || ! -x $place/schedtop ]] || { program=$place/schedtop; break; }
		done
	fi
	[[ -n $program ]] || return 1
	local -a words_found parts_found tasks_found fields before
	# The words before the cursor, without their quotes.
	before=("${(@Q)words[1,CURRENT-1]}")
	for line in "${(@f)$(_SCHEDTOP_COMPLETE=zsh SCHEDTOP_LINE=${(pj:\n:)before} SCHEDTOP_WORD=$PREFIX \
		"$program" 2>/dev/null)}"; do
		fields=("${(@ps:\t:)line}")
		kind=$fields[1] value=$fields[2] meaning=$fields[3]
		case $kind in
		word) words_found+=("${value//:/\\:}${meaning:+:$meaning}") ;;
		part) parts_found+=("${value//:/\\:}${meaning:+:$meaning}") ;;
		file) [[ $PREFIX == --*=* ]] && compset -P '*='; _files ;;
		directory) [[ $PREFIX == --*=* ]] && compset -P '*='; _files -/ ;;
		task)
			[[ $PREFIX == --*=* ]] && compset -P '*='
			# _pids shows only those of this terminal; ps writes ? for what steers a terminal.
			ps -A -o pid= -o comm= | while read -r value meaning; do tasks_found+=("$value:$meaning"); done
			;;
		esac
	done
	(( $#words_found )) && _describe -V -t values schedtop words_found
	(( $#tasks_found )) && _describe -V -t processes process tasks_found
	(( $#parts_found )) && _describe -V -t values schedtop parts_found -S ''
}

# Sourced, or found in fpath and called for the first time.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
	_schedtop "$@"
else
	compdef _schedtop schedtop
fi
