#!/bin/bash
# Sets up what schedtop needs, and nothing that is there already: a second run does no network work.
#
#   setup.sh run               packages and the virtual environment to start the dashboard
#   setup.sh test              the same, plus what lint and tests need
#   setup.sh fuzz              what lint and tests need, and the fuzzer
#   setup.sh bench             the same, plus what the benchmark compares with, as far as it is available
#   setup.sh kernels           the same as run, plus what boots other kernels (Debian, Ubuntu)
#   setup.sh packages run|test|bench|kernels [DISTRIBUTION]   prints the command that would install all packages
#   setup.sh give-back         returns what root made in the checkout to the user behind sudo, if the checkout is theirs
#   setup.sh where             prints where the virtual environment is
#   setup.sh install|uninstall PREFIX           the program itself, independent of the checkout
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The distribution's own interpreter, whatever PATH says: bcc's Python binding is installed for that one only, and what needs
# bcc runs with it (schedtop/sources/kernel/bcc_child.py).
distribution_python=/usr/bin/python3
# Ours: that one, or where it is too old (Ubuntu 22.04) a newer one beside it.
python=$distribution_python
os_release=${OS_RELEASE:-/etc/os-release}
# Installed, but neither enabled nor started.
unit=schedtop-metrics.service
pip_options=(--quiet --disable-pip-version-check --no-input)
export PIP_ROOT_USER_ACTION=ignore

# Root's environment is no other user's to change: in a checkout of theirs it has no .venv, but a directory of its own.
is_roots() { [ -n "$(find "$@" -maxdepth 0 -user 0 ! -perm -002 2>/dev/null)" ]; }
venv=.venv
if [ "$(id -u)" -eq 0 ] && ! { is_roots . && { [ ! -e .venv ] || is_roots .venv; }; }; then
	venv=/var/lib/schedtop/$(pwd | sha256sum | cut -c1-12)
fi

say() { echo "schedtop set-up: $*" >&2; }
die() { say "$@"; exit 1; }

# --- packages ---------------------------------------------------------------------------------------------------

# What this machine lacks, by looking for the thing itself and not for the package it comes in.
missing_parts() {
	local part
	choose_python
	if [ ! -x "$distribution_python" ]; then
		echo python
	elif ! is_new_enough && [ -n "$(package "$(family "$(this_distribution)")" newer-python)" ]; then
		echo newer-python
	fi
	"$python" -Ic 'import ensurepip, venv' 2>/dev/null || echo venv
	"$distribution_python" -Ic 'from importlib.util import find_spec; exit(not find_spec("bcc").origin)' 2>/dev/null || echo bcc
	for part in $(tools "$1"); do
		# Fedora puts bpf- before the names of libbpf-tools.
		PATH=$PATH:/usr/sbin:/sbin command -v "$part" "bpf-$part" >/dev/null || echo "$part"
	done
}

# Commands; runqlat is the one of libbpf-tools.
tools() {
	[ "$1" != kernels ] || { echo hackbench qemu-system-x86_64 busybox depmod cpio mke2fs chrt && return; }
	[ "$1" = run ] || echo stress stress-ng hackbench perf strace bpftool bpftrace tmux clang clang-format prometheus systemd-nspawn umoci shellcheck
	[ "$1" != bench ] || echo runqlat cyclictest htop btop
}

all_parts() {
	echo python venv bcc
	tools "$1"
}

# The family of distributions, by its package manager.
family() {
	local id
	for id in $1; do
		case $id in
		ubuntu) echo ubuntu && return ;;
		debian) echo debian && return ;;
		fedora | rhel | centos) echo fedora && return ;;
		arch) echo arch && return ;;
		opensuse* | suse | sles) echo opensuse && return ;;
		esac
	done
	echo unknown
}

this_distribution() {
	[ -r "$os_release" ] || return 0
	# shellcheck source=/dev/null
	(. "$os_release" && echo "${ID:-} ${ID_LIKE:-}")
}

