package harness

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Eventually polls until the condition gives no error, and fails the test with its last error when the time is
// over. The time is longer on a busy machine (UnderLoad).
func Eventually(t testing.TB, within time.Duration, what string, condition func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := condition()
		if err == nil {
			return
		}
		if took := time.Since(began); took > within && took > UnderLoad(within) {
			t.Fatalf("%s: not within %s: %v", what, took.Round(time.Millisecond), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// UnderLoad is a limit of time on a machine that has other work too. It grows with the number of tasks for each core
// (load average of the last minute), up to eightfold.
func UnderLoad(limit time.Duration) time.Duration {
	var tasks float64
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return limit
	}
	if _, err := fmt.Sscan(string(text), &tasks); err != nil {
		return limit
	}
	forEachCore := tasks / float64(runtime.NumCPU())
	return time.Duration(float64(limit) * min(max(forEachCore, 1), 8))
}

// Fewer is a number of clients, or of requests each second, on a machine that has other work too: smaller by the factor
// by which UnderLoad is longer.
func Fewer(number int) int {
	return max(1, int(time.Duration(number)*time.Second/UnderLoad(time.Second)))
}
