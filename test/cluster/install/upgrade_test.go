package install

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.batch/test/cluster/harness"
)

// rollout is a set of two replicas behind one address, which are replaced by those of another build.
type rollout struct {
	t        *testing.T
	cluster  *harness.Cluster
	service  *harness.Balancer
	flags    []string
	replicas []*harness.Muster
}

func (r *rollout) launch(binary string) *harness.Muster {
	r.t.Helper()
	replica := harness.LaunchMusterOf(r.t, binary, append([]string{"--webhook-url", r.service.URL()}, r.flags...)...)
	r.service.Add(replica)
	r.service.AwaitReady(r.t, replica)
	return replica
}

// to replaces all replicas, one more and then one less, after CRDs and webhooks have become those of that build. Jobs are
// created all the time, and none is refused.
func (r *rollout) to(binary, namespace string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var outcome harness.Outcome
	var load sync.WaitGroup
	load.Go(func() { outcome = harness.OpenLoad(ctx, 10, -1, harness.CreateQueued(ctx, r.cluster, namespace)) })
	old := r.replicas
	r.replicas = nil
	for _, each := range old {
		replica := r.launch(binary)
		if len(r.replicas) == 0 {
			replica.Register(r.t)
		}
		r.replicas = append(r.replicas, replica)
		r.service.Delete(r.t, each)
	}
	for _, each := range old {
		each.WaitEnded(r.t)
	}
	cancel()
	load.Wait()
	if outcome.Failed > 0 || outcome.Total() < 20 {
		r.t.Errorf("creates during the rollout: %s", outcome)
	}
}

// inFlight is the work of one namespace on the real node that a change of version must not touch.
type inFlight struct {
	t       *testing.T
	cluster *harness.Cluster
	teams   *harness.Teams
}

func small(job *batchv1.Job) *batchv1.Job {
	job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	return job
}

// start has two Jobs that run and one that waits for quota.
func (w *inFlight) start() {
	w.t.Helper()
	for _, name := range []string{"run-0", "run-1"} {
		job := small(harness.RealJob(name, 1, "sleep 3600"))
		job.Labels = harness.Queue("real")
		w.cluster.CreateJob(w.t, w.teams.Namespace, job)
		w.cluster.WaitForPods(w.t, w.teams.Namespace, name, 1, time.Minute, "running", harness.Phase(corev1.PodRunning))
	}
	large := harness.RealJob("waits", 1, "true")
	large.Labels = harness.Queue("real")
	large.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	w.cluster.CreateJob(w.t, w.teams.Namespace, large)
	w.teams.Waits("waits", "WaitingForQuota")
}

// gangWaits makes a gang of three whose last pod cannot be scheduled yet.
func (w *inFlight) gangWaits(name string) {
	w.t.Helper()
	template := func() corev1.PodTemplateSpec {
		template := harness.RealPod("sleep 3600")
		template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}
		return template
	}
	jobSet := harness.GroupScheduling(harness.JobSetOf(name,
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: template()},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(template(), w.gate(name))}), 600)
	jobSet.SetLabels(harness.Queue("real"))
	w.cluster.CreateJobSet(w.t, w.teams.Namespace, jobSet)
	w.cluster.WaitForJobSetPods(w.t, w.teams.Namespace, name, 2, time.Minute, "waiting", harness.WaiterRuns)
}

func (w *inFlight) gate(name string) string { return w.teams.Namespace + "-" + name }

// gangStarts lets the last pod come: all start together, and none of them has started before.
func (w *inFlight) gangStarts(name string) {
	w.t.Helper()
	for _, pod := range w.cluster.PodsOfJobSet(w.t, w.teams.Namespace, name) {
		if harness.MainStarted(&pod) {
			w.t.Errorf("%s did not wait", pod.Name)
		}
	}
	harness.OpenGate(w.t, w.cluster, w.gate(name))
	harness.CheckStartedTogether(w.t, w.cluster.WaitForJobSetPods(w.t, w.teams.Namespace, name, 3, time.Minute, "started", harness.MainStarted))
	w.cluster.WaitForJobSet(w.t, w.teams.Namespace, name, time.Minute, "started", harness.HasCondition("GroupStarted", "True", ""))
}

