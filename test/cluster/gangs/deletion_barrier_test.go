package gangs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"muster.batch/test/cluster/harness"
)

// A finalizer keeps an object for as long as a user wants. Its deletion frees the finalizers and nothing else.

// deletion is a ConfigMap of a gang that a user's finalizer keeps.
type deletion struct {
	*testing.T
	cluster         *harness.Cluster
	user            kubernetes.Interface // with every right, but not muster
	namespace, name string
}

func (d deletion) patch(name, body string) error {
	_, err := d.user.CoreV1().ConfigMaps(d.namespace).Patch(harness.Context(d), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

func (d deletion) data(key string) string {
	d.Helper()
	live, err := d.cluster.Client.CoreV1().ConfigMaps(d.namespace).Get(harness.Context(d), d.name, metav1.GetOptions{})
	harness.Must(d, err)
	return live.Data[key]
}

func (d deletion) refuse(reason, body string) {
	d.Helper()
	if err := d.patch(d.name, body); err == nil || !strings.Contains(err.Error(), reason) {
		d.Errorf("%s was not refused with %q: %v", body, reason, err)
	}
}

// delete deletes a ConfigMap that a finalizer keeps.
func (d deletion) delete(name string) {
	d.Helper()
	harness.Must(d, d.patch(name, `{"metadata":{"finalizers":["example.test/mine"]}}`))
	harness.Must(d, d.cluster.Client.CoreV1().ConfigMaps(d.namespace).Delete(harness.Context(d), name, metav1.DeleteOptions{}))
}

func TestAConfigMapThatIsBeingDeletedOpensNoBarrier(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartGangMuster(t)
	user := harness.Impersonate(t, cluster, "alice", "system:masters")
	d := deletion{t, cluster, user, cluster.Namespace(t, nil), "train-group-scheduling"}
	cluster.CreateJobSet(t, d.namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.HollowPod(-1, 0)},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.HollowPod(-1, 0), d.namespace)}), 600))
	cluster.WaitForJobSetPods(t, d.namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)
	token := ""
	harness.Eventually(t, 20*time.Second, "the run has a deadline", func() error {
		if token, _, _ = strings.Cut(d.data("deadlines"), " "); token == "" {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	started := fmt.Sprintf(`{"data":{"started":"%s\n"}}`, token)
	d.refuse("only muster writes it", started)
	d.delete(d.name)
	d.refuse("only muster writes it", started)
	d.refuse("only muster writes it", strings.Replace(started, `{"data"`, `{"metadata":{"finalizers":null},"data"`, 1))
	harness.Eventually(t, 20*time.Second, "the run is revoked", func() error {
		if deadlines := d.data("deadlines"); deadlines != "" {
			return fmt.Errorf("deadlines: %q", deadlines)
		}
		return nil
	})
	d.goesWithoutMuster(muster, started)
	for _, pod := range cluster.PodsOfJobSet(t, d.namespace, "train") {
		if harness.MainStarted(&pod) {
			t.Errorf("%s did not wait", pod.Name)
		}
	}
}

// goesWithoutMuster: the last finalizer can be removed, also from the largest ConfigMap and from a Job with thousands of
// labels, since its cost in CEL must not grow with the object.
func (d deletion) goesWithoutMuster(muster *harness.Muster, started string) {
	d.Helper()
	ctx := harness.Context(d)
	large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large-group-scheduling"}, Data: map[string]string{}}
	for i := range 5000 {
		large.Data[fmt.Sprint("key-", i)] = strings.Repeat("x", 150)
	}
	_, err := d.cluster.Client.CoreV1().ConfigMaps(d.namespace).Create(ctx, large, harness.ForReal)
	harness.Must(d, err)
	d.delete(large.Name)
	job := harness.Job("labelled", harness.Queue("some"))
	job.Finalizers = []string{"example.test/mine"}
	for i := range 5000 {
		job.Labels[fmt.Sprint("label-", i)] = "x"
	}
	jobs := d.cluster.Client.BatchV1().Jobs(d.namespace)
	_, err = jobs.Create(ctx, job, harness.ForReal)
	harness.Must(d, err)
	harness.Must(d, jobs.Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))

	muster.Kill(d)
	d.refuse("failed calling webhook", started)
	const free = `{"metadata":{"finalizers":null}}`
	for _, name := range []string{d.name, large.Name} {
		harness.Must(d, d.patch(name, free))
		d.cluster.AwaitGone(d, corev1.SchemeGroupVersion.WithResource("configmaps"), d.namespace, name)
	}
	_, err = jobs.Patch(ctx, job.Name, types.MergePatchType, []byte(free), metav1.PatchOptions{})
	harness.Must(d, err)
	d.cluster.AwaitGone(d, harness.Jobs, d.namespace, job.Name)
}
