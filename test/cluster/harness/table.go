package harness

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Table is what the API server gives to `kubectl get` for a path such as
// /apis/GROUP/VERSION/RESOURCE: the columns, and the cells of each row.
func (c *Cluster) Table(path string) (*metav1.Table, error) {
	text, err := c.Client.(*kubernetes.Clientset).RESTClient().Get().AbsPath(path).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	return table, json.Unmarshal(text, table)
}
