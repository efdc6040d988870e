package harness

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// musterNamespace is where muster runs and keeps its certificates.
	musterNamespace = "muster-system"
	// stopWithin is how long muster can take from SIGTERM to its end.
	stopWithin = 10 * time.Second
)

// Muster is one running `muster serve`.
type Muster struct {
	URL     string // of the webhooks, as the API server calls it
	Address string // host:port of the webhooks
	Health  string // http://host:port of the probes
	Metrics string // https://host:port of the metrics

	cluster        *Cluster
	binary         string // the program
	log            string // path
	command        *exec.Cmd
	ended          chan struct{}
	over           bool                         // stopped or killed by the test; nothing left to do at cleanup
	config         []string                     // the --config and --namespace that it was started with
	configurations []*unstructured.Unstructured // of its webhooks, once registered
}

// StartMuster runs muster as a user would have it: CRDs, the server, the
// webhook configurations; it returns when the API server really calls it. All
// of it is undone at the test's end, and a muster that does not end well fails
// the test.
func StartMuster(t testing.TB, flags ...string) *Muster {
	t.Helper()
	muster := LaunchMuster(t, flags...)
	muster.Register(t)
	return muster
}

// LaunchMuster starts the server and waits until it is ready, but registers no
// webhook. A --webhook-url, --kubeconfig or --metrics-bind-address among the flags replaces
// the harness's own.
func LaunchMuster(t testing.TB, flags ...string) *Muster {
	t.Helper()
	return LaunchMusterOf(t, MusterBinary(), flags...)
}

// LaunchMusterOf is LaunchMuster with another build of muster, whose CRDs it applies too.
func LaunchMusterOf(t testing.TB, binary string, flags ...string) *Muster {
	t.Helper()
	m := spawnMusterOf(t, binary, func() {}, flags...)
	Eventually(t, 30*time.Second, "muster's /readyz", func() error {
		if m.hasEnded() {
			t.Fatalf("muster ended at its start: %s", m.command.ProcessState)
		}
		return m.Ready()
	})
	return m
}

// SpawnMuster is LaunchMuster without a wait. `before` is called when all objects that muster needs exist,
// right before it starts.
func SpawnMuster(t testing.TB, before func(), flags ...string) *Muster {
	t.Helper()
	return spawnMusterOf(t, MusterBinary(), before, flags...)
}

func spawnMusterOf(t testing.TB, binary string, before func(), flags ...string) *Muster {
	t.Helper()
	cluster := Connect(t)
	cluster.EnsureMusterNamespace(t)
	address, health, metrics := cluster.webhookAddress(t), FreeAddress(t), flagValue(flags, "--metrics-bind-address")
	ownMetrics := metrics == ""
	if ownMetrics {
		metrics = FreeAddress(t)
	}
	m := &Muster{
		URL:     "https://" + address,
		Address: address,
		Health:  "http://" + health,
		Metrics: "https://" + metrics,
		cluster: cluster,
		binary:  binary,
	}
	arguments := []string{"serve",
		"--webhook-bind-address", address,
		"--health-probe-bind-address", health,
		"--log-format", "text",
	}
	if ownMetrics {
		arguments = append(arguments, "--metrics-bind-address", metrics)
	}
	if flagValue(flags, "--kubeconfig") == "" {
		arguments = append(arguments, "--kubeconfig", cluster.Kubeconfig)
	}
	if url := flagValue(flags, "--webhook-url"); url != "" {
		m.URL = url
	} else {
		arguments = append(arguments, "--webhook-url", m.URL)
	}
	cluster.applyCRDs(t, binary, m.URL)
	if config := flagValue(flags, "--config"); config != "" {
		m.config = []string{"--config", config}
	}
	if namespace := flagValue(flags, "--namespace"); namespace != "" {
		m.config = append(m.config, "--namespace", namespace)
	}
	before()
	m.start(t, append(arguments, flags...))
	return m
}

// AwaitHealthy waits until the probes are served, ready or not.
func (m *Muster) AwaitHealthy(t testing.TB) {
	t.Helper()
	client := http.Client{Timeout: time.Second}
	Eventually(t, 30*time.Second, "muster's /healthz", func() error {
		if m.hasEnded() {
			t.Fatalf("muster ended at its start: %s", m.command.ProcessState)
		}
		response, err := client.Get(m.Health + "/healthz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/healthz answers %s", response.Status)
		}
		return nil
	})
}

// start runs the process; its log is shown if the test fails.
func (m *Muster) start(t testing.TB, arguments []string) {
	t.Helper()
	m.log = filepath.Join(t.TempDir(), "muster.log")
	log, err := os.Create(m.log)
	if err != nil {
		t.Fatal(err)
	}
	m.spawn(t, log, arguments)
	t.Cleanup(func() {
		m.Stop(t)
		if text, err := os.ReadFile(m.log); err == nil && t.Failed() {
			t.Logf("muster %s wrote:\n%s", strings.Join(arguments, " "), lastLines(string(text), 60))
		}
	})
}

