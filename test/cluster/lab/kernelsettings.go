package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelSettings are those that a kubelet sets for the whole machine, and inotifyInstances.
var kernelSettings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", inotifyInstances,
}

// inotifyInstances is the limit for each user. A lab needs some 20, and the kernel allows 128 by default: of seven labs at
// a time one had a containerd without CRI.
const (
	inotifyInstances       = "fs/inotify/max_user_instances"
	enoughInotifyInstances = 1024
)

// raiseInotifyLimit comes before containerd, and after recordKernelSettings.
func raiseInotifyLimit() {
	file := filepath.Join("/proc/sys", inotifyInstances)
	text, err := os.ReadFile(file)
	if err == nil {
		var limit int
		limit, err = strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil && limit < enoughInotifyInstances {
			err = os.WriteFile(file, []byte(strconv.Itoa(enoughInotifyInstances)), 0o600)
		}
	}
	if err != nil {
		say("the limit of inotify instances stays as it is, which is enough for a few labs: %v", err)
	}
}

const kernelSettingsFile = "kernel-settings.json"

// recordKernelSettings writes to a file of the room how the machine was before the
// kubelet, which a lab that runs already knows better.
func recordKernelSettings(room *nodeRoom) error {
	path := room.path(kernelSettingsFile)
	for _, one := range recordsOfOthers(room) {
		if text, err := os.ReadFile(one); err == nil {
			return os.WriteFile(path, text, 0o600)
		}
	}
	values := map[string]string{}
	for _, name := range kernelSettings {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if err != nil {
			continue // not every kernel has all of them
		}
		values[name] = strings.TrimSpace(string(value))
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// recordsOfOthers are the files of the other rooms.
func recordsOfOthers(room *nodeRoom) []string {
	files, _ := filepath.Glob(filepath.Join(roomsDirectory, "*", kernelSettingsFile))
	return slices.DeleteFunc(files, func(file string) bool { return file == room.path(kernelSettingsFile) })
}

// restoreKernelSettings undoes what was changed since; nothing if no kubelet was started, or while another lab needs
// the settings: the last one restores them.
func restoreKernelSettings(room *nodeRoom) {
	if len(recordsOfOthers(room)) > 0 {
		return
	}
	text, err := os.ReadFile(room.path(kernelSettingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var values map[string]string
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	for name, value := range values {
		file := filepath.Join("/proc/sys", name)
		now, readErr := os.ReadFile(file)
		if readErr == nil && strings.TrimSpace(string(now)) == value {
			continue
		}
		err = errors.Join(err, os.WriteFile(file, []byte(value), 0o600))
	}
	if err != nil {
		say("kernel settings that the kubelet changed may stay so: %v", err)
	}
}
