package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// A new user follows docs/install.md in an empty cluster: muster runs in two pods from its image, and a queued Job ends. Then
// the page about uninstalling, to its end.
func TestInstallPageByKubectl(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	began := time.Now()
	output := harness.FollowPage(t, cluster, "install.md", "With kubectl", "Check", "First queue and first Job")
	if !strings.Contains(output, "hello from the queue") {
		t.Errorf("the commands say\n%s", output)
	}
	harness.Figure(t, "from an empty cluster to a Job that has run: %.0f s", time.Since(began).Seconds())
	if pods := harness.MusterPods(t, cluster); len(pods) != 2 {
		t.Errorf("there are %d pods of muster", len(pods))
	}
	uninstallAsThePageSays(t, cluster, "2. Remove muster with kubectl")
}

// The same with Helm.
func TestInstallPageByHelm(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	output := harness.FollowPage(t, cluster, "install.md", "With Helm", "Pod Security with Helm", "Check",
		"First queue and first Job", "Permissions of users")
	if !strings.Contains(output, "hello from the queue") {
		t.Errorf("the commands say\n%s", output)
	}
	// The API server names pods that do not meet the level, when a namespace gets its label.
	if !strings.Contains(output, "namespace/muster-system labeled") || strings.Contains(output, "violate") {
		t.Errorf("muster's pods do not meet the level that the page gives the namespace\n%s", output)
	}
	for _, part := range []string{"muster status --wait\n", "muster doctor\n", "muster works in namespace muster-system: 2 of 2 replicas are ready"} {
		if !strings.Contains(output, part) {
			t.Errorf("neither the chart's notes nor muster say %q\n%s", part, output)
		}
	}
	for _, pod := range harness.MusterPods(t, cluster) {
		if !strings.HasPrefix(pod.Spec.Containers[0].Image, "muster:") || len(pod.Status.ContainerStatuses) == 0 || !pod.Status.ContainerStatuses[0].Ready {
			t.Errorf("%s runs %s: %+v", pod.Name, pod.Spec.Containers[0].Image, pod.Status.ContainerStatuses)
		}
	}
	answersBothUsers(t, cluster)
	sysdumpHasMetrics(t, cluster)
	uninstallAsThePageSays(t, cluster, "2. Remove muster with Helm")
}

// answersBothUsers has the administrator, by a client certificate, and a user of the page's group ask about the first Job
// and about one that waits.
func answersBothUsers(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	waits, one := harness.Job("waits", harness.Queue("main")), int32(1)
	waits.Spec.Parallelism = &one
	waits.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Mi")}
	cluster.CreateJob(t, "default", waits)
	users := map[string][]string{"admin": nil, "alice": harness.AsUser("alice", "team-a")}
	for name, flags := range users {
		for question, wanted := range map[string]string{"explain job/first": "Job default/first has succeeded", "explain job/waits": "but ClusterQueue team-a can use at most 1",
			"history job/first": "Admitted", "get jobs": "job/waits", "get queues": "Active", "who cpu -q main": ""} {
			arguments := append(append(strings.Fields(question), "-n", "default"), flags...)
			harness.Eventually(t, time.Minute, name+" asks: "+question, func() error {
				out, code, complaint := harness.RunMuster(cluster.Kubeconfig, arguments...)
				if code != 0 || strings.Contains(complaint, "Evaluated") || strings.Contains(out, "Evaluated") || !strings.Contains(out, wanted) {
					return fmt.Errorf("exit code %d\n%s%s", code, complaint, out)
				}
				return nil
			})
		}
		page := harness.StartDashboard(t, cluster.Kubeconfig, "default", flags...)
		browser := harness.OpenBrowser(t)
		browser.Do(t, chromedp.Navigate(page))
		if text := browser.WaitText(t, "job/waits"); strings.Contains(text, "Evaluated") {
			t.Errorf("the page of %s was not answered by muster:\n%s", name, text)
		}
	}
}

// sysdumpHasMetrics dumps muster in its pods: with the metrics of each pod, or with the reason why they are not there.
func sysdumpHasMetrics(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	dump := func(arguments string) (folder string) {
		folder = filepath.Join(t.TempDir(), "dump")
		if said, err := cluster.Shell(t, "muster sysdump "+arguments+" "+folder); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return folder
	}
	read := func(folder, name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return ""
		}
		return string(text)
	}
	folder, all := dump(""), ""
	for _, pod := range harness.MusterPods(t, cluster) {
		text := read(folder, "metrics-"+pod.Name+".txt")
		all += text
		if !strings.Contains(text, "muster_build_info{") {
			t.Errorf("the metrics of %s are %.300q; not read: %s", pod.Name, text, read(folder, "not-read.txt"))
		}
	}
	if !strings.Contains(all, "kueue_admitted_workloads_total{") {
		t.Error("the leader's counters are in no file")
	}
	// An account without the right to get /metrics.
	cluster.Kubectl(t, "", "create", "serviceaccount", "stranger")
	folder = dump("--service-account default/stranger")
	for _, pod := range harness.MusterPods(t, cluster) {
		if text := read(folder, "metrics-"+pod.Name+".txt"); text != "" {
			t.Errorf("a stranger gets the metrics of %s: %.300s", pod.Name, text)
		}
		if why := read(folder, "not-read.txt"); !strings.Contains(why, "metrics of pod "+pod.Name+": ") || !strings.Contains(why, "may not get the nonResourceURL /metrics") {
			t.Errorf("the dump does not say why: %s", why)
		}
	}
	if why := read(dump("--service-account default/nobody"), "not-read.txt"); !strings.Contains(why, `serviceaccounts "nobody" not found`) {
		t.Errorf("the dump does not say why there is no token: %s", why)
	}
}

