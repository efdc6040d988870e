package users

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// startsListed is a list of Workloads, as far as it speaks of estimated starts.
type startsListed struct {
	Metadata struct {
		Leads bool `json:"leads"`
	} `json:"metadata"`
	Items []struct {
		Job            struct{ Name string } `json:"job"`
		EstimatedStart *struct {
			Outcome  string    `json:"outcome"`
			Earliest time.Time `json:"earliest"`
			Latest   time.Time `json:"latest"`
			Basis    string    `json:"basisInWords"`
		} `json:"estimatedStart"`
	} `json:"items"`
}

func TestJobsThatWaitHaveAnEstimatedStart(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	address := harness.HostAddress(t)
	muster := harness.StartQueueMuster(t, "--metrics-bind-address", address)
	harness.ServeThroughService(t, cluster, address)
	silent := harness.LaunchMuster(t, "--jobset-controller", "native", "--no-start-estimates", "--webhook-url", muster.URL)

	queues := cluster.Queues(t)
	mine, other := queues.Namespace, cluster.Queues(t).Namespace
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, fmt.Sprintf(`{"spec":{"stopPolicy":"None","resourceGroups":[
		{"coveredResources":["cpu"],"flavors":[{"name":%q,"resources":[{"name":"cpu","nominalQuota":"20m"}]}]}]}}`, queues.Hollow))
	cluster.Create(t, harness.LocalQueues, other, harness.LocalQueueOf("shared", queues.ClusterQueue))
	holder := harness.QueuedJob("holder", 2)
	holder.Labels[harness.QueueLabel], holder.Labels[harness.MaxExecTimeLabel] = "shared", "6000"
	cluster.CreateJob(t, other, holder)
	cluster.WaitForWorkload(t, other, "holder", "is admitted", harness.HasCondition("Admitted", "True", ""))
	admitted := time.Now()
	cluster.CreateJob(t, mine, harness.QueuedJob("train", 1))
	cluster.WaitForWorkload(t, mine, "train", "waits", harness.HasCondition("QuotaReserved", "False", "WaitingForQuota"))
	harness.ExplainUsers(t, cluster, mine)
	dev, stranger := harness.AsServiceAccount(t, cluster, mine, "dev"), harness.AsServiceAccount(t, cluster, mine, "stranger")

	list := func(muster *harness.Muster) (list startsListed, text string) {
		status, text := harness.AskMetricsPort(t, muster, "/lists/v1/workloads?namespace="+mine, harness.ExplainToken(t, cluster, mine, "dev"))
		harness.Must(t, json.Unmarshal([]byte(text), &list))
		if status != 200 || len(list.Items) != 1 {
			t.Fatalf("%d: %s", status, text)
		}
		return list, text
	}
	harness.Eventually(t, 100*time.Second, "an estimate", func() error {
		if list, text := list(muster); list.Items[0].EstimatedStart == nil {
			return fmt.Errorf("none: %s", text)
		}
		return nil
	})

	t.Run("a range within the maximum execution time of the job that runs", func(t *testing.T) {
		listed, text := list(muster)
		start := listed.Items[0].EstimatedStart
		if start.Outcome != "Range" || start.Basis != "maximum execution times" || !start.Earliest.After(admitted) ||
			!start.Latest.After(start.Earliest) || start.Latest.After(admitted.Add(6000*time.Second)) {
			t.Error(text)
		}
	})
	t.Run("explain and the wide table say it", func(t *testing.T) {
		out, code, complaint := harness.RunMuster(dev, "explain", "job/train", "-n", mine)
		if code != 0 || !strings.Contains(out, "Estimated start") || !strings.Contains(out, "from maximum execution times; an estimate, no promise") {
			t.Errorf("exit code %d, %s%s", code, out, complaint)
		}
		for _, secret := range []string{other, "holder", "shared"} {
			if strings.Contains(out, secret) {
				t.Errorf("names %s of another namespace: %s", secret, out)
			}
		}
		out, code, complaint = harness.RunMuster(dev, "get", "jobs", "-n", mine, "-o", "wide")
		lines := strings.Split(out, "\n")
		if code != 0 || len(lines) < 2 || !strings.Contains(lines[0], " ETA ") || !strings.Contains(lines[1], "m-") {
			t.Errorf("exit code %d, %s%s", code, out, complaint)
		}
	})
	t.Run("who may not read the job gets no estimate", func(t *testing.T) {
		for _, arguments := range [][]string{{"explain", "job/train", "-n", mine}, {"get", "jobs", "-n", mine, "-o", "wide"}} {
			if out, code, _ := harness.RunMuster(stranger, arguments...); code == 0 || strings.Contains(out, "Estimated") ||
				strings.Contains(out, "ETA") {
				t.Errorf("%v: exit code %d, %s", arguments, code, out)
			}
		}
		if out, code, _ := harness.RunMuster(dev, "get", "jobs", "-n", other, "-o", "wide"); code == 0 || strings.Contains(out, "holder") {
			t.Errorf("of the other namespace: exit code %d, %s", code, out)
		}
	})
	t.Run("a replica that is told not to makes none", func(t *testing.T) {
		if list, text := list(silent); list.Items[0].EstimatedStart != nil {
			t.Error(text)
		}
	})
	t.Run("it is gone once the job is admitted", func(t *testing.T) {
		cluster.Kubectl(t, "", "delete", "job", "holder", "-n", other)
		cluster.WaitForWorkload(t, mine, "train", "is admitted", harness.HasCondition("Admitted", "True", ""))
		harness.Eventually(t, 20*time.Second, "no estimate beside a job that runs", func() error {
			out, code, complaint := harness.RunMuster(dev, "explain", "job/train", "-n", mine)
			if code != 0 || strings.Contains(out, "Estimated start") {
				return fmt.Errorf("exit code %d, %s%s", code, out, complaint)
			}
			return nil
		})
	})
}
