package security

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

// A tenant of one namespace who has every verb on Jobs, JobSets, pods and ConfigMaps there, and
// reads LocalQueues (and Workloads, in a second role), tries to run more than is admitted. Every
// job of the namespace is managed, so all pods of Jobs count. What a pod requests is counted from
// its creation to its end or deletion.

var (
	jobsOf = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	podsOf = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

const forgedLabel = "test.muster.batch/forged"

type hostileTenant struct {
	*testing.T
	cluster   *harness.Cluster
	client    dynamic.Interface
	namespace string
	neighbour string // another namespace
	others    *harness.Teams
}

// newHostileTenant starts muster and makes a tenant.
func newHostileTenant(t *testing.T) *hostileTenant {
	t.Helper()
	return addHostileTenant(t, startMusterForTenants(t, everyJobManaged))
}

const everyJobManaged = `manageJobsWithoutQueueName: true
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}
`

func startMusterForTenants(t *testing.T, settings string) *harness.Cluster {
	t.Helper()
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+settings)
	harness.ApplyRights(t, cluster, config)
	harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	return cluster
}

// addHostileTenant makes the queue of two cpus `q`, the neighbour's running Job, and the tenant's account, which reads
// these resources beside its usual rights.
func addHostileTenant(t *testing.T, cluster *harness.Cluster, resources ...string) *hostileTenant {
	t.Helper()
	teams, neighbour := cluster.Teams(t), cluster.Teams(t)
	for _, each := range []*harness.Teams{teams, neighbour} {
		each.Flavor("f")
		each.Queue("q", each.Cpus("f=2"))
	}
	neighbour.Job("q", "secret-training", 1, "1")
	neighbour.Admitted("secret-training")

	kubectl := func(arguments ...string) { cluster.Kubectl(t, "", append(arguments, "-n", teams.Namespace)...) }
	kubectl("create", "serviceaccount", "tenant")
	kubectl("create", "role", "tenant", "--verb", "*", "--resource",
		"jobs.batch,jobs.batch/status,jobsets.jobset.x-k8s.io,jobsets.jobset.x-k8s.io/status,jobsets.jobset.x-k8s.io/scale,pods,configmaps")
	kubectl("create", "role", "reader", "--verb", "get,list,watch", "--resource",
		strings.Join(append(resources, "localqueues.kueue.x-k8s.io"), ","))
	for _, role := range []string{"tenant", "reader"} {
		kubectl("create", "rolebinding", role, "--role", role, "--serviceaccount", teams.Namespace+":tenant")
	}
	rest, err := clientcmd.BuildConfigFromFlags("", harness.AsServiceAccount(t, cluster, teams.Namespace, "tenant"))
	harness.Must(t, err)
	rest.QPS = -1
	client, err := dynamic.NewForConfig(rest)
	harness.Must(t, err)
	return &hostileTenant{t, cluster, client, teams.Namespace, neighbour.Namespace, neighbour}
}

func (h *hostileTenant) of(kind schema.GroupVersionResource) dynamic.ResourceInterface {
	return h.client.Resource(kind).Namespace(h.namespace)
}

func (h *hostileTenant) job(name, queue string, pods int32, edit ...func(*batchv1.Job)) *unstructured.Unstructured {
	h.Helper()
	job := harness.Job(name, nil)
	if queue != "" {
		job.Labels = harness.Queue(queue)
	}
	job.Spec.Parallelism, job.Spec.Template = &pods, harness.OneCPU()
	for _, each := range edit {
		each(job)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	harness.Must(h.T, err)
	return &unstructured.Unstructured{Object: object}
}

func (h *hostileTenant) jobSet(name, queue string, pods int64) *unstructured.Unstructured {
	jobSet := harness.JobSetOf(name, harness.ReplicatedJob{Name: "w", Pods: pods, Template: harness.OneCPU()})
	if queue != "" {
		jobSet.SetLabels(harness.Queue(queue))
	}
	return jobSet
}

func (h *hostileTenant) create(kind schema.GroupVersionResource, object *unstructured.Unstructured) *unstructured.Unstructured {
	h.Helper()
	made, err := h.of(kind).Create(harness.Context(h.T), object, harness.ForReal)
	harness.Must(h.T, err)
	return made
}

func (h *hostileTenant) patch(kind schema.GroupVersionResource, name string, patch any, subresources ...string) error {
	text, err := json.Marshal(patch)
	harness.Must(h.T, err)
	_, err = h.of(kind).Patch(harness.Context(h.T), name, types.MergePatchType, text, metav1.PatchOptions{}, subresources...)
	return err
}

// refused says that muster must not let something through, and for which field.
func (h *hostileTenant) refused(what string, err error, field string) {
	h.Helper()
	if err == nil {
		h.Errorf("%s: it was allowed", what)
	} else if !strings.Contains(err.Error(), "muster.batch") || !strings.Contains(err.Error(), field) {
		h.Errorf("%s: refused, but not for %s by muster: %v", what, field, err)
	}
}

func ownedBy(object *unstructured.Unstructured) []any {
	return []any{map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "name": object.GetName(),
		"uid": string(object.GetUID()), "controller": true}}
}

