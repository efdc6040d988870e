package install

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

// ofTheMove are the versions of everything that `muster adopt` can change, but for the Lease, which Kueue renews.
func ofTheMove(t *testing.T, cluster *harness.Cluster) string {
	t.Helper()
	const each = `jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.generation} {.metadata.resourceVersion}{"\n"}{end}`
	return cluster.Kubectl(t, "", "get", "crds,mutatingwebhookconfigurations,validatingwebhookconfigurations,apiservices", "-o", each) +
		cluster.Kubectl(t, "", "-n", "kueue-system", "get", "deployments,configmaps", "-o", each) +
		cluster.Kubectl(t, "", "-n", "muster-system", "get", "configmaps", "-o", each)
}

// adoptUntil runs `muster adopt` and kills it when it says that it begins with a step. False: it has ended before.
func adoptUntil(t *testing.T, cluster *harness.Cluster, step string) bool {
	t.Helper()
	command := exec.Command(harness.MusterBinary(), "adopt", "--kubeconfig", cluster.Kubeconfig)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, command.Start())
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), step+":") {
			harness.Must(t, command.Process.Kill())
			_ = command.Wait()
			return true
		}
	}
	harness.Must(t, command.Wait())
	return false
}

// Two ways in which a move goes wrong: muster's image cannot be pulled, so nothing is changed; and the command is killed
// in the middle, three times, and goes on each time. No create of a job with a queue starts it in between.
func TestAdoptIsRefusedWithoutAnImageAndGoesOnWhenItIsKilled(t *testing.T) {
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	harness.FollowPage(t, cluster, "install.md", "With kubectl", "First queue and first Job")
	running := manyWorkloads(t, cluster, 10)
	kueue := becomeKueue(t, cluster)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(harness.ClusterState(cluster))
		}
	})
	install := harness.PageCommands(t, "migration.md")["2. Install muster beside Kueue"]
	if said, err := cluster.Shell(t, "export IMAGE=registry.invalid/muster\n"+install); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	harness.Eventually(t, time.Minute, "the image is not there", func() error {
		for _, pod := range harness.MusterPods(t, cluster) {
			for _, container := range pod.Status.ContainerStatuses {
				if waiting := container.State.Waiting; waiting != nil && strings.Contains(waiting.Reason, "Image") {
					return nil
				}
			}
		}
		return fmt.Errorf("%s", harness.ClusterState(cluster))
	})
	before, admitted := ofTheMove(t, cluster), picture(t, cluster, running)
	said, err := cluster.Shell(t, "muster adopt")
	if err == nil || !strings.Contains(said+err.Error(), "no pod of muster runs: its image registry.invalid/muster:0.1.0 cannot be pulled") ||
		!strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("adopt says %v\n%s", err, said)
	}
	if after := ofTheMove(t, cluster); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if said, err := cluster.Shell(t, "muster doctor"); err == nil || !strings.Contains(said, "set image deployment/muster muster=IMAGE") {
		t.Errorf("doctor says %v\n%s", err, said)
	}
	cluster.Kubectl(t, "", "-n", "muster-system", "delete", "deployment", "muster", "--cascade=foreground", "--timeout=1m")

	harness.FollowPage(t, cluster, "migration.md", "2. Install muster beside Kueue")
	ctx, cancel := context.WithCancel(harness.Context(t))
	defer cancel()
	var outcome harness.Outcome
	var load sync.WaitGroup
	load.Go(func() {
		outcome = harness.OpenLoad(ctx, 10, -1, func(number int) error {
			job := harness.Job(fmt.Sprintf("between-%d", number), harness.Queue("main"))
			made, err := cluster.Client.BatchV1().Jobs("default").Create(context.WithoutCancel(ctx), job, harness.DryRun)
			if err == nil && !harness.Suspended(made) {
				return fmt.Errorf("%s could have started", job.Name)
			}
			return nil // refused: no scheduler decides yet
		})
	})
	for _, step := range []string{"scale-down", "take-lease", "await-muster"} {
		if !adoptUntil(t, cluster, step) {
			t.Errorf("the move had ended before %s", step)
		}
	}
	harness.FollowPage(t, cluster, "migration.md", "3. Move", "4. Verify")
	cancel()
	load.Wait()
	if outcome.Failed > 0 || outcome.Total() < 20 {
		t.Errorf("creates during the move: %s", outcome)
	}
	if after := picture(t, cluster, running); after != admitted {
		t.Errorf("before the move:\n%s\nafter it:\n%s", admitted, after)
	}
	if overlaps := kueue.overlaps.Load(); overlaps > 0 {
		t.Errorf("both led at %d moments", overlaps)
	}
	_, err = cluster.Client.CoreV1().ConfigMaps("muster-system").Get(harness.Context(t), "muster-adoption", metav1.GetOptions{})
	harness.Must(t, err)
}
