package harness

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Soak is whether tests run in their long form: test/soak/run sets MUSTER_SOAK.
func Soak() bool { return os.Getenv("MUSTER_SOAK") != "" }

// Size is how large a test is: small in ./check, full where test/soak runs it.
func Size[T any](small, full T) T {
	if Soak() {
		return full
	}
	return small
}

// Bound is a time limit: this long if test/soak runs it on a machine without other work, and at least four times as
// long in ./check.
func Bound(full time.Duration) time.Duration { return Size(max(4*full, UnderLoad(full)), full) }

// Figure prints a measured value; test/soak/run collects these lines.
func Figure(t testing.TB, format string, arguments ...any) {
	t.Helper()
	fmt.Printf("figure %s: %s\n", t.Name(), fmt.Sprintf(format, arguments...))
}