// livePods are the pods of Jobs that count, and what they request in millicpus.
func (h *hostileTenant) livePods() (names []string, cpus int64) {
	h.Helper()
	list, err := h.cluster.Client.CoreV1().Pods(h.namespace).List(harness.Context(h.T), metav1.ListOptions{})
	harness.Must(h.T, err)
	for i := range list.Items {
		if cpu, counts := countedCPU(&list.Items[i]); counts {
			names, cpus = append(names, list.Items[i].Name), cpus+cpu
		}
	}
	return names, cpus
}

func countedCPU(pod *corev1.Pod) (cpus int64, counts bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || pod.DeletionTimestamp != nil || pod.Labels[forgedLabel] != "" ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0, false
	}
	for i := range pod.Spec.Containers {
		cpus += pod.Spec.Containers[i].Resources.Requests.Cpu().MilliValue()
	}
	return cpus, true
}

// watchPods fails the test whenever the pods of Jobs request more than the queue has.
func (h *hostileTenant) watchPods() {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	pods := h.cluster.Client.CoreV1().Pods(h.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	harness.Must(h.T, err)
	watcher, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	harness.Must(h.T, err)
	live, done := map[types.UID]int64{}, make(chan struct{})
	for i := range list.Items {
		if cpu, counts := countedCPU(&list.Items[i]); counts {
			live[list.Items[i].UID] = cpu
		}
	}
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				return
			}
			delete(live, pod.UID)
			if cpu, counts := countedCPU(pod); counts && event.Type != "DELETED" {
				live[pod.UID] = cpu
			}
			sum := int64(0)
			for _, cpu := range live {
				sum += cpu
			}
			if sum > 2000 {
				h.Errorf("%d pods request %dm cpu of 2: the last is %s", len(live), sum, pod.Name)
			}
		}
	}()
	h.Cleanup(func() {
		cancel()
		watcher.Stop()
		<-done
	})
}

func (h *hostileTenant) awaitPods(count int) {
	h.Helper()
	harness.Eventually(h.T, time.Minute, fmt.Sprintf("%d pods run", count), func() error {
		if names, _ := h.livePods(); len(names) != count {
			return fmt.Errorf("they are %v", names)
		}
		return nil
	})
}

func (h *hostileTenant) awaitJob(name string) *unstructured.Unstructured {
	h.Helper()
	var job *unstructured.Unstructured
	harness.Eventually(h.T, time.Minute, "the Job "+name, func() (err error) {
		job, err = h.of(jobsOf).Get(harness.Context(h.T), name, metav1.GetOptions{})
		return err
	})
	return job
}

type fields = map[string]any

func spec(values fields) fields { return fields{"spec": values} }

