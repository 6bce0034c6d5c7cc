#!/bin/bash
# Writes scripts/requirements/*.txt anew: every package that setup.sh installs, for every supported Python, with the hashes
# of its wheels. Needs uv (https://docs.astral.sh/uv) and the network; look at what has changed before you commit it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v uv >/dev/null || { echo "make lock: uv is missing, which pipx installs" >&2; exit 1; }

# The largest first: what the others have is then of the same version.
constraints=()
for name in fuzz test run; do
	case $name in
	fuzz) extras=(--extra build --extra dev --extra parquet --extra fuzz) ;;
	test) extras=(--extra build --extra dev --extra parquet) ;;
	run) extras=(--extra build) ;;
	esac
	file=scripts/requirements/$name.txt
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --only-binary :all: --generate-hashes --no-annotate \
		--no-header "${constraints[@]}" "${extras[@]}" pyproject.toml --output-file "$file"
	constraints=(--constraint scripts/requirements/fuzz.txt)
	sed -i "1i# Of setup.sh $name; \`make lock\` writes it." "$file"
done