// spawn runs a process with that log, which it closes.
func (m *Muster) spawn(t testing.TB, log *os.File, arguments []string) {
	t.Helper()
	defer log.Close()
	command, ended := exec.Command(m.binary, arguments...), make(chan struct{})
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatalf("muster does not start: %v", err)
	}
	m.command, m.ended, m.over = command, ended, false
	go func() {
		_ = command.Wait()
		close(ended)
	}()
}

// Ready is nil if /readyz answers 200.
func (m *Muster) Ready() error {
	client := http.Client{Timeout: time.Second}
	response, err := client.Get(m.Health + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}

// Terminate sends SIGTERM and does not wait.
func (m *Muster) Terminate(t testing.TB) {
	t.Helper()
	if err := m.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM to muster: %v", err)
	}
}

// Stop ends muster and demands that it ends in time, with exit code 0.
func (m *Muster) Stop(t testing.TB) {
	t.Helper()
	if m.over {
		return
	}
	if m.hasEnded() && m.command.ProcessState.ExitCode() != 0 {
		m.over = true
		t.Errorf("muster ended by itself: %s", m.command.ProcessState)
		return
	}
	if !m.hasEnded() {
		m.Terminate(t)
	}
	m.WaitEnded(t)
}

// WaitEnded requires that muster, after the request to stop, ends in time and without an error.
func (m *Muster) WaitEnded(t testing.TB) {
	t.Helper()
	m.over = true
	select {
	case <-m.ended:
	case <-time.After(stopWithin):
		_ = m.command.Process.Kill()
		<-m.ended
		t.Errorf("muster did not end within %s after SIGTERM", stopWithin)
		return
	}
	if code := m.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("muster ended with %s", m.command.ProcessState)
	}
}

// Kill is SIGKILL: as if the node had lost power.
func (m *Muster) Kill(t testing.TB) {
	t.Helper()
	m.over = true
	if err := m.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("SIGKILL to muster: %v", err)
	}
	<-m.ended
}

// Leads is whether its log shows that it leads, and shows no later end of its leadership.
func (m *Muster) Leads(t testing.TB) bool {
	t.Helper()
	text, err := os.ReadFile(m.log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.LastIndex(string(text), "this replica leads") > strings.LastIndex(string(text), "this replica lost leadership")
}

// Log is its output so far.
func (m *Muster) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(m.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ResidentKiB is how much memory the process occupies.
func (m *Muster) ResidentKiB(t testing.TB) int { return m.memoryKiB(t, "VmRSS") }

// PeakKiB is the most that it ever occupied.
func (m *Muster) PeakKiB(t testing.TB) int { return m.memoryKiB(t, "VmHWM") }

func (m *Muster) memoryKiB(t testing.TB, field string) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if _, err := fmt.Sscanf(line, field+": %d kB", &kib); err == nil {
			return kib
		}
	}
	t.Fatalf("no %s in its status", field)
	return 0
}

// CPU is the CPU time of the process so far.
func (m *Muster) CPU(t testing.TB) time.Duration {
	t.Helper()
	return cpuOf(t, fmt.Sprintf("/proc/%d/stat", m.command.Process.Pid))
}

// EngineCPU is the CPU time of the engine's thread so far.
func (m *Muster) EngineCPU(t testing.TB) time.Duration {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", m.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		if name, _ := os.ReadFile(thread + "/comm"); strings.TrimSpace(string(name)) == "engine" {
			return cpuOf(t, thread+"/stat")
		}
	}
	t.Fatal("muster has no thread named engine")
	return 0
}

// cpuOf reads user and system time, in ticks of 10 ms, after the name in brackets.
func cpuOf(t testing.TB, path string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		t.Fatalf("%s is %q", path, text)
	}
	ticks := 0
	for _, field := range fields[11:13] {
		value := 0
		fmt.Sscan(field, &value)
		ticks += value
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func (m *Muster) hasEnded() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// Manifests runs `muster manifests` and returns what it prints.
func Manifests(t testing.TB, arguments ...string) string {
	t.Helper()
	return manifestsOf(t, MusterBinary(), arguments...)
}

func manifestsOf(t testing.TB, binary string, arguments ...string) string {
	t.Helper()
	text, err := run(exec.Command(binary, append([]string{"manifests"}, arguments...)...), "")
	if err != nil {
		t.Fatalf("muster manifests %s: %v", strings.Join(arguments, " "), err)
	}
	return text
}

// flagValue finds "--name value" or "--name=value".
func flagValue(flags []string, name string) string {
	for i, flag := range flags {
		if value, found := strings.CutPrefix(flag, name+"="); found {
			return value
		}
		if flag == name && i+1 < len(flags) {
			return flags[i+1]
		}
	}
	return ""
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
