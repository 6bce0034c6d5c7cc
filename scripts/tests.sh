#!/bin/sh
# All tests, or those that the arguments choose. Of a test with a short and a long version (marked `stress`) the short one
# runs; after the word `stress` only the long ones do. First those that share the machine well, four at a time; then those
# that measure the real kernel or their own process, with nothing beside them. One that fails gets a second chance, of the latter
# a third one, and is named then: a host can take the CPUs away for seconds, and a measurement is lost with them.
# Property tests have no time to keep to, which a busy host would break, and the same examples each time (profile ci).
# 5 is pytest's word for "nothing to do".
python=$1
shift
length="not stress"
if [ "${1:-}" = stress ]; then
	length=stress
	shift
fi
status=5
# The second part then finds the tests compiled.
unset PYTHONDONTWRITEBYTECODE
# Kernel programs are compiled once for both.
SCHEDTOP_CACHE=$(mktemp -d)
export SCHEDTOP_CACHE
trap 'rm -rf "$SCHEDTOP_CACHE"' EXIT
"$python" -m pytest -n 4 --dist worksteal --hypothesis-profile ci --reruns 1 -m "(not root or beside) and not alone and $length" -rRs "$@" || first=$?
# Only what may have such tests is looked at, unless a path is given.
quiet="tests/root $(grep -rl --include='*.py' 'pytest.mark.alone' tests/unit)"
for argument in "$@"; do
	case $argument in tests*) quiet= ;; esac
done
# shellcheck disable=SC2086
"$python" -m pytest -m "(root and not beside or alone) and $length" --reruns 2 --reruns-delay 5 -rRs --durations=40 $quiet "$@" || second=$?
for part in "${first:-0}" "${second:-0}"; do
	if [ "$part" != 5 ] && { [ "$status" = 5 ] || [ "$status" = 0 ]; }; then
		status=$part
	fi
done
exit "$status"
