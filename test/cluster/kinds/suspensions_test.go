package kinds

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"muster.batch/test/cluster/harness"
)

// suspensions are those of the jobs of a kind in a namespace: what their field says.
type suspensions struct {
	*testing.T
	jobs  dynamic.ResourceInterface
	field []string
}

// isTrue fails unless this version of a job is suspended.
func (s suspensions) isTrue(job *unstructured.Unstructured) {
	s.Helper()
	if suspended, _, _ := unstructured.NestedBool(job.Object, s.field...); !suspended {
		s.Fatalf("%s is not suspended", job.GetName())
	}
}

func (s suspensions) await(name, what string, suspended bool) *unstructured.Unstructured {
	s.Helper()
	var found *unstructured.Unstructured
	harness.Eventually(s, 30*time.Second, name+" "+what, func() error {
		var err error
		found, err = s.jobs.Get(harness.Context(s), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is, _, _ := unstructured.NestedBool(found.Object, s.field...); is != suspended {
			return fmt.Errorf("suspend: %v", is)
		}
		return nil
	})
	return found
}
