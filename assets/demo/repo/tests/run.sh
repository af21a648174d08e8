#!/bin/sh
# Compares the total of every list in this folder with the number in its .total file.

cd "$(dirname "$0")" || exit 1
failed=0
for list in *.txt; do
    want=$(cat "${list%.txt}.total")
    got=$(sh ../receipt.sh "$list")
    if [ "$got" = "$want" ]; then
        echo "ok    $list: $got"
    else
        echo "FAIL  $list: got $got, want $want"
        failed=1
    fi
done
exit $failed
