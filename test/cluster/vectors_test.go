package cluster

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

type vectorError struct {
	Field string `json:"field"`
}

// readVectors reads the recorded lines of one set; without them the test is skipped, but not in CI.
func readVectors[Vector any](t *testing.T, set string) (vectors []Vector) {
	t.Helper()
	folder := os.Getenv("MUSTER_VECTORS")
	if folder == "" {
		folder = "../../../shared/vectors"
	}
	file, err := os.Open(filepath.Join(folder, set, "train.jsonl"))
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("no vectors in %s", folder)
	}
	must(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var vector Vector
		must(t, json.Unmarshal(lines.Bytes(), &vector))
		vectors = append(vectors, vector)
	}
	must(t, lines.Err())
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

// objectsAt are the objects in the list at a path.
func objectsAt(object map[string]any, path ...string) (found []map[string]any) {
	list, _, _ := unstructured.NestedSlice(object, path...)
	for _, each := range list {
		if one, ok := each.(map[string]any); ok {
			found = append(found, one)
		}
	}
	return found
}
