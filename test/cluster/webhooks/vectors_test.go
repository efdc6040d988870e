package webhooks

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/json"

	"muster.batch/test/cluster/harness"
)

type vectorError struct {
	Field string `json:"field"`
}

// readVectors reads the recorded lines of one set: of test/vectors, or of the folder that $MUSTER_VECTORS names.
func readVectors[Vector any](t *testing.T, set string) (vectors []Vector) {
	t.Helper()
	folder := os.Getenv("MUSTER_VECTORS")
	if folder == "" {
		folder = "../vectors"
	}
	var reader io.Reader
	file, err := os.Open(filepath.Join(folder, set, "train.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		file, err = os.Open(filepath.Join(folder, set, "train.jsonl.gz"))
		harness.Must(t, err)
		reader, err = gzip.NewReader(file)
	} else {
		reader = file
	}
	harness.Must(t, err)
	defer file.Close()
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var vector Vector
		harness.Must(t, json.Unmarshal(lines.Bytes(), &vector))
		vectors = append(vectors, vector)
	}
	harness.Must(t, lines.Err())
	return vectors
}

// judge compares what the API server said to a recorded request with what is wanted of it.
func judge(t *testing.T, id string, wanted bool, err error) {
	t.Helper()
	refused := apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
	switch {
	case err != nil && !refused:
		t.Errorf("%s: the API server could not decide: %v", id, err)
	case err == nil && !wanted:
		t.Errorf("%s: accepted", id)
	case err != nil && wanted:
		t.Errorf("%s: %v", id, err)
	}
}