# The package that a part comes in; nothing where it is in one that is always there.
package() {
	case $1:$2 in
	arch:python) echo python ;;
	*:python) echo python3 ;;
	ubuntu:newer-python) echo python3.11 python3.11-venv ;;
	*:newer-python) ;;
	debian:venv | ubuntu:venv) echo python3-venv ;;
	*:venv) ;;
	debian:bcc | ubuntu:bcc) echo python3-bpfcc ;;
	arch:bcc) echo python-bcc ;;
	*:bcc) echo python3-bcc ;;
	fedora:hackbench | fedora:cyclictest) echo realtime-tests ;;
	*:hackbench | *:cyclictest) echo rt-tests ;;
	debian:perf) echo linux-perf ;;
	ubuntu:perf) echo linux-tools-common "linux-tools-$(uname -r)" ;;
	*:runqlat) echo libbpf-tools ;;
	debian:qemu-system-x86_64 | ubuntu:qemu-system-x86_64 | fedora:qemu-system-x86_64) echo qemu-system-x86 ;;
	*:qemu-system-x86_64) echo qemu ;;
	debian:busybox | ubuntu:busybox | opensuse:busybox) echo busybox-static ;;
	*:depmod) echo kmod ;;
	*:mke2fs) echo e2fsprogs ;;
	*:chrt) echo util-linux ;;
	fedora:prometheus) echo golang-github-prometheus ;;
	opensuse:prometheus) echo golang-github-prometheus-prometheus ;;
	arch:systemd-nspawn) ;;
	*:systemd-nspawn) echo systemd-container ;;
	ubuntu:bpftool) echo linux-tools-common "linux-tools-$(uname -r)" ;;
	arch:bpftool) echo bpf ;;
	fedora:shellcheck) echo ShellCheck ;;
	opensuse:shellcheck) echo ShellCheck ;;
	fedora:clang-format) echo clang-tools-extra ;;
	arch:clang-format | opensuse:clang-format) echo clang ;;
	*) echo "$2" ;;
	esac
}

# Prints: the command line, without the packages.
installer() {
	case $1 in
	debian | ubuntu) echo apt-get install -y --no-install-recommends ;;
	fedora) echo dnf install -y ;;
	arch) echo pacman -S --needed --noconfirm ;;
	opensuse) echo zypper --non-interactive install ;;
	esac
}

packages_of() {
	local part
	for part in $2; do package "$1" "$part"; done | xargs
}

install_packages() {
	local distribution=$1
	shift
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2046 # the words of a command
	$(installer "$distribution") "$@" >&2 && return
	case $distribution in
	debian | ubuntu) ;;
	*) return 1 ;;
	esac
	say "trying again with fresh package lists"
	apt-get update >&2 && $(installer "$distribution") "$@" >&2
}

# Without python, venv or bcc nothing works. Without a tool for the tests, only the tests that use it fail.
is_vital() {
	local part
	for part in $1; do
		case $part in python | newer-python | venv | bcc) return 0 ;; esac
	done
	return 1
}

ensure_packages() {
	local parts distribution packages part
	parts=$(missing_parts "$1" | xargs)
	[ -n "$parts" ] || return 0
	distribution=$(family "$(this_distribution)")
	if [ "$distribution" = unknown ]; then
		say "missing: $parts"
		say "this distribution is not one of Debian, Ubuntu, Fedora, Arch, openSUSE: install these yourself"
		say "(venv: the venv and ensurepip modules of $python; bcc: the Python binding of bcc for $distribution_python)"
		! is_vital "$parts" || exit 1
		return 0
	fi
	packages=$(packages_of "$distribution" "$parts")
	[ -n "$packages" ] || die "missing: $parts, and no known package of this distribution has it"
	if [ "$(id -u)" -ne 0 ]; then
		say "missing: $parts; installing needs root:"
		say "    sudo $(installer "$distribution") $packages"
		# Tests that need no kernel run without bcc.
		if [ "$1" != run ] && ! is_vital "${parts//bcc/}"; then return 0; fi
		is_vital "$parts" && exit 1
		return 0
	fi
	say "installing $packages"
	# shellcheck disable=SC2086 # a list of packages
	install_packages "$distribution" $packages || for part in $parts; do
		# shellcheck disable=SC2046 # the words of a list
		install_packages "$distribution" $(package "$distribution" "$part") || say "cannot install $part"
	done
	# Debian starts a server with the package; the tests only want the command.
	case " $parts " in
	*" prometheus "*) [ ! -d /run/systemd/system ] || systemctl disable --now --quiet prometheus 2>/dev/null || true ;;
	esac
	parts=$(missing_parts "$1" | xargs)
	[ -z "$parts" ] || say "still missing: $parts"
	! is_vital "$parts" || exit 1
}

