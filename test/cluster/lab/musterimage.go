package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// musterRepository is muster's image as containerd names it: `muster:dev` and `muster:<version>` to a pod.
	musterRepository = "docker.io/library/muster:"
	// nameOnImport is containerd's annotation for the name that an image is imported under.
	nameOnImport = "io.containerd.image.name"
	referenceKey = "org.opencontainers.image.ref.name"
)

// layoutImage is an image in a folder, in the layout of OCI: muster's, as scripts/image makes it.
type layoutImage struct {
	folder string
	index  ociIndex
}

type ociIndex struct {
	SchemaVersion int             `json:"schemaVersion"`
	Manifests     []ociDescriptor `json:"manifests"`
}

type ociDescriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
}

// readLayout reads what image is in a folder. There must be one, with a name.
func readLayout(folder string) (layoutImage, error) {
	read := layoutImage{folder: folder}
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &read.index)
	}
	if err == nil && (len(read.index.Manifests) != 1 || read.index.Manifests[0].Annotations[referenceKey] == "") {
		err = errors.New("there is not one image with a name in it")
	}
	if err != nil {
		return layoutImage{}, fmt.Errorf("%s is no folder as scripts/image makes it: %w", folder, err)
	}
	return read, nil
}

func (l layoutImage) name() string { return "muster:" + l.index.Manifests[0].Annotations[referenceKey] }

// archive writes the folder with the names that pods will use; the image's digest stays as it is.
func (l layoutImage) archive(w io.Writer) error {
	index := ociIndex{SchemaVersion: l.index.SchemaVersion}
	for _, tag := range []string{"dev", l.index.Manifests[0].Annotations[referenceKey]} {
		named := l.index.Manifests[0]
		named.Annotations = map[string]string{nameOnImport: musterRepository + tag, referenceKey: tag}
		index.Manifests = append(index.Manifests, named)
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	err = filepath.WalkDir(l.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(l.folder, path)
		if err != nil {
			return err
		}
		content := text
		if inside != "index.json" {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		if err := archive.WriteHeader(&tar.Header{Name: inside, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
