package webhooks

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// firstPodSpec is where a user's template of the first replicated Job begins.
const firstPodSpec = "spec.replicatedJobs[0].template.spec.template.spec"

func TestBadGangJobSetsAreRejectedWithTheFieldPath(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	gang := func(targets ...string) *unstructured.Unstructured {
		return harness.GroupScheduling(harness.JobSet("bad", "first", "second"), 300, targets...)
	}
	reserved := func(list string) *unstructured.Unstructured {
		jobSet := gang()
		withPodSpec(jobSet, func(spec map[string]any) {
			spec[list] = []any{map[string]any{"name": harness.BarrierContainer, "image": "example.test/mine:1"}}
		})
		return jobSet
	}
	inOrder := gang()
	harness.Set(inOrder, "InOrder", "spec", "startupPolicy", "startupPolicyOrder")
	depends := gang()
	dependsOnFirst(depends)
	foreignVolume := gang()
	withPodSpec(foreignVolume, func(spec map[string]any) {
		spec["volumes"] = []any{map[string]any{"name": harness.BarrierVolume, "emptyDir": map[string]any{}}}
	})

	for name, one := range map[string]struct {
		jobSet *unstructured.Unstructured
		path   string
	}{
		"a main container of the reserved name":  {reserved("containers"), firstPodSpec + ".containers[0]"},
		"an init container of the reserved name": {reserved("initContainers"), firstPodSpec + ".initContainers[0]"},
		"a volume of the reserved name":          {foreignVolume, firstPodSpec + ".volumes[0]"},
		"in order startup across a gang":         {inOrder, "spec.startupPolicy"},
		"a dependency inside a gang":             {depends, "spec.replicatedJobs[1].dependsOn"},
		"an unknown target":                      {gang("nobody"), "spec.groupSchedulingConfig.targetReplicatedJobs"},
		"a repeated target":                      {gang("first", "first"), "spec.groupSchedulingConfig.targetReplicatedJobs"},
		"a timeout of zero":                      {harness.GroupScheduling(harness.JobSet("bad", "first"), 0), "spec.groupSchedulingConfig.timeoutAfterSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Rejected(t, func(ctx context.Context) error {
				_, err := client.Create(ctx, one.jobSet, harness.DryRun)
				return err
			}, one.path)
		})
	}
}

// withPodSpec edits the pod spec of the first replicated Job in place.
func withPodSpec(jobSet *unstructured.Unstructured, edit func(map[string]any)) {
	jobs, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	job := jobs[0].(map[string]any)
	spec, _, _ := unstructured.NestedMap(job, "template", "spec", "template", "spec")
	edit(spec)
	if err := unstructured.SetNestedMap(job, spec, "template", "spec", "template", "spec"); err != nil {
		panic(err)
	}
	harness.Set(jobSet, jobs, "spec", "replicatedJobs")
}

// dependsOnFirst lets the second replicated Job wait for the first.
func dependsOnFirst(jobSet *unstructured.Unstructured) {
	jobs, _, _ := unstructured.NestedSlice(jobSet.Object, "spec", "replicatedJobs")
	jobs[1].(map[string]any)["dependsOn"] = []any{map[string]any{"name": "first", "status": "Ready"}}
	harness.Set(jobSet, jobs, "spec", "replicatedJobs")
}

func TestInOrderStartupAcrossOneTargetIsAllowed(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	jobSet := harness.GroupScheduling(harness.JobSet("ordered", "first", "second"), 300, "second")
	harness.Set(jobSet, "InOrder", "spec", "startupPolicy", "startupPolicyOrder")

	_, err := client.Create(harness.Context(t), jobSet, harness.ForReal)
	harness.Must(t, err)
}

func TestTheGangConfigurationCannotChangeAfterCreation(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	ctx := harness.Context(t)
	for _, jobSet := range []*unstructured.Unstructured{
		harness.GroupScheduling(harness.JobSet("gang", "workers", "helpers"), 300, "workers"),
		harness.JobSet("free", "workers", "helpers"),
	} {
		_, err := client.Create(ctx, jobSet, harness.ForReal)
		harness.Must(t, err)
	}

	for name, one := range map[string]struct{ jobSet, patch string }{
		"another timeout": {"gang", `{"spec":{"groupSchedulingConfig":{"timeoutAfterSeconds":600}}}`},
		"another target":  {"gang", `{"spec":{"groupSchedulingConfig":{"targetReplicatedJobs":["helpers"]}}}`},
		"removing it":     {"gang", `{"spec":{"groupSchedulingConfig":null}}`},
		"adding it later": {"free", `{"spec":{"groupSchedulingConfig":{"timeoutAfterSeconds":300}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Rejected(t, func(ctx context.Context) error {
				_, err := client.Patch(ctx, one.jobSet, types.MergePatchType, []byte(one.patch), harness.DryRunPatch)
				return err
			}, "spec", "groupSchedulingConfig")
		})
	}
}

func TestInOrderStartupCannotBeAddedToAGangLater(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	client := cluster.Dynamic.Resource(harness.JobSets).Namespace(cluster.Namespace(t, nil))
	_, err := client.Create(harness.Context(t), harness.GroupScheduling(harness.JobSet("gang", "first", "second"), 300), harness.ForReal)
	harness.Must(t, err)

	harness.Rejected(t, func(ctx context.Context) error {
		_, err := client.Patch(ctx, "gang", types.MergePatchType,
			[]byte(`{"spec":{"startupPolicy":{"startupPolicyOrder":"InOrder"}}}`), harness.DryRunPatch)
		return err
	}, "spec.startupPolicy")
}

func TestBadGangJobsAreRejectedWithTheFieldPath(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	jobs := cluster.Client.BatchV1().Jobs(cluster.Namespace(t, nil))
	for name, one := range map[string]struct{ container, timeout, path string }{
		"the reserved container name": {harness.BarrierContainer, "300", "spec.template.spec.containers[0]"},
		"a timeout of zero":           {"main", "0", "metadata.annotations"},
		"a timeout that is no number": {"main", "soon", "metadata.annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			job := harness.Job("bad", nil)
			job.Annotations = map[string]string{harness.TimeoutAnnotation: one.timeout}
			job.Spec.Template.Spec.Containers[0].Name = one.container
			harness.Rejected(t, func(ctx context.Context) error {
				_, err := jobs.Create(ctx, job, harness.DryRun)
				return err
			}, one.path)
		})
	}
}

func TestKubectlShowsTheReasonOfARejection(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	manifest := harness.ToJSON(t, harness.GroupScheduling(harness.JobSet("bad", "workers"), 300, "nobody"))

	harness.Rejected(t, func(context.Context) error {
		_, err := cluster.TryKubectl(manifest, "apply", "-n", namespace, "-f", "-")
		return err
	}, "spec.groupSchedulingConfig.targetReplicatedJobs", "nobody")
}

func TestQueueNamesMustBeValid(t *testing.T) {
	cluster := harness.Connect(t)
	harness.StartMuster(t)
	jobs := cluster.Client.BatchV1().Jobs(cluster.Namespace(t, nil))

	harness.Rejected(t, func(ctx context.Context) error {
		_, err := jobs.Create(ctx, harness.Job("bad", harness.Queue("Not_A_Name")), harness.DryRun)
		return err
	}, "metadata.labels["+harness.QueueLabel+"]")
}