# --- the virtual environment ------------------------------------------------------------------------------------

is_new_enough() { [ -x "$python" ] && "$python" -Ic 'import sys; sys.exit(sys.version_info < (3, 11))'; }

choose_python() {
	for python in "$distribution_python" /usr/bin/python3.1[1-9]; do
		! is_new_enough || return 0
	done
	python=$distribution_python
}

check_python() {
	choose_python
	is_new_enough || die "needs Python 3.11 or newer; $python is $("$python" -V 2>&1), and /usr/bin has no newer one"
}

interpreter() { "$python" -Ic 'import sys; print(sys.version, sys.prefix)'; }

make_venv() {
	mkdir -p "$(dirname "$1")" && "$python" -Im venv --system-site-packages --clear "$1" || die "cannot make the virtual environment $1"
}

# What is locked, with the hashes of its wheels, and nothing else (`make lock`); then the checkout itself, from the disk.
# Isolated: of the current directory and the caller's variables nothing is imported.
pip_install() {
	local python=$1 extras=$2
	shift 2
	"$python" -Im pip install "${pip_options[@]}" --require-hashes --only-binary :all: -r "scripts/requirements/$extras.txt" &&
		"$python" -Im pip install "${pip_options[@]}" --no-index --no-deps --no-build-isolation "$@"
}