// The upgrade and the rollback of docs/upgrade.md replace all pods, twice, while Jobs are created: none is refused, and
// what runs is not touched.
func TestUpgradePageRefusesNoJob(t *testing.T) {
	cluster := harness.OwnLab(t)
	outcome := harness.ReplacedUnderLoad(t, cluster, 20, func() {
		old := map[string]bool{}
		for _, pod := range harness.MusterPods(t, cluster) {
			old[pod.Name] = true
		}
		// A setting that changes replaces all pods.
		if output, err := cluster.Shell(t, harness.HelmWith("upgrade", "--set configuration.muster.logFormat=text")+harness.PageCommands(t, "upgrade.md")["With Helm"]); err != nil {
			t.Errorf("%v\n%s\n%s", err, output, harness.ClusterState(cluster))
		}
		for _, pod := range harness.MusterPods(t, cluster) {
			if old[pod.Name] && pod.DeletionTimestamp == nil {
				t.Errorf("%s has not been replaced", pod.Name)
			}
		}
	})
	harness.Figure(t, "all pods replaced twice at 20 creates/s: %s", outcome)
	if outcome.Failed > 0 || outcome.Total() < 50 {
		t.Errorf("creates: %s", outcome)
	}
}

// uninstallAsThePageSays follows docs/uninstall.md: what runs runs on, nothing that is left blocks anything.
func uninstallAsThePageSays(t *testing.T, cluster *harness.Cluster, removal string) {
	t.Helper()
	running := harness.RealJob("running", 1, "sleep 600")
	running.Labels = harness.Queue("main")
	cluster.CreateJob(t, "default", running)
	cluster.WaitForPods(t, "default", "running", 1, time.Minute, "running", harness.Phase(corev1.PodRunning))
	waiting := harness.RealJob("waiting", 1, "sleep 600")
	waiting.Labels = harness.Queue("main")
	waiting.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}
	cluster.CreateJob(t, "default", waiting)
	if output := harness.FollowPage(t, cluster, "uninstall.md", "1. See what waits"); !strings.Contains(output, "default/waiting\n") || strings.Contains(output, "running") {
		t.Errorf("waiting Jobs are %q", output)
	}
	harness.FollowPage(t, cluster, "uninstall.md", removal)
	ctx := harness.Context(t)

	// The CRDs and what is in them stay, in the version that needs no conversion.
	if queues := cluster.Kubectl(t, "", "get", "clusterqueues", "-o", "name"); !strings.Contains(queues, "team-a") {
		t.Errorf("queues that are left: %q", queues)
	}
	// Jobs are created and start by themselves, with a queue or without.
	for name, labels := range map[string]map[string]string{"plain": nil, "queued": harness.Queue("main")} {
		job := harness.RealJob(name, 1, "true")
		job.Labels = labels
		cluster.CreateJob(t, "default", job)
		cluster.WaitForJob(t, "default", name, time.Minute, batchv1.JobComplete)
	}
	if pods := cluster.PodsOfJob(t, "default", "running"); len(pods) != 1 || pods[0].Status.Phase != corev1.PodRunning {
		t.Errorf("the running Job has %d pods", len(pods))
	}
	// What was suspended is the user's to start.
	cluster.Kubectl(t, "", "patch", "job", "waiting", "-p", `{"spec":{"suspend":false}}`)

	harness.FollowPage(t, cluster, "uninstall.md", "3. Remove finalizers", "4. Delete the definitions", "5. Delete the namespace")
	if left := cluster.Kubectl(t, "", "get", "crds", "-o", "name"); strings.Contains(left, "kueue.x-k8s.io") {
		t.Errorf("CRDs that are left: %q", left)
	}
	_, err := cluster.Client.CoreV1().Namespaces().Get(ctx, "muster-system", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", errors.Join(err, errors.New("is still there")))
	}
	if left := leftOfMuster(t, cluster); left != "" {
		t.Errorf("left of muster: %s", left)
	}
}

// leftOfMuster names cluster-wide objects with muster's label.
func leftOfMuster(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	return cluster.Kubectl(t, "", "get", "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations,"+
		"validatingadmissionpolicies,validatingadmissionpolicybindings", "-l", "app.kubernetes.io/name=muster", "-o", "name")
}
