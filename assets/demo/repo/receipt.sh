#!/bin/sh
# receipt.sh LIST: prints the total of a shopping list in cents.

total=0
while read -r quantity price name; do
    [ -n "$name" ] || continue
    total=$((total + quantity * price))
done < "$1"

# From 50.00 on there are 10 % off.
if [ "$total" -gt 5000 ]; then
    total=$((total - total / 10))
fi

echo "$total"
