package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Essence of an object is what a user or a webhook decides about it; status,
// bookkeeping and the note that `kubectl apply` leaves are not part of it.
func Essence(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	annotations := object.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	return ToJSON(t, map[string]any{
		"spec":        object.Object["spec"],
		"labels":      object.GetLabels(),
		"annotations": annotations,
	})
}

// KubectlGet reads an object back as kubectl shows it.
func KubectlGet(t testing.TB, c *Cluster, namespace, resource, name string) *unstructured.Unstructured {
	t.Helper()
	return ParseObject(t, c.Kubectl(t, "", "get", resource, name, "-n", namespace, "-o", "yaml"))
}

// ParseObject reads the one object of a YAML text.
func ParseObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	documents := Documents(t, text)
	if len(documents) != 1 {
		t.Fatalf("%d objects where one was expected:\n%s", len(documents), text)
	}
	return documents[0]
}

// Must fails the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WriteFile puts a text into a file of the test's own.
func WriteFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Rejected waits until the request is refused with a message that holds every
// part. It polls since the API server can learn of the validating webhooks a
// moment after the mutating ones, which is all that StartMuster waits for; so
// the request must be one that can be repeated, best a dry run.
func Rejected(t *testing.T, request func(context.Context) error, parts ...string) {
	t.Helper()
	ctx := Context(t)
	Eventually(t, 5*time.Second, "the rejection", func() error {
		err := request(ctx)
		if err == nil {
			return errors.New("it was allowed")
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				return fmt.Errorf("the message does not name %s: %w", part, err)
			}
		}
		return nil
	})
}

// ObjectsAt are the objects in the list at a path.
func ObjectsAt(object map[string]any, path ...string) (found []map[string]any) {
	list, _, _ := unstructured.NestedSlice(object, path...)
	for _, each := range list {
		if one, ok := each.(map[string]any); ok {
			found = append(found, one)
		}
	}
	return found
}
