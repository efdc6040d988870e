package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// Clients that tell 403 Forbidden from 422 Invalid see what they would see of Kueue: its webhooks
// forbid, its schemas find invalid.
func TestRefusalsAreForbiddenOrInvalidAsInKueue(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	queue := func(limits map[string]any) *unstructured.Unstructured {
		limits["name"], limits["nominalQuota"] = "cpu", "4"
		queue := harness.ClusterQueueOf("refused", "f")
		harness.Set(queue, []any{map[string]any{"coveredResources": []any{"cpu"}, "flavors": []any{
			map[string]any{"name": "f", "resources": []any{limits}}}}}, "spec", "resourceGroups")
		return queue
	}
	for name, one := range map[string]struct {
		queue *unstructured.Unstructured
		is    func(error) bool
	}{
		"a rule of Kueue's webhook":   {queue(map[string]any{"lendingLimit": "1"}), apierrors.IsForbidden},
		"a rule of Kueue's schema":    {queue(map[string]any{"borrowingLimit": "1"}), apierrors.IsInvalid},
		"a rule of each of the two":   {queue(map[string]any{"borrowingLimit": "1", "lendingLimit": "1"}), apierrors.IsInvalid},
		"a schema that muster shares": {queue(map[string]any{"lendingLimit": "one"}), apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Eventually(t, 5*time.Second, "the rejection", func() error {
				_, err := cluster.Dynamic.Resource(harness.ClusterQueues).Create(context.Background(), one.queue, harness.DryRun)
				if err == nil {
					return errors.New("it was allowed")
				}
				if !one.is(err) {
					return fmt.Errorf("it is another error: %w", err)
				}
				return nil
			})
		})
	}
}