ensure_venv() {
	local extras=$1 key
	key=$({ interpreter && pwd && cat pyproject.toml scripts/requirements/*.txt; } | sha256sum | cut -d' ' -f1)
	# What the fuzzer needs includes what tests need, and that what running needs.
	grep -qsx "$key fuzz" $venv/.schedtop && return
	[ "$extras" = fuzz ] || ! grep -qsx "$key test" $venv/.schedtop || return 0
	[ "$extras" != run ] || ! grep -qsx "$key run" $venv/.schedtop || return 0
	[ ! -e $venv ] || [ -w $venv ] || die "$venv belongs to $(stat -c %U $venv): run this with sudo, or remove it"
	if [ "$(cat $venv/.interpreter 2>/dev/null)" != "$(interpreter; pwd)" ]; then
		say "making $venv with $python"
		make_venv $venv
		{ interpreter && pwd; } >$venv/.interpreter
	fi
	say "installing schedtop's Python packages into $venv"
	pip_install $venv/bin/python "$extras" --editable . ||
		die "pip could not install the packages (see above); this step needs the network"
	$venv/bin/python -Im compileall -q schedtop tests >/dev/null || true
	echo "$key $extras" >$venv/.schedtop
	give_back
}

# Under sudo the checkout must stay usable for its user. One of root's stays root's: what is compiled there, root runs.
give_back() {
	[ "$(id -u)" -eq 0 ] && [ -n "${SUDO_UID:-}" ] && [ "$SUDO_UID" -ne 0 ] && [ "$(stat -c %u .)" = "$SUDO_UID" ] || return 0
	find . -path ./.git -prune -o -path ./.venv -prune -o \( -name __pycache__ -o -name '.*_cache' -o -name .hypothesis \
		-o -name bench.json -o -path ./screenshots -o -path ./dist -o -path ./build \) -prune -exec chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" {} +
}

# --- the installed program --------------------------------------------------------------------------------------

# Manual, completions and documents, as the wheel brought them into the environment: `make install` links them to where man
# and the shells look.
shared() { (cd "$1" && find share -name '*schedtop*' -prune) 2>/dev/null || true; }

is_ours() {
	[ -e "$1/lib/schedtop/.schedtop" ]
}

check_prefix() {
	case $1 in /*) ;; *) die "PREFIX must be an absolute path, not '$1'" ;; esac
}

# Makes a directory and what is above it, and prints each that was not there.
make_directory() {
	[ ! -d "$1" ] || return 0
	make_directory "$(dirname "$1")" && mkdir "$1" && echo "$1"
}

# Those of the lines, if they are empty; the last that was made first.
remove_directories() {
	local path
	tac <<<"$1" | while read -r path; do
		[ -z "$path" ] || rmdir "$path" 2>/dev/null || true
	done
}

install_program() {
	local prefix=${1%/} target=${1%/}/lib/schedtop command=${1%/}/bin/schedtop made path
	check_prefix "$1"
	# What uninstalling removes again, if it is empty then.
	made=$(cat "$target/.schedtop" 2>/dev/null || true)
	made+=$'\n'$({ make_directory "$prefix/lib" && make_directory "$prefix/bin"; } 2>/dev/null) &&
		[ -w "$prefix/lib" ] && [ -w "$prefix/bin" ] ||
		die "cannot write to $prefix: sudo make install, or PREFIX=... of your own"
	is_ours "$prefix" || [ ! -e "$target" ] || die "$target is there already and is not ours: not touched"
	if [ -e "$command" ] && [ "$(readlink "$command")" != "$target/bin/schedtop" ]; then
		die "$command is there already and is not ours: not touched"
	fi
	say "installing into $target"
	# What works already is kept until the new one does; what an interrupted run left there is not.
	[ -e "$target.old" ] || [ ! -e "$target" ] || mv "$target" "$target.old"
	rm -rf "$target"
	mkdir "$target"
	echo "$made" >"$target/.schedtop"
	# Without the system's packages: an upgrade of the distribution changes none of ours. bcc is found all the same.
	if ! "$python" -Im venv "$target" || ! pip_install "$target/bin/python" run .; then
		rm -rf "$target"
		if [ -e "$target.old" ]; then mv "$target.old" "$target"; else remove_directories "$made"; fi
		die "pip could not install the packages (see above); this step needs the network. Nothing was changed"
	fi
	rm -rf "$target.old"
	ln -sfn "$target/bin/schedtop" "$command"
	for path in $(shared "$target"); do
		make_directory "$(dirname "$prefix/$path")" >>"$target/.schedtop"
		if [ -e "$prefix/$path" ] && [ "$(readlink "$prefix/$path")" != "$target/$path" ]; then
			say "$prefix/$path is there already and is not ours: not touched"
		else
			ln -sfn "$target/$path" "$prefix/$path"
		fi
	done
	make_directory "$prefix/lib/systemd/system" >>"$target/.schedtop"
	sed "s|/usr/local/bin/|$prefix/bin/|" contrib/systemd/$unit >"$prefix/lib/systemd/system/$unit"
	say "installed: $command"
}

uninstall_program() {
	local prefix=${1%/} target=${1%/}/lib/schedtop command=${1%/}/bin/schedtop made path
	check_prefix "$1"
	is_ours "$prefix" || { say "nothing to remove: $target is not there, or not ours"; return; }
	[ -w "$prefix/lib" ] && [ -w "$prefix/bin" ] || die "cannot write to $prefix: sudo make uninstall"
	[ "$(readlink "$command")" != "$target/bin/schedtop" ] || rm "$command"
	for path in $(shared "$target") $(shared "$target.old"); do
		[ "$(readlink "$prefix/$path")" != "$target/$path" ] || rm "$prefix/$path"
	done
	if [ -e "$prefix/lib/systemd/system/$unit" ]; then
		[ ! -d /run/systemd/system ] || systemctl disable --now --quiet $unit 2>/dev/null || true
		rm "$prefix/lib/systemd/system/$unit"
	fi
	made=$(cat "$target/.schedtop")
	rm -rf "$target" "$target.old"
	remove_directories "$made"
	# What root's starts and the unit's compiled (schedtop/sources/kernel/cache_directory.py).
	[ "$(id -u)" != 0 ] || rm -rf /var/cache/schedtop /var/cache/schedtop-metrics /var/cache/private/schedtop-metrics
	say "removed: $command and $target"
}

# ----------------------------------------------------------------------------------------------------------------

case ${1:-} in
run | test | bench | kernels)
	ensure_packages "$1"
	check_python
	case $1 in run) ensure_venv run ;; *) ensure_venv test ;; esac
	;;
fuzz)
	ensure_packages run
	check_python
	ensure_venv fuzz
	;;
packages)
	distribution=$(family "${3:-$(this_distribution)}")
	[ "$distribution" != unknown ] || die "unknown distribution; needed: $(all_parts "$2" | xargs)"
	echo "$(installer "$distribution") $(packages_of "$distribution" "$(all_parts "$2")")"
	;;
give-back) give_back ;;
where) echo "$venv" ;;
install)
	ensure_packages run
	check_python
	install_program "$2"
	;;
uninstall) uninstall_program "$2" ;;
*) die "usage: setup.sh run|test|bench|kernels|fuzz|packages|give-back|where|install|uninstall" ;;
esac
