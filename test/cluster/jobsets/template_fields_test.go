package jobsets

import (
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

// The API server stores the templates of JobSets as they come; muster says what is wrong with them.
func TestMistakesInTemplatesOfJobSetsAreTold(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t, "--jobset-controller", "native")
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	harness.Must(t, err)
	told := &harness.Warnings{}
	config.WarningHandler = told
	client, err := dynamic.NewForConfig(config)
	harness.Must(t, err)
	namespace := cluster.Namespace(t, nil)
	create := func(field string, value any) (string, error) {
		jobSet := harness.JobSet("typo", "workers")
		job := jobSet.Object["spec"].(map[string]any)["replicatedJobs"].([]any)[0].(map[string]any)
		for _, step := range []string{"template", "spec", "template", "spec"} {
			job = job[step].(map[string]any)
		}
		job["containers"].([]any)[0].(map[string]any)[field] = value
		_, err := client.Resource(harness.JobSets).Namespace(namespace).Create(harness.Context(t), jobSet, harness.DryRun)
		return told.Take(), err
	}
	const container = "spec.replicatedJobs[0].template.spec.template.spec.containers[0]."
	if warning, err := create("imagee", "x"); err != nil || !strings.Contains(warning, `unknown field "`+container+`imagee"`) {
		t.Errorf("an unknown field: warning %q, error %v", warning, err)
	}
	if _, err := create("image", int64(5)); err == nil || !strings.Contains(err.Error(), container+"image: Invalid value: 5: must be a string") {
		t.Errorf("a field of a wrong type: %v", err)
	}
	if warning, err := create("tty", true); err != nil || strings.Contains(warning, "unknown") {
		t.Errorf("a known field: warning %q, error %v", warning, err)
	}
}
