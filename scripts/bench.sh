#!/bin/sh
# Checks and times every kernel at every level, then measures a model; everything beside this machine's limits, which are
# measured in the same processes.
#
#   scripts/bench.sh [MODEL]    a path or a name; the sample where not given
#
# KERNELS=REGEXP times only those benchmarks of kernels/cpu (go test -bench), such as KERNELS=Matmul/avx512/Q4_K; "none": no kernels.
# TIME=1s is how long each is timed. Nothing else should run meanwhile.
set -eu
cd "$(dirname "$0")/.."
model=${1:-sample}
scripts/build.sh auto
bin/ingot show "$model" >/dev/null # a wrong name is said now
export GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false"

if [ "${KERNELS:-}" != none ]; then
	# Every kernel is compared with its plain meaning before its speed is worth anything.
	echo "ingot: checking the kernels, then timing them: some minutes" >&2
	go test -count 1 -run . ./kernels/cpu >&2
	line=
	if [ -t 2 ]; then line=1; fi
	go test -run xxx -bench "Limits|${KERNELS:-.}" -benchtime "${TIME:-100ms}" -timeout 2h ./kernels/cpu | awk -v line="$line" '
	# One benchmark a line: name, turns, then pairs of value and unit.
	/^Benchmark/ {
		name = $1
		sub(/^Benchmark/, "", name)
		sub(/-[0-9]+$/, "", name)
		split("", value)
		for (i = 3; i < NF; i += 2)
			value[$(i + 1)] = $i
		text = ""
		for (i = 3; i < NF; i += 2)
			if (!($(i + 1) == "ns/op" && $i == 0) && $(i + 1) != "%limit")
				text = text sprintf("%s%s %s", text == "" ? "" : ", ", short($i), $(i + 1))
		share = ("%limit" in value) ? sprintf("%.0f%%", value["%limit"]) : ""
		if (line) printf "\r\033[K%s", name > "/dev/stderr"
		n = split(name, part, "/")
		if (part[1] == "Matmul" && n >= 4) {
			# A table for each level and layout: types down, rows of activations across.
			table = part[2] (n == 5 ? ", " part[4] : "")
			if (!(table in seen)) { seen[table] = 1; tables[++ntables] = table }
			if (!((table, part[3]) in kinds)) { kinds[table, part[3]] = 1; list[table] = list[table] " " part[3] }
			if (!(part[n] in widths)) { widths[part[n]] = 1; counts[++ncounts] = part[n] }
			rate = part[n] > 16 ? short(value["GMAC/s"]) " GMAC/s" : short(value["GB/s"]) " GB/s"
			cell[table, part[3], part[n]] = rate (share == "" ? "" : " " share)
		} else
			others[++nothers] = "| " name " | " text " | " share " |"
	}
	/^(---|panic|FAIL|ok)/ { print > "/dev/stderr" }
	/^(panic|FAIL)/ { bad = 1 }
	function short(x) { return x >= 100 ? sprintf("%.0f", x) : sprintf("%.3g", x) }
	END {
		if (line) printf "\r\033[K" > "/dev/stderr"
		for (t = 1; t <= ntables; t++) {
			printf "\nProducts at %s, by type and rows of activations; the share is of the nearer limit:\n\n| type |", tables[t]
			for (c = 1; c <= ncounts; c++) printf " %s |", counts[c]
			printf "\n| --- |"
			for (c = 1; c <= ncounts; c++) printf " ---: |"
			printf "\n"
			k = split(list[tables[t]], type, " ")
			for (i = 1; i <= k; i++) {
				printf "| %s |", type[i]
				for (c = 1; c <= ncounts; c++) printf " %s |", cell[tables[t], type[i], counts[c]]
				printf "\n"
			}
		}
		print "\n| benchmark | result | of limit |\n| --- | --- | ---: |"
		for (i = 1; i <= nothers; i++) print others[i]
		print ""
		exit bad
	}'
fi
exec bin/ingot bench --limits --ops -m "$model"
