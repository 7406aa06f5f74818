# SPDX-License-Identifier: MIT
#
# apt.sh - Debian packages without installing them: for scripts that set $dir and $me (their name in messages)
#
# The machine's own apt sources are copied into a private configuration in $dir/.apt, so no mirror is named here, nothing in
# /etc or /var changes and root is not needed. $apt_type is deb or deb-src; $apt_options goes to every call.

# apt with a configuration of its own. "$@": which apt, and what it is to do.
private_apt() {
	apt=$1
	shift
	# shellcheck disable=SC2086
	timeout "${APT_LIMIT:-600}" "$apt" -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/.apt/sources" \
		-o Dir::State::Lists="$dir/.apt/lists" -o Dir::Cache="$dir/.apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=2 -o Debug::NoLocking=true ${apt_options:-} "$@"
}

# One-line files begin their lines by the type, deb822 files have Types. Restrictions to this machine's architecture go.
make_apt_sources() {
	rm -rf "$dir/.apt/sources"
	mkdir -p "$dir/.apt/sources" "$dir/.apt/lists/partial" "$dir/.apt/cache/archives/partial"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ -r "$f" ] || continue
		case $f in
		*.list) sed -n "s/^[[:space:]]*deb[[:space:]]/$apt_type /p" "$f" | sed 's/arch=[^] ]*//; s/\[ *\]//' ;;
		*.sources) sed "s/^Types:.*/Types: $apt_type/; /^Architectures:/d" "$f" ;;
		esac >"$dir/.apt/sources/$(basename "$f")"
	done
	[ -n "$(cat "$dir/.apt/sources"/* 2>/dev/null)" ]
}

update_once() {
	[ -e "$dir/.apt/updated" ] && return 0
	command -v apt-get >/dev/null 2>&1 || { echo "$me: no apt-get on this machine" >&2; return 77; }
	make_apt_sources || { echo "$me: no apt sources on this machine" >&2; return 77; }
	# A part of the sources being out of reach does not matter if the package is in another part.
	private_apt apt-get update >"$dir/.apt/log" 2>&1 || cat "$dir/.apt/log" >&2
	touch "$dir/.apt/updated"
}

# download WHAT COMMAND...: leaves what apt-get fetches by it in $dir/.apt/dl; 77 if that cannot be had.
download() {
	what=$1
	shift
	update_once || return
	rm -rf "$dir/.apt/dl"
	mkdir -p "$dir/.apt/dl"
	(cd "$dir/.apt/dl" && private_apt apt-get "$@" >../log 2>&1) && return
	tail -n 5 "$dir/.apt/log" >&2
	rm -f "$dir/.apt/updated"
	echo "$me: cannot fetch $what" >&2
	return 77
}
