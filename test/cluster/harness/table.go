package harness

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Table is what the API server gives to `kubectl get` for a path such as
// /apis/GROUP/VERSION/RESOURCE: the columns, and the cells of each row.
func (c *Cluster) Table(t testing.TB, path string) *metav1.Table {
	t.Helper()
	text, err := c.Client.(*kubernetes.Clientset).RESTClient().Get().AbsPath(path).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(Context(t))
	if err != nil {
		t.Fatalf("the table at %s: %v", path, err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(text, table); err != nil {
		t.Fatalf("the table at %s: %v", path, err)
	}
	return table
}
