package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// kernelSettings are those that a kubelet sets for the whole machine.
var kernelSettings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

const kernelSettingsFile = "kernel-settings.json"

// recordKernelSettings writes to a file of the room how the machine was before the
// kubelet, which a lab that runs already knows better.
func recordKernelSettings(room *nodeRoom) error {
	path := room.path(kernelSettingsFile)
	earlier, _ := filepath.Glob(filepath.Join(roomsDirectory, "*", kernelSettingsFile))
	for _, one := range earlier {
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

// restoreKernelSettings undoes what the kubelet did since; nothing if no kubelet
// was started.
func restoreKernelSettings(room *nodeRoom) {
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
