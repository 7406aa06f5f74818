# SPDX-License-Identifier: MIT
# uft.bash - completion for uft; commands and options are asked from the program's own tables
# shellcheck shell=bash

# The rows of `uft --list-options COMMAND`: name, letter, argument, choices; tabs between.
_uft_options() {
	"$1" --list-options "$2" 2>/dev/null
}

# Prints what may follow option $3 of command $2: "-" when it takes no value, else the argument's name and choices.
_uft_value() {
	local name letter arg choices
	while IFS=$'\x1f' read -r name letter arg choices; do
		if [[ $3 == "$name" || ( -n $letter && $3 == "$letter" ) ]]; then
			echo "${arg:--} $choices"
			return
		fi
	done < <(_uft_options "$1" "$2" | tr '\t' '\037')
	echo -
}

_uft_complete_value() {
	local word=$1 arg=$2
	shift 2
	case $# in
	0) ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$*" -- "$word"); return ;;
	esac
	case $arg in
	FILE|PROG*|RECORDING) compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	EVENT) COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}	# SYSTEM:EVENT is one word
		mapfile -t COMPREPLY < <(compgen -W "all $("${COMP_WORDS[0]}" list -e 2>/dev/null | tr '\n' ' ')" -- "$word") ;;
	NAME) mapfile -t COMPREPLY < <(compgen -W "$(ps -eo comm= 2>/dev/null)" -- "$word") ;;
	PATH) compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$word"; cd /sys/fs/cgroup 2>/dev/null && compgen -d -- "$word") ;;
	PID|LIST) mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$word") ;;
	esac
}

# The first word of the program that `uft record` is to run is at index $1; from there the program's own completion.
_uft_program_index() {
	local i value
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) echo $((i + 1)); return ;;
		--*=*) ;;
		-*) value=$(_uft_value "${COMP_WORDS[0]}" record "${COMP_WORDS[i]}")
			[[ $value == -* ]] || i=$((i + 1)) ;;
		*) echo "$i"; return ;;
		esac
	done
	echo 0
}

_uft() {
	local uft=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]:-} value index
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$("$uft" --list-commands 2>/dev/null) help --version" -- "$word")
		return
	fi
	if [[ $command == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("$uft" --list-commands 2>/dev/null)" -- "$word")
		return
	fi
	if [[ $command == record ]]; then
		index=$(_uft_program_index)
		if ((index > 0 && index <= COMP_CWORD)); then
			if ((index < COMP_CWORD)) && declare -F _command_offset >/dev/null; then
				_command_offset "$index"
			else
				compopt -o filenames 2>/dev/null
				mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
			fi
			return
		fi
	fi
	# bash splits --option=value at the =.
	if [[ $word == = ]]; then
		word=
		value=$(_uft_value "$uft" "$command" "${COMP_WORDS[COMP_CWORD - 1]}")
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
		value=$(_uft_value "$uft" "$command" "${COMP_WORDS[COMP_CWORD - 2]}")
	else
		value=$(_uft_value "$uft" "$command" "${COMP_WORDS[COMP_CWORD - 1]}")
	fi
	if [[ $value != -* ]]; then
		# shellcheck disable=SC2086
		_uft_complete_value "$word" $value
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_uft_options "$uft" "$command" | cut -f1,2)" -- "$word")
	elif [[ $command == detach ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid=,comm= 2>/dev/null)" -- "$word")
	elif [[ $command == record ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
	elif [[ $command == attach ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid=,comm= 2>/dev/null)" -- "$word")
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -F _uft uft
