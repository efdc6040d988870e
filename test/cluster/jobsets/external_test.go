package jobsets

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// muster beside a foreign JobSet controller: a stand-in for upstream's.

func TestBesideAForeignControllerMusterKeepsItsFieldInTheDefinition(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	harness.StartMuster(t, "--jobset-controller", "auto")
	known := func() error { return foreign.KnowsGroups(t) }
	harness.Eventually(t, 20*time.Second, "the field is added", known)
	foreign.Reinstall(t)
	harness.Eventually(t, 20*time.Second, "the field is added again", known)
	cluster.WaitForEvent(t, "default", "jobsets."+harness.JobSetGroup, "groupSchedulingConfig")
}

// Upstream's install line takes no force: it must work before muster's patch and after it, again and again.
func TestTheInstallLineOfJobSetWorksBesideMuster(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	foreign.Apply(t)
	harness.StartMuster(t, "--jobset-controller", "external")
	for range 3 {
		harness.Eventually(t, 20*time.Second, "the field is there and the list of versions is not muster's", func() error {
			return errors.Join(foreign.KnowsGroups(t), foreign.Reserved(t))
		})
		foreign.Apply(t)
	}
	harness.Eventually(t, 20*time.Second, "the field is there after the last installation", func() error { return foreign.KnowsGroups(t) })
}

func TestBesideAForeignControllerMusterCanLeaveTheDefinitionAlone(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	cluster.RealNode(t)
	harness.StartMuster(t, "--jobset-controller", "external", "--no-patch-jobset-definition", "--waiter-image", harness.MusterImage)
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("train", harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")})
	jobSet.SetAnnotations(map[string]string{harness.TimeoutAnnotation: "300"})
	cluster.CreateJobSet(t, namespace, jobSet)
	pods := cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "started", harness.MainStarted)
	harness.CheckStartedTogether(t, pods)
	if foreign.KnowsGroups(t) == nil {
		t.Error("the definition was changed")
	}
}

func TestGangOfAForeignControllerStartsTogetherAndTimesOut(t *testing.T) {
	cluster := harness.Connect(t)
	foreign := cluster.InstallForeignJobSet(t)
	cluster.RealNode(t)
	harness.StartMuster(t, "--jobset-controller", "external", "--waiter-image", harness.MusterImage)
	harness.Eventually(t, 20*time.Second, "the field is added", func() error { return foreign.KnowsGroups(t) })
	namespace := cluster.Namespace(t, nil)
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("train",
		harness.ReplicatedJob{Name: "workers", Pods: 2, Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), namespace)}), 300))
	cluster.CreateJobSet(t, namespace, harness.GroupScheduling(harness.JobSetOf("never",
		harness.ReplicatedJob{Name: "workers", Template: harness.RealPod("sleep 600")},
		harness.ReplicatedJob{Name: "late", Template: harness.Gated(harness.RealPod("sleep 600"), "never")}), 4))

	cluster.WaitForJobSetPods(t, namespace, "train", 2, time.Minute, "waiting", harness.WaiterRuns)
	cluster.WaitForJobSet(t, namespace, "never", time.Minute, "failed", harness.HasCondition("Failed", "True", "GroupSchedulingTimeout"))
	harness.OpenGate(t, cluster, namespace)
	harness.CheckStartedTogether(t, cluster.WaitForJobSetPods(t, namespace, "train", 3, time.Minute, "started", harness.MainStarted))
}

func TestBesideAForeignControllerMusterMakesNoJobs(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.InstallForeignJobSet(t)
	harness.StartMuster(t)
	namespace := cluster.Namespace(t, nil)
	jobSet := harness.JobSetOf("theirs", harness.ReplicatedJob{Name: "workers", Template: harness.HollowPod(-1, 0)})
	cluster.CreateJobSet(t, namespace, jobSet)
	// Theirs is there; ours would be named and labelled alike, but by another field manager.
	job := cluster.WaitForPods(t, namespace, "theirs-workers-0", 1, time.Minute, "running", harness.IsRunning)[0]
	owner, err := cluster.Client.BatchV1().Jobs(namespace).Get(harness.Context(t), "theirs-workers-0", metav1.GetOptions{})
	harness.Must(t, err)
	for _, entry := range owner.ManagedFields {
		if entry.Manager == "muster" {
			t.Errorf("muster has written the Job of %s", job.Name)
		}
	}
	if services := cluster.Kubectl(t, "", "get", "services", "-n", namespace, "-o", "name"); services != "" {
		t.Errorf("muster has made %s", services)
	}
}

func TestNativeModeRefusesToStartBesideALiveForeignController(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.Kubectl(t, `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": {"name": "jobset-validating-webhook-configuration"}}`, "apply", "-f", "-")
	t.Cleanup(func() {
		cluster.Kubectl(t, "", "delete", "validatingwebhookconfiguration", "jobset-validating-webhook-configuration")
	})
	for _, mode := range []string{"native", "auto"} {
		command := exec.CommandContext(harness.Context(t), harness.MusterBinary(), "serve", "--kubeconfig", cluster.Kubeconfig, "--jobset-controller", mode,
			"--webhook-bind-address", "127.0.0.1:0", "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
		output, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(output), "jobset-validating-webhook-configuration") ||
			!strings.Contains(string(output), "--jobset-controller=external") {
			t.Errorf("%s: %v\n%s", mode, err, output)
		}
	}
}
