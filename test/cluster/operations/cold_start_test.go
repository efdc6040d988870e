package operations

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// readyWithin is how long the first of muster's replicas can take to serve.
const readyWithin = 15 * time.Second

// The control plane starts while muster, whose webhooks fail closed, is not there: its own namespaces and
// muster's become ready, labelled or not, and no call to muster is made for that. muster, the last to start, is
// ready soon.
func TestControlPlaneStartsWithoutMusterAndMusterLast(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartQueueMuster(t)
	namespace := cluster.Namespace(t, nil)
	muster.Kill(t)
	calls := answerFor(t, cluster, muster)
	cluster.CrashAPIServer(t)

	for _, controlPlane := range []string{"kube-system", "muster-system"} {
		runLabelled(t, cluster, controlPlane)
	}
	cluster.Namespace(t, nil) // the controllers give it what every namespace gets
	createAndWait(t, cluster, namespace, nil)
	asked := calls.end()
	// The API server keeps caches of every version that it serves, and fills them at its start.
	delete(asked, "/convert")
	if len(asked) > 0 {
		t.Errorf("muster was asked %v", asked)
	}
	if _, err := cluster.Client.BatchV1().Jobs(namespace).Create(harness.Context(t), harness.Job("queued", harness.Queue("some")), harness.DryRun); err == nil {
		t.Error("a queued Job was created without muster: nothing was to be asked")
	}

	took := restartsWithin(t, muster, time.Now)
	harness.Figure(t, "control plane at rest after 0 calls of muster; its first replica was ready after %.1f s", took.Seconds())
	harness.Must(t, harness.CreateQueued(harness.Context(t), cluster, namespace)(0))
}

// muster and the API server start at the same time: muster is ready soon after it.
func TestMusterStartsBesideAColdAPIServer(t *testing.T) {
	cluster := harness.Connect(t)
	muster := harness.StartQueueMuster(t)
	namespace := cluster.Namespace(t, nil)
	muster.Kill(t)
	cluster.KillAPIServer(t)
	took := restartsWithin(t, muster, func() time.Time {
		cluster.AwaitAPIServer(t)
		return time.Now()
	})
	harness.Figure(t, "ready %.1f s after the API server", took.Seconds())
	harness.Eventually(t, 20*time.Second, "a queued Job is created", func() error {
		return harness.CreateQueued(harness.Context(t), cluster, namespace)(0)
	})
}

// restartsWithin starts muster again and demands that it is ready in time, counted from
// what `begin` returns.
func restartsWithin(t *testing.T, muster *harness.Muster, begin func() time.Time) time.Duration {
	t.Helper()
	muster.Restart(t)
	began := begin()
	harness.Eventually(t, harness.Bound(readyWithin), "muster is ready", muster.Ready)
	return time.Since(began)
}

// askedOf counts what the API server asks, by path, and answers nothing.
type askedOf struct {
	t      *testing.T
	server *http.Server
	mutex  sync.Mutex
	counts map[string]int
}

// answerFor listens in muster's place, with muster's certificate.
func answerFor(t *testing.T, cluster *harness.Cluster, muster *harness.Muster) *askedOf {
	t.Helper()
	// The default name; other tests install muster with another one.
	secret, err := cluster.Client.CoreV1().Secrets("muster-system").Get(harness.Context(t), "kueue-webhook-server-cert", metav1.GetOptions{})
	harness.Must(t, err)
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	harness.Must(t, err)
	listener, err := net.Listen("tcp", muster.Address)
	harness.Must(t, err)
	asked := &askedOf{t: t, counts: map[string]int{}}
	asked.server = &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			asked.mutex.Lock()
			asked.counts[request.URL.Path]++
			asked.mutex.Unlock()
			http.Error(writer, "not there", http.StatusServiceUnavailable)
		}),
	}
	go func() { _ = asked.server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { asked.server.Close() })
	return asked
}

// end is what was asked until now; no process listens after it.
func (a *askedOf) end() map[string]int {
	a.t.Helper()
	harness.Must(a.t, a.server.Close())
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.counts
}

// runLabelled has a Deployment and a Job in a namespace of the control plane, with every
// label that would concern muster elsewhere, and waits until both run.
func runLabelled(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	labels := harness.Queue("some")
	labels["muster.batch/labelled"] = "yes"
	createAndWait(t, cluster, namespace, labels)
}

// createAndWait creates a Deployment and a Job with these labels on them and on their pods,
// and waits until the pods of both run; they are deleted with the test.
func createAndWait(t *testing.T, cluster *harness.Cluster, namespace string, labels map[string]string) {
	t.Helper()
	ctx, suffix := harness.Context(t), strings.ToLower(fmt.Sprintf("%x", time.Now().UnixNano()))
	template := harness.HollowPod(-1, 0)
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	template.Labels = map[string]string{"app": "cold-" + suffix}
	for key, value := range labels {
		template.Labels[key] = value
	}
	deployment, err := cluster.Client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "cold-" + suffix, Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: metav1.SetAsLabelSelector(map[string]string{"app": "cold-" + suffix}), Template: template},
	}, metav1.CreateOptions{})
	harness.Must(t, err)
	job := harness.Job("cold-"+suffix, labels)
	one := int32(1)
	job.Spec.Parallelism, job.Spec.Template = &one, harness.HollowPod(-1, 0)
	_, err = cluster.Client.BatchV1().Jobs(namespace).Create(ctx, job, harness.ForReal)
	harness.Must(t, err)
	t.Cleanup(func() {
		background := metav1.DeletePropagationBackground
		options := metav1.DeleteOptions{PropagationPolicy: &background}
		harness.Must(t, errors.Join(cluster.Client.AppsV1().Deployments(namespace).Delete(context.Background(), deployment.Name, options),
			cluster.Client.BatchV1().Jobs(namespace).Delete(context.Background(), job.Name, options)))
	})
	harness.Eventually(t, time.Minute, "a Deployment and a Job run in "+namespace, func() error {
		now, err := cluster.Client.AppsV1().Deployments(namespace).Get(ctx, deployment.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.Status.ReadyReplicas != 1 {
			return fmt.Errorf("the Deployment's status is %+v", now.Status)
		}
		made, err := cluster.Client.BatchV1().Jobs(namespace).Get(ctx, job.Name, metav1.GetOptions{})
		if err == nil && made.Status.Active != 1 {
			err = fmt.Errorf("the Job's status is %+v", made.Status)
		}
		return err
	})
}
