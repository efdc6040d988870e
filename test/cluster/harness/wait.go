package harness

import (
	"testing"
	"time"
)

// Eventually polls until the condition gives no error, and fails the test with its last error when the time is
// over.
func Eventually(t testing.TB, within time.Duration, what string, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
