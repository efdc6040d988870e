package harness

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Kubectl runs kubectl with the input on its stdin and returns its output; the
// test fails if kubectl does.
func (c *Cluster) Kubectl(t testing.TB, input string, arguments ...string) string {
	t.Helper()
	output, err := c.TryKubectl(input, arguments...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(arguments, " "), err)
	}
	return output
}

// TryKubectl is Kubectl for a command that can fail; the error contains kubectl's stderr.
func (c *Cluster) TryKubectl(input string, arguments ...string) (string, error) {
	command := exec.Command(LabBinary(), append([]string{"kubectl"}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	return run(command, input)
}

// run returns stdout, and as the error the text that a user would see.
func run(command *exec.Cmd, input string) (string, error) {
	var stdout, stderr bytes.Buffer
	command.Stdin = strings.NewReader(input)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), &commandError{err, strings.TrimSpace(stderr.String())}
	}
	return stdout.String(), nil
}

type commandError struct {
	cause  error
	stderr string
}

func (e *commandError) Error() string { return e.cause.Error() + ": " + e.stderr }
func (e *commandError) Unwrap() error { return e.cause }
