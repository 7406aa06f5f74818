# SPDX-License-Identifier: MIT
# work.bash - a bit of everything that bash does; its output is the same every time
declare -A m
for ((i = 0; i < 300; i++)); do m[k$i]=$((i * i % 97)); done
sum=0; for k in "${!m[@]}"; do ((sum += ${m[$k]})); done; echo "sum $sum"
a=(one two three "four five"); echo "${#a[@]} ${a[3]} ${a[*]/o/0}"
s=$(printf '%s-' $(seq 1 20)); echo "${s//-/+}" ${s: -7:3} ${s^^}
f() { local x=$1; ((x < 2)) && { echo $x; return; }; echo $(($(f $((x - 1))) + $(f $((x - 2))))); }; f 6
(cd /; exit 3); echo "rc $?"
while read -r l; do [[ $l =~ ^([a-z]+)=([0-9]+)$ ]] && echo "${BASH_REMATCH[2]} ${BASH_REMATCH[1]}"; done < <(printf 'ab=1\nzz=99\nno\n')
trap 'echo usr1' USR1; kill -USR1 $$; cat <<X | tr a-z A-Z | sort -r
here document $sum
second
X
case abc in a?c) echo case;; esac; printf '%05d %x %.3f %q\n' 42 255 3.14159 "a b"; type -t f; shopt -q extglob; echo ${PIPESTATUS[@]}
exec 3<<<"fd three"; read -u 3 z; echo "$z"; wait; echo {1..5} {a..e}; set -- x y z; shift; echo "$*"; let "q = 2 ** 10"; echo $q
