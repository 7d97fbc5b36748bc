#!/bin/sh
# Copies this tree to a prefix: ./install.sh [PREFIX]
# Default: /usr/local for root, else ~/.local. The tree also runs from where it is: bin/cadre.
set -eu
here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
prefix=${1:-}
if [ -z "$prefix" ]; then
    prefix=/usr/local
    [ "$(id -u)" = 0 ] || prefix=$HOME/.local
fi
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac

mkdir -p "$prefix/lib/cadre"
list=$prefix/lib/cadre/installed-files
(cd "$here" && find bin include lib share \( -type f -o -type l \) ! -name installed-files) | LC_ALL=C sort >"$list.new"
# File by file and by renaming: a running cadre keeps the files it has open.
while read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    cp -P "$here/$file" "$prefix/$file.new"
    mv "$prefix/$file.new" "$prefix/$file"
done <"$list.new"
mv "$list.new" "$list"

test "$("$prefix/bin/cadre" eval '(+ 1 2)')" = '=> 3' || { echo "install.sh: $prefix/bin/cadre does not work" >&2; exit 1; }
echo "installed: $prefix/bin/cadre"
case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "put it into PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "next: cadre doctor"
