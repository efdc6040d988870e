package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
)

// CrashAPIServer makes the lab kill its API server and start it again on the same data. It returns when the API
// server is ready, with the length of the interruption. All earlier watches are broken then, and the other
// components connect again in the next seconds.
func (c *Cluster) CrashAPIServer(t testing.TB) (away time.Duration) {
	t.Helper()
	began := time.Now()
	c.KillAPIServer(t)
	c.AwaitAPIServer(t)
	return time.Since(began)
}

// KillAPIServer is the first half: it returns when the API server is away.
func (c *Cluster) KillAPIServer(t testing.TB) {
	t.Helper()
	lab := c.lab(t).PID
	if err := syscall.Kill(lab, syscall.SIGUSR1); err != nil {
		t.Fatalf("SIGUSR1 to the lab, process %d: %v", lab, err)
	}
	Eventually(t, 10*time.Second, "the API server is away", func() error {
		if c.ready(t) == nil {
			return errors.New("it is ready")
		}
		return nil
	})
}

// AwaitAPIServer is the second half.
func (c *Cluster) AwaitAPIServer(t testing.TB) {
	t.Helper()
	Eventually(t, 90*time.Second, "the API server is back", func() error { return c.ready(t) })
}

// SuspendAPIServer stops the API server's process until `resume`: it accepts connections, and does not answer.
// Use it for a few seconds only, since other tests need the API server too.
func (c *Cluster) SuspendAPIServer(t testing.TB) (resume func()) {
	t.Helper()
	return c.suspendProcess(t, "kube-apiserver", func() {
		Eventually(t, 90*time.Second, "the API server answers again", func() error { return c.ready(t) })
	})
}

// SuspendControllers stops the process of the controllers of Kubernetes until `resume`: for a few seconds only.
func (c *Cluster) SuspendControllers(t testing.TB) (resume func()) {
	t.Helper()
	return c.suspendProcess(t, "kube-controller-manager", func() {})
}

func (c *Cluster) suspendProcess(t testing.TB, component string, await func()) (resume func()) {
	t.Helper()
	pid := processOf(t, c.lab(t).PID, component)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("SIGSTOP to %s, process %d: %v", component, pid, err)
	}
	resume = sync.OnceFunc(func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Errorf("SIGCONT to %s, process %d: %v", component, pid, err)
			return
		}
		await()
	})
	t.Cleanup(resume)
	return resume
}

// processOf is the child of a process whose first argument is that.
func processOf(t testing.TB, parent int, argument string) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		stat, _ := os.ReadFile(process + "/stat")
		arguments, _ := os.ReadFile(process + "/cmdline")
		_, after, _ := strings.Cut(string(stat), ") ")
		var state string
		var ppid, pid int
		if _, err := fmt.Sscan(after, &state, &ppid); err != nil || ppid != parent {
			continue
		}
		words := strings.Split(string(arguments), "\x00")
		if len(words) > 1 && words[1] == argument {
			if _, err := fmt.Sscan(filepath.Base(process), &pid); err == nil {
				return pid
			}
		}
	}
	t.Fatalf("process %d has no child %q", parent, argument)
	return 0
}

// labNote is the lab's description of itself in its kubeconfigs: the process that supervises the cluster, and
// the folder of its certificates.
type labNote struct {
	PID          int
	Certificates string
}

func (c *Cluster) lab(t testing.TB) (lab labNote) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		if note, found := cluster.Extensions["lab"].(*runtime.Unknown); found {
			err = errors.Join(err, json.Unmarshal(note.Raw, &lab))
		}
	}
	if err != nil || lab.PID <= 0 {
		t.Fatalf("%s names no lab (%v)", c.Kubeconfig, err)
	}
	return lab
}

// ready is nil if the API server reports that it is ready.
func (c *Cluster) ready(t testing.TB) error {
	answer, err := c.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(2 * time.Second).DoRaw(Context(t))
	if err != nil {
		return fmt.Errorf("%w: %s", err, answer)
	}
	return nil
}
