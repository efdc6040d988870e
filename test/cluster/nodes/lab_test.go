package nodes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// These tests start their own labs: they are about `lab up` itself.

// startLab runs `lab up` until it is ready.
func startLab(t *testing.T, flags ...string) (lab *exec.Cmd, directory string, stderr *bytes.Buffer) {
	t.Helper()
	directory, stderr = t.TempDir(), &bytes.Buffer{}
	ready := filepath.Join(directory, "ready")
	flags = append([]string{"up", "--die-with-parent", "--dir", directory, "--ready-file", ready}, flags...)
	lab = exec.Command(harness.LabBinary(), flags...)
	lab.Stderr = stderr
	harness.Must(t, lab.Start())
	t.Cleanup(func() { _ = lab.Process.Kill() }) // if the test failed half way
	if _, err := harness.AwaitLab(lab, ready, time.Minute); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	return lab, directory, stderr
}

// processesIn lists the processes whose command line names the folder.
func processesIn(t *testing.T, directory string) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	harness.Must(t, err)
	found := map[int]string{}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(directory)) {
			continue // most likely it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		harness.Must(t, err)
		found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	return found
}

func nothingRunsIn(t *testing.T, directory string) {
	t.Helper()
	harness.Eventually(t, 5*time.Second, "every process of the lab is gone", func() error {
		if left := processesIn(t, directory); len(left) > 0 {
			return fmt.Errorf("there are %v", left)
		}
		return nil
	})
}

func TestInterruptedLabLeavesNothingRunning(t *testing.T) {
	lab, directory, _ := startLab(t)
	if running := len(processesIn(t, directory)); running != 5 {
		t.Errorf("%d processes, expected the supervisor and four components", running)
	}
	harness.Must(t, lab.Process.Signal(os.Interrupt))
	if err := lab.Wait(); err != nil {
		t.Errorf("lab up: %v", err)
	}
	nothingRunsIn(t, directory)
	if _, err := os.Stat(filepath.Join(directory, "ready")); err == nil {
		t.Error("the ready file is still there")
	}
}

func TestKilledLabLeavesNothingRunning(t *testing.T) {
	lab, directory, _ := startLab(t)
	harness.Must(t, lab.Process.Kill())
	_ = lab.Wait()
	nothingRunsIn(t, directory)
}

func TestLabWithARealNodeClearsItAwayAtItsEnd(t *testing.T) {
	lab, directory, _ := startLab(t, "--kubelet")
	room := roomOf(t, directory)
	runPod(t, directory)
	harness.Must(t, lab.Process.Signal(os.Interrupt))
	if err := lab.Wait(); err != nil {
		t.Errorf("lab up: %v", err)
	}
	nothingRunsIn(t, directory)
	if left := leftInRoom(t, room); len(left) > 0 {
		t.Errorf("there are still:\n%s", strings.Join(left, "\n"))
	}
}

func TestNodeOfAKilledLabIsClearedAwayByTheNext(t *testing.T) {
	lab, directory, _ := startLab(t, "--kubelet")
	room := roomOf(t, directory)
	runPod(t, directory)
	harness.Must(t, lab.Process.Kill())
	_ = lab.Wait()
	nothingRunsIn(t, directory)
	if left := strings.Join(leftInRoom(t, room), "\n"); !strings.Contains(left, "containerd-shim") {
		t.Fatalf("a killed lab leaves its pods running, which this test is about; there are only:\n%s", left)
	}

	next, _, stderr := startLab(t, "--kubelet")
	harness.Must(t, next.Process.Signal(os.Interrupt))
	if err := next.Wait(); err != nil {
		t.Errorf("the next lab: %v", err)
	}
	if !strings.Contains(stderr.String(), "clearing "+room) {
		t.Errorf("the next lab said:\n%s", stderr)
	}
	if left := leftInRoom(t, room); len(left) > 0 {
		t.Errorf("there are still:\n%s", strings.Join(left, "\n"))
	}
}

func TestLabNamesTheMissingPackage(t *testing.T) {
	lab := exec.Command(harness.LabBinary(), "up", "--dir", t.TempDir(), "--kubelet")
	lab.Env = []string{"PATH=/nonexistent"}
	output, err := lab.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "containerd is missing: install Debian's package containerd") {
		t.Errorf("lab up (%v) said:\n%s", err, output)
	}
}

// roomOf is the folder of a lab's real node, from its kubelet's command line.
func roomOf(t *testing.T, directory string) string {
	t.Helper()
	for _, line := range processesIn(t, directory) {
		for _, argument := range strings.Fields(line) {
			if root, found := strings.CutPrefix(argument, "--root-dir="); found {
				return filepath.Dir(root)
			}
		}
	}
	t.Fatal("no kubelet runs")
	return ""
}

// runPod runs a pod, which goes on, on a lab's real node.
func runPod(t *testing.T, directory string) {
	t.Helper()
	kubectl := func(arguments ...string) {
		command := exec.Command(harness.LabBinary(), append([]string{"kubectl"}, arguments...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(directory, "kubeconfig"))
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %v: %v: %s", arguments, err, output)
		}
	}
	kubectl("run", "pod", "--image", harness.BusyboxImage, "--image-pull-policy", "IfNotPresent", "--", "sleep", "1000")
	kubectl("wait", "--for=condition=Ready", "--timeout=60s", "pod/pod")
}

// leftInRoom lists what a real node has left on the machine.
func leftInRoom(t *testing.T, room string) []string {
	t.Helper()
	var left []string
	for _, line := range processesIn(t, room+"/") {
		left = append(left, line)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	harness.Must(t, err)
	for mount := range strings.Lines(string(mounts)) {
		if strings.Contains(mount, room+"/") {
			left = append(left, mount)
		}
	}
	for _, path := range []string{room, room + ".lock", "/sys/class/net/mlab" + filepath.Base(room)} {
		if _, err := os.Stat(path); err == nil {
			left = append(left, path)
		}
	}
	links, err := filepath.Glob("/var/log/containers/*")
	harness.Must(t, err)
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.HasPrefix(target, room+"/") {
			left = append(left, link)
		}
	}
	return left
}

func TestLabNamesTheComponentThatDied(t *testing.T) {
	lab, directory, stderr := startLab(t)
	for pid, line := range processesIn(t, directory) {
		if strings.Contains(line, " kube-scheduler ") {
			harness.Must(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	if _ = lab.Wait(); lab.ProcessState.ExitCode() != 1 {
		t.Errorf("lab up ended with %s", lab.ProcessState)
	}
	if !strings.Contains(stderr.String(), "kube-scheduler died (signal: killed)") {
		t.Errorf("lab up said:\n%s", stderr)
	}
	nothingRunsIn(t, directory)
}
