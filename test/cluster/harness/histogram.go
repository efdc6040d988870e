package harness

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Histogram is a Prometheus histogram: the number of observations for each upper bound in seconds.
type Histogram map[float64]float64

// HistogramIn adds up all series of that histogram in a text of metrics that bear all of
// these labels, each written as in the text (`path="/mutate"`).
func HistogramIn(metrics, family string, labels ...string) Histogram {
	sum := Histogram{}
	lines := bufio.NewScanner(strings.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, value, found := strings.Cut(lines.Text(), "} ")
		if !found || !strings.HasPrefix(series, family+"_bucket{") {
			continue
		}
		if slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(series, label) }) {
			continue
		}
		_, bound, _ := strings.Cut(series, `le="`)
		bound, _, _ = strings.Cut(bound, `"`)
		limit, err := strconv.ParseFloat(bound, 64) // "+Inf" too
		count, err2 := strconv.ParseFloat(strings.Fields(value)[0], 64)
		if err == nil && err2 == nil {
			sum[limit] += count
		}
	}
	return sum
}

// Since is the difference to `before`.
func (h Histogram) Since(before Histogram) Histogram {
	difference := Histogram{}
	for limit, count := range h {
		difference[limit] = count - before[limit]
	}
	return difference
}

// Count is the number of observations.
func (h Histogram) Count() int { return int(h[math.Inf(1)]) }

// Above is how many observations were above a limit that is a bound of the histogram.
func (h Histogram) Above(limit time.Duration) (int, error) {
	below, found := h[limit.Seconds()]
	if !found {
		return 0, fmt.Errorf("the histogram has no bound of %s", limit)
	}
	return h.Count() - int(below), nil
}

// Percentile is where Prometheus would put it: within a bucket, in a straight line.
func (h Histogram) Percentile(percent float64) time.Duration {
	var limits []float64
	for limit := range h {
		limits = append(limits, limit)
	}
	slices.Sort(limits)
	rank, lower, before := percent/100*h[math.Inf(1)], 0.0, 0.0
	for _, limit := range limits {
		if h[limit] >= rank && h[limit] > before {
			if math.IsInf(limit, 1) {
				break
			}
			return time.Duration((lower + (limit-lower)*(rank-before)/(h[limit]-before)) * float64(time.Second))
		}
		lower, before = limit, h[limit]
	}
	return time.Duration(lower * float64(time.Second))
}