// Each of the known ways, on its own.
func TestHostileTenantIsRefused(t *testing.T) {
	h := newHostileTenant(t)
	h.watchPods()
	anchor := h.create(jobsOf, h.job("anchor", "q", 100))
	h.create(jobsOf, h.job("big", "q", 50))

	owners := fields{"metadata": fields{"ownerReferences": ownedBy(anchor)}}
	h.refused("a controller for a queued Job", h.patch(jobsOf, "big", owners), "metadata.ownerReferences")
	foreign := fields{"apiVersion": "example.com/v1", "kind": "JobSet", "name": "x", "uid": "1-2-3", "controller": true}
	h.refused("a controller of another group", h.patch(jobsOf, "big", fields{"metadata": fields{"ownerReferences": []any{foreign}}}),
		"metadata.ownerReferences")
	h.refused("starting a queued Job", h.patch(jobsOf, "big", spec(fields{"suspend": false})), "spec.suspend")
	part := h.job("below-a-job", "", 50)
	harness.Must(t, unstructured.SetNestedSlice(part.Object, ownedBy(anchor), "metadata", "ownerReferences"))
	if made := h.create(jobsOf, part); !isSuspended(made) {
		t.Error("a Job below a queued Job was created running")
	}

	h.create(harness.JobSets, h.jobSet("waits", "q", 3))
	h.awaitJob("waits-w-0")
	h.refused("starting a Job of a JobSet that waits", h.patch(jobsOf, "waits-w-0", spec(fields{"suspend": false})), "spec.suspend")
	container := fields{"name": "main", "image": "example.test/main:1", "resources": fields{"requests": fields{"cpu": "7"}}}
	// Kubernetes itself can refuse it first.
	if err := h.patch(jobsOf, "waits-w-0", spec(fields{"template": fields{"spec": fields{"containers": []any{container}}}})); err == nil {
		t.Error("a Job of a JobSet that waits may ask for more")
	}

	set := h.create(harness.JobSets, h.jobSet("runs", "q", 1))
	h.awaitPods(1)
	h.refused("growth of a Job of an admitted JobSet", h.patch(jobsOf, "runs-w-0", spec(fields{"parallelism": 50, "completions": 50})), "spec.parallelism")
	forged := h.job("runs-w-1", "", 50)
	forged.SetLabels(h.awaitJob("runs-w-0").GetLabels())
	harness.Must(t, unstructured.SetNestedSlice(forged.Object, ownedBy(set), "metadata", "ownerReferences"))
	_, err := h.of(jobsOf).Create(harness.Context(t), forged, harness.ForReal)
	h.refused("a forged Job of an admitted JobSet", err, "metadata.ownerReferences")

	h.create(jobsOf, h.job("small", "q", 1))
	h.awaitPods(2)
	h.refused("growth of a running Job", h.patch(jobsOf, "small", spec(fields{"parallelism": 50})), "spec.parallelism")
	harness.Must(t, h.patch(jobsOf, "small", spec(fields{"parallelism": 50, "suspend": true})))
	h.awaitPods(1)
	h.hoardsNothing()
	h.discloseNothing()
}

// hoardsNothing: who can write Workloads, too, gets no quota that cannot be taken back, by an owner that muster does not
// run. One cpu is free.
func (h *hostileTenant) hoardsNothing() {
	h.Helper()
	kubectl := func(arguments ...string) { h.cluster.Kubectl(h.T, "", append(arguments, "-n", h.namespace)...) }
	kubectl("create", "role", "workloads", "--verb", "*", "--resource", "workloads.kueue.x-k8s.io")
	kubectl("create", "rolebinding", "workloads", "--role", "workloads", "--serviceaccount", h.namespace+":tenant")
	mine := h.create(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, &unstructured.Unstructured{Object: fields{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": "mine"}}})
	bare, owned := harness.JoblessWorkload("bare", "q", 1), harness.JoblessWorkload("owned", "q", 1)
	harness.Must(h.T, unstructured.SetNestedSlice(owned.Object, ownedBy(mine), "metadata", "ownerReferences"))
	harness.Eventually(h.T, 10*time.Second, "the tenant may write Workloads", func() error {
		_, err := h.of(harness.Workloads).Create(harness.Context(h.T), owned, harness.ForReal)
		return err
	})
	h.create(harness.Workloads, bare)
	h.cluster.AwaitWorkload(h.T, h.namespace, "owned", "is not admitted", harness.HasCondition("QuotaReserved", "False", "Misconfigured"))
	h.cluster.AwaitWorkload(h.T, h.namespace, "bare", "is admitted", harness.HasCondition("Admitted", "True", ""))
	h.refused("a foreign controller for a Workload with quota",
		h.patch(harness.Workloads, "bare", fields{"metadata": fields{"ownerReferences": ownedBy(mine)}}), "metadata.ownerReferences")
}

func isSuspended(job *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	return suspended
}

// discloseNothing compares what the tenant hears about the neighbour's job with what it hears
// about one that does not exist.
func (h *hostileTenant) discloseNothing() {
	h.Helper()
	said := map[string]string{}
	for _, name := range []string{"secret-training", "never-existed"} {
		job := h.job("curious", "q", 1)
		owner := &unstructured.Unstructured{Object: fields{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
			"metadata": fields{"name": name, "uid": "1-2-3"}}}
		harness.Must(h.T, unstructured.SetNestedSlice(job.Object, ownedBy(owner), "metadata", "ownerReferences"))
		_, err := h.of(jobsOf).Create(harness.Context(h.T), job, harness.DryRun)
		said[name] = strings.ReplaceAll(fmt.Sprint(err), name, "NAME")
	}
	if said["secret-training"] != said["never-existed"] {
		h.Errorf("about a job of another namespace muster says %q, about none %q", said["secret-training"], said["never-existed"])
	}
	for _, kind := range []schema.GroupVersionResource{jobsOf, podsOf, harness.Workloads} {
		_, err := h.client.Resource(kind).Namespace(h.neighbour).List(harness.Context(h.T), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			h.Errorf("reading the %s of another namespace: %v", kind.Resource, err)
		}
	}
}