// picture is what must be the same afterwards: pods and the restarts of their containers, restarts of JobSets, and the
// admission of each Workload.
func (w *inFlight) picture() string {
	w.t.Helper()
	text, ctx := "", harness.Context(w.t)
	pods, err := w.cluster.Client.CoreV1().Pods(w.teams.Namespace).List(ctx, metav1.ListOptions{})
	harness.Must(w.t, err)
	for i := range pods.Items {
		restarts := int32(0)
		for _, container := range pods.Items[i].Status.ContainerStatuses {
			restarts += container.RestartCount
		}
		text += fmt.Sprintf("pod %s %s restarts=%d\n", pods.Items[i].Name, pods.Items[i].UID, restarts)
	}
	jobSets, err := w.cluster.Dynamic.Resource(harness.JobSets).Namespace(w.teams.Namespace).List(ctx, metav1.ListOptions{})
	harness.Must(w.t, err)
	for i := range jobSets.Items {
		restarts, _, _ := unstructured.NestedInt64(jobSets.Items[i].Object, "status", "restarts")
		text += fmt.Sprintf("jobset %s restarts=%d\n", jobSets.Items[i].GetName(), restarts)
	}
	workloads, err := w.cluster.Dynamic.Resource(harness.Workloads).Namespace(w.teams.Namespace).List(ctx, metav1.ListOptions{})
	harness.Must(w.t, err)
	for i := range workloads.Items {
		admission, _, _ := unstructured.NestedMap(workloads.Items[i].Object, "status", "admission")
		text += fmt.Sprintf("workload %s %s %s\n", workloads.Items[i].GetName(), workloads.Items[i].GetUID(), harness.ToJSON(w.t, admission))
	}
	return text
}

// unchanged runs a change of version and compares.
func (w *inFlight) unchanged(what string, change func()) {
	w.t.Helper()
	before := w.picture()
	change()
	if after := w.picture(); after != before {
		w.t.Errorf("before %s:\n%s\nafter it:\n%s", what, before, after)
	}
}

// From the previous build (MUSTER_PREVIOUS_BIN; scripts/upgrade_from makes one of a commit) to this one and back, each with
// its own CRDs and webhooks, while Workloads are admitted without a pause, Jobs run and gangs wait: admissions stay, nothing
// restarts, a gang that began to wait under one build starts together under the other, quota is never exceeded, and no
// create is refused. Without a previous build both are this one.
func TestUpgradeToTheNextVersionAndBack(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.RealNode(t)
	cluster.HollowNodes(t)
	cluster.EnsureMusterNamespace(t)
	flags := append(harness.DeploymentFlags(t), "--jobset-controller", "native", "--waiter-image", harness.MusterImage,
		"--config", harness.QuickLease(t, harness.UsualLease, harness.QueuedJobSetsConfig))
	muster := &rollout{t: t, cluster: cluster, service: cluster.Balancer(t), flags: flags}
	previous, next := harness.PreviousMusterBinary(), harness.MusterBinary()
	muster.replicas = []*harness.Muster{muster.launch(previous), muster.launch(previous)}
	muster.replicas[0].Register(t)
	// What this makes is removed while replicas run.
	t.Run("there and back", func(t *testing.T) {
		sharing, quota, runner := harness.TwoSharingTeams(t, cluster)
		work := &inFlight{t, cluster, cluster.Teams(t)}
		timeline := cluster.TimelineWithGaps(t, work.teams.Namespace)
		work.teams.RealFlavor("real")
		work.teams.Queue("real", work.teams.Cpus("real=1"))
		work.start()
		work.gangWaits("first")
		const each = 150
		admit := func(batch int) { harness.CreateForTwo(t, cluster, sharing.Namespace, batch*each, (batch+1)*each) }
		began := time.Now()

		admit(0)
		work.unchanged("the upgrade", func() { muster.to(next, sharing.Namespace) })
		admit(1)
		work.gangStarts("first")
		work.gangWaits("second")
		runner.Await(t, 2*each)

		admit(2)
		work.unchanged("the way back", func() { muster.to(previous, sharing.Namespace) })
		admit(3)
		work.gangStarts("second")
		runner.Await(t, 4*each)

		if made := quota.Check(t); len(made) < 4*each {
			t.Errorf("%d reservations for %d Workloads", len(made), 4*each)
		}
		timeline.Check(t) // each build's CRDs end the watches
		harness.Figure(t, "there and back in %.0f s: %d Workloads admitted, 2 running Jobs and 2 gangs kept, 0 restarts", time.Since(began).Seconds(), 4*each)
		harness.Must(t, cluster.RemoveWorkloads(sharing.Namespace))
		for _, name := range []string{"first", "second"} {
			harness.Must(t, cluster.Dynamic.Resource(harness.JobSets).Namespace(work.teams.Namespace).Delete(harness.Context(t),
				name, metav1.DeleteOptions{}))
		}
	})
}
