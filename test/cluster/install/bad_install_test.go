package install

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.batch/test/cluster/harness"
)

const helmUpgrade = "helm upgrade muster manifests/charts/muster --namespace muster-system --reuse-values --wait --timeout "

// An installation that goes wrong, and each remedy as the pages or `muster doctor` name it: jobs without a queue never notice,
// what runs goes on, and what is repaired goes on where it was.
func TestInstallPageThatGoesWrongIsRepaired(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	fails := func(script, want string) {
		t.Helper()
		said, err := cluster.Shell(t, script)
		if err == nil {
			t.Errorf("%s succeeds: %s", script, said)
		} else if text := said + err.Error(); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q but\n%s", script, want, text)
		}
	}
	works := func(script string) string {
		t.Helper()
		said, err := cluster.Shell(t, script)
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", script, err, said, harness.ClusterState(cluster))
		}
		return said
	}
	ends := func(name string, labels map[string]string) {
		t.Helper()
		job := harness.RealJob(name, 1, "true")
		job.Labels = labels
		cluster.CreateJob(t, "default", job)
		cluster.WaitForJob(t, "default", name, time.Minute, batchv1.JobComplete)
	}

	// An image that cannot be pulled: the webhooks are there, and no process answers them.
	install := strings.TrimSpace(harness.PageCommands(t, "install.md")["With Helm"])
	fails("IMAGE=muster.invalid/muster\n"+strings.Replace(install, "--timeout 2m", "--timeout 15s", 1), "deadline")
	look := strings.Split(strings.TrimSpace(harness.PageCommands(t, "install.md")["If it is not ready"]), "\n")
	fails(look[0], "not ready: 0 of 2 replicas are ready")
	fails(look[1], "no replica of muster is ready")
	fails("muster status --wait --timeout 2s", "The cause, by muster doctor:\nBlocker  Pod muster-system/")
	if all := harness.AskDoctor(t, cluster); len(all) != 1 || all[0].Rule != "muster-pod-waits" || len(all[0].Consequences) < 3 ||
		!strings.Contains(all[0].Problem, "cannot be pulled") || strings.Contains(all[0].Remedy, "restart") {
		t.Errorf("an image that cannot be pulled is %+v", all)
	}
	// No node for the pods: the scheduler's text, and no log of a container that has not started.
	works("kubectl cordon -l " + harness.NodeLabel + "=real && kubectl -n muster-system delete pods --all --wait=false")
	harness.Eventually(t, time.Minute, "doctor has the scheduler's text", func() error {
		all := harness.AskDoctor(t, cluster)
		if len(all) == 1 && strings.Contains(all[0].Problem, "nodes are available") && !strings.Contains(all[0].Remedy, "logs") {
			return nil
		}
		return fmt.Errorf("it finds %+v", all)
	})
	works("kubectl uncordon -l " + harness.NodeLabel + "=real")
	ends("unqueued-1", nil)
	fails(`kubectl create job early --image busybox --dry-run=client -o yaml | kubectl label --local -f - kueue.x-k8s.io/queue-name=main -o yaml | kubectl create -f -`,
		"failed calling webhook")
	works(helmUpgrade + "2m --set image.repository=muster")
	if said := works("muster status --wait --timeout 1m"); !strings.Contains(said, "2 of 2 replicas are ready, the webhooks answer") {
		t.Errorf("muster status says %s", said)
	}
	harness.FollowPage(t, cluster, "install.md", "First queue and first Job")

	// The same in an upgrade: the pods that are there stay until the new ones are ready.
	fails(helmUpgrade+"15s --set image.tag=missing", "deadline")
	ends("beside-a-failed-upgrade", harness.Queue("main"))
	works(harness.PageCommands(t, "upgrade.md")["With Helm"][strings.Index(harness.PageCommands(t, "upgrade.md")["With Helm"], "helm rollback"):])

	// Some of the definitions are gone: what is there is kept, and nothing is decided until all are back.
	running := harness.RealJob("running", 1, "sleep 600")
	running.Labels = harness.Queue("main")
	cluster.CreateJob(t, "default", running)
	before := cluster.WaitForPods(t, "default", "running", 1, time.Minute, "running", harness.Phase(corev1.PodRunning))[0].UID
	works("kubectl delete crd cohorts.kueue.x-k8s.io workloadpriorityclasses.kueue.x-k8s.io --timeout 1m")
	fails("muster doctor", "cohorts.kueue.x-k8s.io")
	ends("unqueued-2", nil)
	works("muster manifests --only crds | kubectl apply --server-side -f -")
	ends("after-the-definitions", harness.Queue("main"))

	// muster's rights are gone.
	works("kubectl delete clusterrolebinding muster")
	mend := "helm upgrade muster manifests/charts/muster --namespace muster-system --reuse-values"
	fails("muster doctor", mend)
	works(mend)
	ends("after-the-rights", harness.Queue("main"))
	if pods := cluster.PodsOfJob(t, "default", "running"); len(pods) != 1 || pods[0].UID != before {
		t.Error("the running Job's pod is another one")
	}
	works("muster doctor || true")
}
