// Program lab is a Kubernetes cluster in one binary, for tests and demonstrations
// on a machine without Docker:
//
//	lab up                    runs a control plane, and nodes, until it is interrupted
//	lab kube-apiserver ...    is that component (see components.go for all)
//	lab kubectl ...           is kubectl
//
// A symbolic link named like a component is that component, so that
// `ln -s lab kubectl` gives a kubectl of the same version as the server.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	os.Exit(dispatch(os.Args))
}

// dispatch picks what to be by the program's own name or, failing that, by its
// first argument.
func dispatch(arguments []string) int {
	name, rest := filepath.Base(arguments[0]), arguments[1:]
	if _, found := components[name]; !found {
		if len(rest) == 0 {
			return usage()
		}
		name, rest = rest[0], rest[1:]
	}
	if name == "up" {
		return up(rest)
	}
	run, found := components[name]
	if !found {
		return usage()
	}
	// Components read os.Args themselves, some of them more than once: kubectl
	// for its plugins, klog for the process's name.
	os.Args = append([]string{name}, rest...)
	return run(rest)
}

func usage() int {
	names := slices.Sorted(maps.Keys(components))
	fmt.Fprintf(os.Stderr, `usage: lab up [--dir DIR] [--kubeconfig-out FILE] [--ready-file FILE] [--die-with-parent]
              [--kubelet [--muster-image DIR]] [--hollow-nodes N]
       lab %s [ARGUMENT...]
`, strings.Join(names, "|"))
	return 2
}
