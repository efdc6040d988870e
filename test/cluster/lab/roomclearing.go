package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// criNamespace is where containerd keeps what the kubelet asks for. Its
	// containers' control groups are below a folder of the same name.
	criNamespace = "k8s.io"
	// Places that containerd, CNI and the kubelet use whatever one configures.
	shimSockets   = "/run/containerd/s"
	cniResults    = "/var/lib/cni/results"
	podLogsLinks  = "/var/log/containers"
	devicePlugins = "/var/lib/kubelet/device-plugins"
)

// clear takes away everything that a node in this room has left on the machine:
// after a regular end a few links, after a SIGKILL running containers as well.
// What cannot be removed is named and does not stop the rest.
func (r *nodeRoom) clear() {
	containers := r.containers()
	groups := controlGroups(containers)
	r.kill(containers)
	r.unmount()
	if _, err := os.Stat(filepath.Join("/sys/class/net", r.bridge())); err == nil {
		if err := runQuietly("ip", "link", "delete", r.bridge()); err != nil {
			say("%v", err)
		}
	}
	for _, group := range groups {
		_ = syscall.Rmdir(group)
	}
	r.removeFromSharedPlaces(containers)
	restoreKernelSettings(r)
	if err := os.RemoveAll(r.directory); err != nil {
		say("could not remove %s: %v", r.directory, err)
	}
}

// containers lists the ids of the containers that containerd had running.
func (r *nodeRoom) containers() []string {
	entries, _ := os.ReadDir(r.tasks())
	var ids []string
	for _, entry := range entries {
		ids = append(ids, entry.Name())
	}
	return ids
}

func (r *nodeRoom) tasks() string {
	return r.path("state", "io.containerd.runtime.v2.task", criNamespace)
}

// kill ends the runtime first, so that it reports and restarts nothing, then what
// runs in the containers. A container can be half made: its processes are
// found by their control group, which they join before all else.
func (r *nodeRoom) kill(containers []string) {
	for _, pid := range r.runtimeProcesses() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	groups := controlGroups(containers)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left := r.runtimeProcesses()
		for _, group := range groups {
			for _, pid := range processesOf(group) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	say("some processes of %s do not end", r.directory)
}

// runtimeProcesses are those of containerd, its shims and runc in this room.
func (r *nodeRoom) runtimeProcesses() []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		program, _, _ := bytes.Cut(line, []byte{0})
		name := filepath.Base(string(program))
		if err != nil || !bytes.Contains(line, []byte(r.directory+"/")) ||
			name != "runc" && !strings.HasPrefix(name, "containerd") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// controlGroups are the folders of the containers' groups in every hierarchy, of
// version 1 or 2.
func controlGroups(containers []string) []string {
	var groups []string
	for _, id := range containers {
		for _, pattern := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
			found, _ := filepath.Glob(filepath.Join(pattern, criNamespace, id))
			groups = append(groups, found...)
		}
	}
	return groups
}

func processesOf(group string) []int {
	text, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	var pids []int
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// unmount undoes every mount below the folder, the latest first.
func (r *nodeRoom) unmount() {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		say("%v", err)
		return
	}
	defer file.Close()
	var points []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && strings.HasPrefix(fields[4], r.directory+"/") {
			points = append(points, fields[4])
		}
	}
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			say("unmounting %s: %v", point, err)
		}
	}
}

// removeFromSharedPlaces removes this room's files from the folders that others
// can use as well, and those folders that are empty then.
func (r *nodeRoom) removeFromSharedPlaces(containers []string) {
	for _, id := range containers {
		socket := sha256.Sum256([]byte(filepath.Join(r.socket(), criNamespace, id)))
		_ = os.Remove(filepath.Join(shimSockets, fmt.Sprintf("%x", socket)))
		_ = os.Remove(filepath.Join(cniResults, "cni-loopback-"+id+"-lo"))
	}
	results, _ := filepath.Glob(filepath.Join(cniResults, r.network()+"-*"))
	for _, result := range results {
		_ = os.Remove(result)
	}
	links, _ := filepath.Glob(filepath.Join(podLogsLinks, "*.log"))
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, r.directory+"/") {
			_ = os.Remove(link)
		}
	}
	emptied, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", criNamespace))
	emptied = append(emptied, filepath.Join("/sys/fs/cgroup", criNamespace),
		shimSockets, filepath.Dir(shimSockets), cniResults, filepath.Dir(cniResults), podLogsLinks,
		devicePlugins, filepath.Dir(devicePlugins))
	// Each kubelet replaces the one before here; no test needs device plugins.
	_ = os.Remove(filepath.Join(devicePlugins, "kubelet.sock"))
	for _, directory := range emptied {
		_ = syscall.Rmdir(directory)
	}
}

// runQuietly runs a program; its output is part of the error.
func runQuietly(name string, arguments ...string) error {
	output, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, bytes.TrimSpace(output))
	}
	return nil
}
