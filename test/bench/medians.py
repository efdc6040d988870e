"""Prints Google Benchmark's JSON (standard input) as a table: the median of CPU time, and how far apart the runs are."""

import json
import sys

# Benchmarks of one program have different counters, so that CSV, with one set of columns, cannot hold them.
times = {}
for run in json.load(sys.stdin)["benchmarks"]:
    times.setdefault(run["run_name"], {})[run["aggregate_name"]] = run

print("| benchmark | CPU, median | for each item | spread |\n|---|---|---|---|")
for name, runs in times.items():
    median, deviation = runs["median"], runs["stddev"]
    rate = median.get("items_per_second", 0)
    item = f"{1e6 / rate:.3g} µs" if rate else ""
    spread = 100 * deviation["cpu_time"] / median["cpu_time"]
    print(f"| {name} | {median['cpu_time']:.4g} {median['time_unit']} | {item} | {spread:.0f} % |")
