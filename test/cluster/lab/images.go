package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

const (
	pauseImage   = "lab/pause:1"
	busyboxImage = "busybox:latest"
	busyboxPath  = "/bin/busybox"
)

// archived is a container image that containerd can import from an archive.
type archived interface {
	name() string
	archive(w io.Writer) error
}

// image is a container image of one layer, to be written as a docker-archive.
type image struct {
	tags    []string
	entries []imageEntry
	process imageProcess
}

// imageEntry is one file of the layer: a file of this machine, a link or, if
// neither is named, a folder.
type imageEntry struct {
	path string // in the image, without the slash at its begin
	from string // copied from here
	link string // or a symbolic link to this
	mode int64
}

// imageProcess is the part of an image's configuration that says what to run.
type imageProcess struct {
	Environment []string `json:"Env,omitempty"`
	Entrypoint  []string `json:",omitempty"`
	Command     []string `json:"Cmd,omitempty"`
	User        string   `json:",omitempty"`
}

// labImages are what the node itself and the tests' plain containers run.
func labImages() ([]archived, error) {
	output, err := exec.Command(busyboxPath, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", busyboxPath, err)
	}
	entries := []imageEntry{
		{path: "bin", mode: 0o755}, {path: "tmp", mode: 0o1777}, {path: "etc", mode: 0o755},
		{path: "bin/busybox", from: busyboxPath, mode: 0o755},
	}
	for _, applet := range strings.Fields(string(output)) {
		if applet != "busybox" {
			entries = append(entries, imageEntry{path: "bin/" + applet, link: "busybox"})
		}
	}
	environment := []string{"PATH=/bin"}
	return []archived{
		image{[]string{busyboxImage}, entries, imageProcess{Environment: environment, Command: []string{"sh"}}},
		image{[]string{pauseImage}, entries[:4], imageProcess{
			Environment: environment, Entrypoint: []string{"/bin/busybox", "sleep", "2000000000"},
		}},
	}, nil
}

// isStatic tells whether a program needs no library and no loader.
func isStatic(path string) (bool, error) {
	file, err := elf.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), nil
}

func (i image) name() string { return i.tags[0] }

// archive writes the image as `docker save` would.
func (i image) archive(w io.Writer) error {
	var layer bytes.Buffer
	if err := i.layer(&layer); err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       i.process,
		"rootfs": map[string]any{
			"type":     "layers",
			"diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))},
		},
	})
	if err != nil {
		return err
	}
	configName := fmt.Sprintf("%x.json", sha256.Sum256(config))
	manifest, err := json.Marshal([]map[string]any{{
		"Config": configName, "RepoTags": i.tags, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	for _, part := range []struct {
		name    string
		content []byte
	}{{configName, config}, {"layer.tar", layer.Bytes()}, {"manifest.json", manifest}} {
		header := &tar.Header{Name: part.name, Mode: 0o644, Size: int64(len(part.content))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(part.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (i image) layer(w io.Writer) error {
	layer := tar.NewWriter(w)
	for _, entry := range i.entries {
		header := &tar.Header{Name: entry.path, Mode: entry.mode, Typeflag: tar.TypeDir}
		var content []byte
		switch {
		case entry.link != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, entry.link, 0o777
		case entry.from != "":
			var err error
			if content, err = os.ReadFile(entry.from); err != nil {
				return err
			}
			header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
		}
		if err := layer.WriteHeader(header); err != nil {
			return err
		}
		if _, err := layer.Write(content); err != nil {
			return err
		}
	}
	return layer.Close()
}
