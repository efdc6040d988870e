package queues

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// What `kubectl get cq,lq,kwl` shows: the columns that scripts cut out of it, in order
// ("-o wide" where marked), and the values of an admitted Job.
func columns(t *testing.T, cluster *harness.Cluster, queues harness.Queues) {
	for _, name := range []string{"first", "second"} {
		cluster.CreateJob(t, queues.Namespace, harness.QueuedJob(name, 1))
	}
	workload := cluster.WaitForWorkload(t, queues.Namespace, "first", "is there")
	cluster.WaitForWorkload(t, queues.Namespace, "second", "is there")
	cluster.Admit(t, workload, queues.ClusterQueue, queues.Hollow)

	of := "/namespaces/" + queues.Namespace
	for _, each := range []struct {
		path    string
		columns []string
		name    string
		values  []string // of all columns but the age
	}{
		{"/clusterqueues", []string{"Name", "Cohort", "Strategy (wide)", "Pending Workloads", "Admitted Workloads (wide)"},
			queues.ClusterQueue, []string{queues.ClusterQueue, "<nil>", "BestEffortFIFO", "1", "1"}},
		{of + "/localqueues", []string{"Name", "ClusterQueue", "Pending Workloads", "Admitted Workloads"},
			harness.LocalQueueName, []string{harness.LocalQueueName, queues.ClusterQueue, "1", "1"}},
		{of + "/workloads", []string{"Name", "Queue", "Reserved in", "Admitted", "Finished", "Age", "Failed flavor (wide)"},
			workload.GetName(), []string{workload.GetName(), harness.LocalQueueName, queues.ClusterQueue, "True", "<nil>"}},
	} {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			path := "/apis/" + harness.KueueGroup + "/" + version + each.path
			harness.Eventually(t, 20*time.Second, "the table of "+path, func() error {
				table, err := cluster.Table(path)
				if err != nil {
					return err
				}
				return checkTable(table, each.columns, each.name, each.values)
			})
		}
	}
	shown := cluster.Kubectl(t, "", "get", "cq,lq,kwl", "-n", queues.Namespace)
	for _, header := range []string{"PENDING WORKLOADS", "CLUSTERQUEUE", "RESERVED IN", "ADMITTED"} {
		if !strings.Contains(shown, header) {
			t.Errorf("kubectl get cq,lq,kwl shows no %s:\n%s", header, shown)
		}
	}
}

func checkTable(table *metav1.Table, columns []string, name string, values []string) error {
	var shown []string
	for _, column := range table.ColumnDefinitions {
		text := column.Name
		if column.Priority > 0 {
			text += " (wide)"
		}
		shown = append(shown, text)
	}
	if !slices.Equal(shown, columns) {
		return fmt.Errorf("the columns are %q, not %q", shown, columns)
	}
	for _, row := range table.Rows {
		if row.Cells[0] != name {
			continue
		}
		for i, want := range values {
			if got := fmt.Sprint(row.Cells[i]); got != want {
				return fmt.Errorf("%s of %s is %q, not %q", columns[i], name, got, want)
			}
		}
		return nil
	}
	return fmt.Errorf("there is no row for %s among %d", name, len(table.Rows))
}
