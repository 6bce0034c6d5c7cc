# Completion of schedtop for bash 4.4 and later; `schedtop completion bash` prints it.

# What is asked: the program of that path if it is one from the root on, else the one in PATH. Never one of the current
# directory, which is not started by looking at it.
_schedtop_program() {
	local place places
	[[ $1 != /* ]] || { printf '%s\n' "$1"; return; }
	IFS=: read -ra places <<<"$PATH"
	for place in "${places[@]}"; do
		[[ $place != /* || ! -f $place/schedtop || ! -x $place/schedtop ]] || { printf '%s\n' "$place/schedtop"; return; }
	done
	return 1
}

_schedtop() {
	local kind value meaning program
	COMPREPLY=()
	program=$(_schedtop_program "${1/#\~\//$HOME/}") || return 0
	# Asked with the line up to the cursor, and with what readline is about to replace, since it breaks words at = : @.
	while IFS=$'\t' read -r kind value meaning; do
		case $kind in
		word) COMPREPLY+=("$value") ;;
		part)
			COMPREPLY+=("$value")
			compopt -o nospace
			;;
		file) compopt -o filenames -o default ;;
		directory) compopt -o filenames -o dirnames ;;
		task) declare -F _pids >/dev/null && cur=$2 _pids ;;
		esac
	done < <(_SCHEDTOP_COMPLETE=bash SCHEDTOP_LINE=${COMP_LINE:0:COMP_POINT} SCHEDTOP_WORD=$2 "$program" 2>/dev/null)
}

complete -o nosort -F _schedtop schedtop
