package harness

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// ownNetwork is set in the environment of a test program that has a network namespace for itself.
const ownNetwork = "MUSTER_TEST_OWN_NETWORK"

// InOwnNetwork runs a test in a separate network namespace, where its lab is too: what it does to the packet filter
// concerns no other program and is gone when it ends, however it ends. True in there; false where the test has just
// been run so and has nothing left to do. It needs root, as the kubelet does.
func InOwnNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ownNetwork) != "" {
		if output, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatalf("ip link set lo up: %v: %s", err, output)
		}
		return true
	}
	timeout := time.Hour
	if deadline, found := t.Deadline(); found {
		timeout = time.Until(deadline) - 5*time.Second
	}
	command := exec.Command(os.Args[0], "-test.v", "-test.timeout="+timeout.String(), "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), ownNetwork+"=yes")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	output, err := command.CombinedOutput()
	t.Logf("in a network namespace:\n%s", output)
	if err != nil {
		t.Errorf("in a network namespace: %v", err)
	}
	return false
}

// EnforceNetworkPolicies has an agent enforce the NetworkPolicies of the cluster for the pods of its real node, until
// the test ends. The test runs InOwnNetwork.
func (c *Cluster) EnforceNetworkPolicies(t *testing.T) {
	t.Helper()
	agent := exec.Command(filepath.Join(filepath.Dir(LabBinary()), "netpol"), c.Kubeconfig)
	var said bytes.Buffer
	agent.Stderr = &said
	agent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := agent.Start(); err != nil {
		t.Fatalf("%v (build it with test/cluster/build)", err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Signal(syscall.SIGTERM)
		if err := agent.Wait(); err != nil || t.Failed() {
			t.Errorf("the agent of NetworkPolicies: %v\n%s", err, said.String())
		}
	})
}
