package security

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// What the hostile tenant of hostile_orders_test.go writes: jobs, owners, keys and fields in random order.

func (a *attack) jobOf(name string) *unstructured.Unstructured {
	object := a.job(name, oneOf(a, "q", "q", "q", "q", "", "stolen", a.neighbour+"-q"), int32(1+a.chance.IntN(4)), func(job *batchv1.Job) {
		if a.oneIn(2) {
			unsuspended := false
			job.Spec.Suspend = &unsuspended
		}
		if a.oneIn(3) {
			completions := int32(1 + a.chance.IntN(6))
			job.Spec.Completions = &completions
			if mode := batchv1.IndexedCompletion; a.oneIn(2) {
				job.Spec.CompletionMode, job.Spec.Parallelism = &mode, &completions
			}
		}
		if a.oneIn(8) {
			manager := oneOf(a, "example.com/mine", "kubernetes.io/job-controller", "kueue.x-k8s.io/multikueue")
			job.Spec.ManagedBy = &manager
		}
		if a.oneIn(3) {
			job.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(oneOf(a, "2", "100m", "0"))
		}
	})
	if a.oneIn(4) {
		harness.Must(a, unstructured.SetNestedSlice(object.Object, a.owners(), "metadata", "ownerReferences"))
	}
	if a.oneIn(4) {
		object.SetAnnotations(map[string]string{a.key(): a.value()})
	}
	return object
}

// owners is one forged owner: of what there is, or of the neighbour's, or made up; of any kind and group.
func (a *attack) owners() []any {
	a.Helper()
	owner := fields{"apiVersion": "batch/v1", "kind": "Job", "name": "nobody", "uid": "11111111-1111-1111-1111-111111111111"}
	if object := a.target(); object != nil && !a.oneIn(4) {
		owner["apiVersion"], owner["kind"], owner["name"] = object.GetAPIVersion(), object.GetKind(), object.GetName()
		owner["uid"] = string(object.GetUID())
	} else if a.oneIn(3) {
		owner["name"], owner["uid"] = "secret-training", string(metav1.GetControllerOf(a.victim).UID)
	}
	if a.oneIn(3) {
		kinds := [][2]string{{"batch/v1", "Job"}, {"batch/v1", "CronJob"}, {"jobset.x-k8s.io/v1alpha2", "JobSet"}, {"example.com/v1", "JobSet"},
			{"example.com/v1", "Job"}, {"kueue.x-k8s.io/v1beta2", "Workload"}, {"v1", "ConfigMap"}, {"kueue.x-k8s.io/v1beta2", "ClusterQueue"}}
		kind := oneOf(a, kinds...)
		owner["apiVersion"], owner["kind"] = kind[0], kind[1]
	}
	owner["controller"] = !a.oneIn(6)
	return []any{owner}
}

// key is a label or an annotation that means something to Kueue, JobSet or muster.
func (a *attack) key() string {
	return oneOf(a, harness.QueueLabel, harness.PriorityLabel, harness.MaxExecTimeLabel, harness.StoppingAnnotation,
		harness.PrebuiltAnnotation, harness.PrebuiltAnnotation, harness.MinParallelism, harness.JobUIDLabel, harness.TimeoutAnnotation,
		harness.ReplicatedNameLabel, harness.RestartAttemptLabel, harness.JobSetNameLabel, "kueue.x-k8s.io/elastic-job",
		"kueue.x-k8s.io/workload", "kueue.x-k8s.io/admission-gated-by", "kueue.x-k8s.io/job-completions-equal-parallelism",
		"kueue.x-k8s.io/cluster-queue-name", "jobset.sigs.k8s.io/jobset-uid", "jobset.sigs.k8s.io/job-index", "muster.batch/anything")
}

func (a *attack) value() string {
	values := []string{"q", "1", "0", "true", "stolen", "example.com/gate", a.victim.GetName()}
	list, err := a.cluster.Dynamic.Resource(harness.Workloads).Namespace(a.namespace).List(harness.Context(a), metav1.ListOptions{})
	harness.Must(a, err)
	for i := range list.Items {
		values = append(values, list.Items[i].GetName())
	}
	return oneOf(a, values...)
}

func (a *attack) metadata() fields {
	value := any(a.value())
	if a.oneIn(3) {
		value = nil
	}
	switch a.chance.IntN(3) {
	case 0:
		return fields{"metadata": fields{"labels": fields{a.key(): value}}}
	case 1:
		return fields{"metadata": fields{"annotations": fields{a.key(): value}}}
	}
	if a.oneIn(4) {
		return fields{"metadata": fields{"ownerReferences": nil}}
	}
	return fields{"metadata": fields{"ownerReferences": a.owners()}}
}

func (a *attack) specOf(target *unstructured.Unstructured) fields {
	pods := 1 + a.chance.IntN(50)
	if jobs, _, _ := unstructured.NestedSlice(target.Object, "spec", "replicatedJobs"); len(jobs) > 0 && a.oneIn(2) {
		first := jobs[0].(map[string]any)
		if a.oneIn(2) {
			first["replicas"] = int64(pods)
		} else {
			harness.Must(a, unstructured.SetNestedField(first, int64(pods), "template", "spec", "parallelism"))
		}
		return spec(fields{"replicatedJobs": jobs})
	}
	switch a.chance.IntN(6) {
	case 0:
		return spec(fields{"parallelism": pods})
	case 1:
		return spec(fields{"parallelism": pods, "completions": pods})
	case 2:
		return spec(fields{"parallelism": pods, "completions": pods, "suspend": false})
	case 3:
		container := fields{"name": "main", "image": "example.test/main:1", "resources": fields{"requests": fields{"cpu": "7"}}}
		return spec(fields{"suspend": oneOf(a, true, false), "template": fields{"spec": fields{"containers": []any{container}}}})
	case 4:
		return spec(fields{"managedBy": oneOf[any](a, "example.com/mine", nil)})
	}
	return spec(fields{"suspend": a.oneIn(3)})
}

func (a *attack) statusOf(target *unstructured.Unstructured) fields {
	if target.GetKind() == "JobSet" {
		return fields{"status": fields{"restarts": a.chance.IntN(3)}}
	}
	condition := fields{"type": "Suspended", "status": "True", "reason": "Mine", "message": "", "lastTransitionTime": "2027-01-15T08:00:00Z"}
	return fields{"status": oneOf(a, fields{"startTime": nil}, fields{"conditions": []any{condition}}, fields{"ready": a.chance.IntN(5)},
		fields{"failed": a.chance.IntN(5)}, fields{"active": 0})}
}
