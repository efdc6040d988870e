package kinds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

// Deployments are queued by another controller here: this test.
const externalDeployments = harness.NamesOfTheManifests + "integrations: {externalFrameworks: [Deployment.v1.apps]}\n"

// A Workload of an external framework is admitted and evicted by its conditions alone, its finalizer is its
// controller's, and no user reads that the kind is not queued.
func TestWorkloadsOfAnExternalFramework(t *testing.T) {
	cluster := harness.Connect(t)
	policy := harness.Manifests(t, "--only=policies")
	cluster.Kubectl(t, policy, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, policy, "delete", "-f", "-") })
	harness.StartMuster(t, "--config", harness.WriteFile(t, "config.yaml", externalDeployments))
	teams := cluster.Teams(t)
	teams.Flavor("f")
	teams.Queue("q", teams.Cpus("f=1"), map[string]any{"preemption": map[string]any{"withinClusterQueue": "LowerPriority"}})
	teams.Queue("other", teams.Cpus("f=1"))
	deployment := deploymentWithoutWarning(t, cluster, teams.Namespace)

	made := func(name, queue string, priority int64) {
		workload := harness.JoblessWorkload(name, queue, 1)
		harness.Set(workload, priority, "spec", "priority")
		yes := true
		workload.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment",
			Name: deployment.GetName(), UID: deployment.GetUID(), Controller: &yes}})
		workload.SetFinalizers([]string{"kueue.x-k8s.io/resource-in-use"})
		cluster.Create(t, harness.Workloads, teams.Namespace, workload)
	}
	made("low", "q", 0)
	cluster.AwaitWorkload(t, teams.Namespace, "low", "is admitted", harness.HasCondition("Admitted", "True", ""))
	made("high", "q", 1)
	cluster.AwaitWorkload(t, teams.Namespace, "low", "is preempted and holds its quota", harness.HasCondition("Evicted", "True", "Preempted"),
		harness.HasCondition("QuotaReserved", "True", ""))

	// Its pods are there until its controller says so.
	cluster.Delete(t, harness.Workloads, teams.Namespace, "low", metav1.DeletePropagationBackground)
	// The same watch shows the deletion before this one.
	made("probe", "other", 0)
	cluster.AwaitWorkload(t, teams.Namespace, "probe", "is admitted elsewhere", harness.HasCondition("Admitted", "True", ""))
	cluster.AwaitWorkload(t, teams.Namespace, "high", "waits for the quota", harness.HasCondition("QuotaReserved", "False", ""))
	cluster.Patch(t, harness.Workloads, teams.Namespace, "low", `{"metadata":{"finalizers":null}}`)
	cluster.AwaitWorkload(t, teams.Namespace, "high", "is admitted", harness.HasCondition("Admitted", "True", ""))
	for _, name := range []string{"high", "probe"} {
		cluster.Patch(t, harness.Workloads, teams.Namespace, name, `{"metadata":{"finalizers":null}}`)
	}
}

// deploymentWithoutWarning makes one that names a queue, once the API server does not tell its user of that.
func deploymentWithoutWarning(t *testing.T, cluster *harness.Cluster, namespace string) *unstructured.Unstructured {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	harness.Must(t, err)
	told := &harness.Warnings{}
	config.WarningHandler = told
	client, err := dynamic.NewForConfig(config)
	harness.Must(t, err)
	kind := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	object := queuedObject(kind, "Deployment")
	harness.Set(object, int64(0), "spec", "replicas")
	harness.Eventually(t, 30*time.Second, "the policy passes over Deployments", func() error {
		_, err := client.Resource(kind).Namespace(namespace).Create(harness.Context(t), object, harness.DryRun)
		if warning := told.Take(); err == nil && strings.Contains(warning, "muster") {
			err = fmt.Errorf("it says %q", warning)
		}
		return err
	})
	deployment, err := client.Resource(kind).Namespace(namespace).Create(harness.Context(t), object, metav1.CreateOptions{})
	harness.Must(t, err)
	return deployment
}
