package cluster

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

// These tests start labs of their own: they are about `lab up` itself.

// startLab runs `lab up` until it is ready.
func startLab(t *testing.T) (lab *exec.Cmd, directory string, stderr *bytes.Buffer) {
	t.Helper()
	directory, stderr = t.TempDir(), &bytes.Buffer{}
	ready := filepath.Join(directory, "ready")
	lab = exec.Command(harness.LabBinary(), "up", "--die-with-parent", "--dir", directory, "--ready-file", ready)
	lab.Stderr = stderr
	must(t, lab.Start())
	t.Cleanup(func() { _ = lab.Process.Kill() }) // if the test failed half way
	harness.Eventually(t, time.Minute, "the lab is ready", func() error {
		_, err := os.Stat(ready)
		return err
	})
	return lab, directory, stderr
}

// processesIn lists the processes whose command line names the folder.
func processesIn(t *testing.T, directory string) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	found := map[int]string{}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(directory)) {
			continue // most likely it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(t, err)
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
	must(t, lab.Process.Signal(os.Interrupt))
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
	must(t, lab.Process.Kill())
	_ = lab.Wait()
	nothingRunsIn(t, directory)
}

func TestLabNamesTheComponentThatDied(t *testing.T) {
	lab, directory, stderr := startLab(t)
	for pid, line := range processesIn(t, directory) {
		if strings.Contains(line, " kube-scheduler ") {
			must(t, syscall.Kill(pid, syscall.SIGKILL))
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
