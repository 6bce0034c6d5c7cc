# Completion of schedtop for bash 4.4 and later; `schedtop completion bash` prints it.

_schedtop() {
	local kind value meaning
	COMPREPLY=()
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
	done < <(_SCHEDTOP_COMPLETE=bash SCHEDTOP_LINE=${COMP_LINE:0:COMP_POINT} SCHEDTOP_WORD=$2 "${1/#\~\//$HOME/}" 2>/dev/null)
}

complete -o nosort -F _schedtop schedtop
