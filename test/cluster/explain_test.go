package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.batch/test/cluster/harness"
)

// explained is what `muster explain -o json` prints, as far as the tests look.
type explained struct {
	Reason   string              `json:"reason"`
	Headline string              `json:"headline"`
	Notes    []string            `json:"notes"`
	Flavors  []map[string]string `json:"flavors"`
	Others   []struct {
		Role  string              `json:"role"`
		Count int                 `json:"count"`
		Names []map[string]string `json:"names"`
	} `json:"others"`
}

// named is how many Workloads of a role are named; -1: not exactly one is counted.
func (e explained) named(role string) int {
	for _, others := range e.Others {
		if others.Role == role && others.Count == 1 {
			return len(others.Names)
		}
	}
	return -1
}

// musterExplain runs the command; what it says on stderr comes with the exit code.
func musterExplain(t *testing.T, kubeconfig string, arguments ...string) (explained, int, string) {
	t.Helper()
	command := exec.Command(harness.MusterBinary(), append([]string{"explain", "-o", "json", "--kubeconfig", kubeconfig}, arguments...)...)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	_ = command.Run()
	var answer explained
	if out.Len() > 0 {
		must(t, json.Unmarshal(out.Bytes(), &answer))
	}
	return answer, command.ProcessState.ExitCode(), errors.String()
}

// hostAddress is one of this machine's that the API server's proxy will use: not of the loopback.
func hostAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return harness.FreeAddressOf(t, ip.IP.String())
		}
	}
	t.Fatal("this machine has no address but the loopback, so the API server cannot proxy to it")
	return ""
}

// serveThroughService makes the Service muster-metrics lead to that address. The API server's
// proxy goes to addresses of pods only, so there is a pod that has this one, and that no kubelet runs.
func serveThroughService(t *testing.T, cluster *harness.Cluster, address string) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	must(t, err)
	port, err := strconv.Atoi(text)
	must(t, err)
	const namespace = "muster-system"
	core, ctx := cluster.Client.CoreV1(), harness.Context(t)
	meta := metav1.ObjectMeta{Name: "muster-metrics"}
	t.Cleanup(func() {
		now := int64(0)
		_ = core.Services(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = core.Endpoints(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = core.Pods(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	})
	_, err = core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "metrics", Port: 8443}}}}, metav1.CreateOptions{})
	must(t, err)
	harness.Eventually(t, time.Minute, "a pod, whose service account may be on its way", func() error {
		_, err := core.Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "muster", Image: "muster"}}}}, metav1.CreateOptions{})
		return err
	})
	status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}]}}`, host, host)
	_, err = core.Pods(namespace).Patch(ctx, meta.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	must(t, err)
	_, err = core.Endpoints(namespace).Create(ctx, &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: meta.Name, Namespace: namespace}}},
		Ports:     []corev1.EndpointPort{{Name: "metrics", Port: int32(port)}},
	}}}, metav1.CreateOptions{})
	must(t, err)
}

// askDirectly asks one replica itself.
func askDirectly(t *testing.T, muster *harness.Muster, path, token string) (int, explained) {
	t.Helper()
	status, body := askMetricsPort(t, muster, path, token)
	var answer explained
	_ = json.Unmarshal([]byte(body), &answer)
	return status, answer
}

// explainedNamespaces are two namespaces that share a ClusterQueue of 20m cpu, all of it held
// by a Job of the second; then wait `secret` of the second and `train` of the first.
func explainedNamespaces(t *testing.T, cluster *harness.Cluster) (mine, other string) {
	t.Helper()
	queues := cluster.Queues(t)
	mine, other = queues.Namespace, cluster.Queues(t).Namespace
	cluster.Patch(t, harness.ClusterQueues, "", queues.ClusterQueue, fmt.Sprintf(`{"spec":{"stopPolicy":"None","resourceGroups":[
		{"coveredResources":["cpu"],"flavors":[{"name":%q,"resources":[{"name":"cpu","nominalQuota":"20m"}]}]}]}}`, queues.Hollow))
	cluster.Create(t, harness.LocalQueues, other, harness.LocalQueueOf("shared", queues.ClusterQueue))
	first := mine + "-first"
	cluster.CreatePriorityClass(t, first, 10)
	holder, secret := queuedJob("holder", 2), queuedJob("secret", 1)
	holder.Labels[harness.QueueLabel], secret.Labels[harness.QueueLabel] = "shared", "shared"
	cluster.CreateJob(t, other, holder)
	cluster.WaitForWorkload(t, other, "holder", "is admitted", harness.HasCondition("Admitted", "True", ""))
	secret.Labels["kueue.x-k8s.io/priority-class"] = first
	cluster.CreateJob(t, other, secret)
	cluster.CreateJob(t, mine, queuedJob("train", 1))
	for _, job := range [][2]string{{other, "secret"}, {mine, "train"}} {
		cluster.WaitForWorkload(t, job[0], job[1], "waits", harness.HasCondition("QuotaReserved", "False", "WaitingForQuota"))
	}
	return mine, other
}

// explainUsers makes three service accounts, who can all ask muster in their own name: `boss` can do everything, `dev` can
// read jobs and Workloads of their namespace, `stranger` nothing more.
func explainUsers(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	for _, name := range []string{"boss", "dev", "stranger"} {
		cluster.Kubectl(t, "", "create", "serviceaccount", name, "-n", namespace)
		cluster.Kubectl(t, "", "create", "rolebinding", "reader-"+name, "-n", namespace, "--clusterrole", "muster-reader",
			"--serviceaccount", namespace+":"+name)
	}
	cluster.Kubectl(t, "", "create", "clusterrolebinding", "boss-"+namespace, "--clusterrole", "cluster-admin",
		"--serviceaccount", namespace+":boss")
	t.Cleanup(func() { cluster.Kubectl(t, "", "delete", "clusterrolebinding", "boss-"+namespace) })
	cluster.Kubectl(t, "", "create", "role", "dev", "-n", namespace, "--verb", "get,list",
		"--resource", "jobs.batch,workloads.kueue.x-k8s.io")
	cluster.Kubectl(t, "", "create", "rolebinding", "dev", "-n", namespace, "--role", "dev", "--serviceaccount", namespace+":dev")
}

// mayMakeTokens lets a user make tokens of that service account.
func mayMakeTokens(t *testing.T, cluster *harness.Cluster, namespace, account, who string) {
	t.Helper()
	name := "tokens-of-" + account
	cluster.Kubectl(t, "", "create", "role", name, "-n", namespace, "--verb", "create",
		"--resource", "serviceaccounts/token", "--resource-name", account)
	cluster.Kubectl(t, "", "create", "rolebinding", name, "-n", namespace, "--role", name, who)
}

// explainToken is a token as `muster explain` makes them.
func explainToken(t *testing.T, cluster *harness.Cluster, namespace, name string) string {
	t.Helper()
	return strings.TrimSpace(cluster.Kubectl(t, "", "create", "token", name, "-n", namespace, "--audience", explainAudience, "--duration", "10m"))
}

func TestExplainSaysWhyAJobWaits(t *testing.T) {
	cluster := harness.Connect(t)
	config := writeFile(t, "config.yaml", namesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	address := hostAddress(t)
	muster := startQueueMuster(t, "--metrics-bind-address", address)
	serveThroughService(t, cluster, address)
	mine, other := explainedNamespaces(t, cluster)
	explainUsers(t, cluster, mine)

	var told explained
	boss := asServiceAccount(t, cluster, mine, "boss")
	harness.Eventually(t, 20*time.Second, "the answer through the API server's proxy", func() error {
		var code int
		var complaint string
		told, code, complaint = musterExplain(t, boss, "job/train", "-n", mine)
		if code != 0 || told.Reason != "WaitingForQuota" || len(told.Notes) > 0 {
			return fmt.Errorf("exit code %d, %+v, %s", code, told, complaint)
		}
		return nil
	})
	if len(told.Flavors) != 1 || told.Flavors[0]["requested"] != "10m" || told.Flavors[0]["free"] != "0" || told.Flavors[0]["nominal"] != "20m" {
		t.Errorf("the numbers are %v", told.Flavors)
	}
	if told.named("ahead") != 1 || told.named("holder") != 1 || told.Others[0].Names[0]["namespace"] != other {
		t.Errorf("to the boss, ahead of it are %+v", told.Others)
	}

	t.Run("names of other namespaces are for who may list there", func(t *testing.T) {
		told, code, complaint := musterExplain(t, asServiceAccount(t, cluster, mine, "dev"), "job/train", "-n", mine)
		if code != 0 || len(told.Notes) > 0 || told.named("ahead") != 0 || told.named("holder") != 0 {
			t.Errorf("exit code %d, %+v, %s", code, told, complaint)
		}
		_, code, complaint = musterExplain(t, asServiceAccount(t, cluster, mine, "dev"), "job/secret", "-n", other)
		if code != 1 || !strings.Contains(complaint, `you cannot create readersessions.muster.batch in namespace `+other) || !strings.Contains(complaint, `cannot list resource "jobs"`) {
			t.Errorf("about the other namespace: exit code %d, %s", code, complaint)
		}
	})
	t.Run("strangers get nothing", func(t *testing.T) {
		_, code, complaint := musterExplain(t, asServiceAccount(t, cluster, mine, "stranger"), "job/train", "-n", mine)
		if code != 1 || !strings.Contains(complaint, `cannot get jobs.batch "train"`) {
			t.Errorf("exit code %d, %s", code, complaint)
		}
		for _, token := range []string{"", "made-up"} {
			if status, _ := askDirectly(t, muster, "/explain/v1/namespaces/"+mine+"/jobs/train", token); status != http.StatusUnauthorized {
				t.Errorf("with the token %q: %d", token, status)
			}
		}
	})
	t.Run("a person with a certificate asks in the own name", func(t *testing.T) {
		answer, code, complaint := musterExplain(t, cluster.Kubeconfig, "job/train", "-n", mine)
		if code != 0 || answer.Headline != told.Headline || len(answer.Notes) > 0 || answer.named("ahead") != 1 || answer.named("holder") != 1 {
			t.Errorf("exit code %d, %+v, %s", code, answer, complaint)
		}
		if left := cluster.Kubectl(t, "", "get", "readersessions.muster.batch", "-A", "-o", "name"); left != "" {
			t.Errorf("sessions are left: %s", left)
		}
	})
	t.Run("who does not ask muster finds the same here", func(t *testing.T) {
		for _, flags := range [][]string{{"--local"}, {"--service-account", "muster-explain"}} {
			here, code, complaint := musterExplain(t, cluster.Kubeconfig, append(flags, "job/train", "-n", mine)...)
			if code != 0 || here.Headline != told.Headline || !reflect.DeepEqual(here.Flavors, told.Flavors) || !reflect.DeepEqual(here.Others, told.Others) {
				t.Errorf("%v: exit code %d, %+v, %s", flags, code, here, complaint)
			}
			if len(here.Notes) == 0 || !strings.HasPrefix(here.Notes[0], "Evaluated on this machine") {
				t.Errorf("%v: it does not say so: %v", flags, here.Notes)
			}
			if len(flags) == 2 && !strings.Contains(strings.Join(here.Notes, " "), mine+`/muster-explain, which takes the right to create serviceaccounts/token of it: serviceaccounts "muster-explain" not found`) {
				t.Errorf("it does not say why: %v", here.Notes)
			}
		}
	})
	t.Run("a person asks in the name of the namespace's account", func(t *testing.T) {
		cluster.Kubectl(t, "", "create", "serviceaccount", "muster-explain", "-n", mine)
		cluster.Kubectl(t, "", "create", "rolebinding", "muster-explain", "-n", mine, "--role", "dev", "--serviceaccount", mine+":muster-explain")
		answer, code, complaint := musterExplain(t, cluster.Kubeconfig, "job/train", "-n", mine, "--service-account", "muster-explain")
		if code != 0 || answer.Headline != told.Headline || len(answer.Notes) > 0 || answer.named("ahead") != 0 || answer.named("holder") != 0 {
			t.Errorf("exit code %d, %+v, %s", code, answer, complaint)
		}
		// What the account cannot see, the person can.
		answer, code, complaint = musterExplain(t, cluster.Kubeconfig, "job/secret", "-n", other, "--service-account", mine+"/muster-explain")
		if notes := strings.Join(answer.Notes, " "); code != 0 || !strings.Contains(notes, "Evaluated on this machine") || !strings.Contains(notes, "asked as "+mine+"/muster-explain") {
			t.Errorf("exit code %d, %+v, %s", code, answer, complaint)
		}
	})
	t.Run("a replica that does not lead says the same", func(t *testing.T) {
		follower := harness.LaunchMuster(t, "--jobset-controller", "native", "--config", quickLease(t, neverFree(t, cluster)),
			"--webhook-url", muster.URL, "--no-keep-webhook-configurations")
		token := explainToken(t, cluster, mine, "boss")
		status, followed := askDirectly(t, follower, "/explain/v1/namespaces/"+mine+"/jobs/train", token)
		if status != http.StatusOK || followed.Headline != told.Headline || !reflect.DeepEqual(followed.Flavors, told.Flavors) {
			t.Errorf("%d %+v", status, followed)
		}
	})
	if _, code, _ := musterExplain(t, boss, "job/none", "-n", mine); code != 1 {
		t.Errorf("about a Job that does not exist: exit code %d", code)
	}
	if _, code, _ := musterExplain(t, boss, "configmap/none", "-n", mine); code != 2 {
		t.Errorf("about a ConfigMap: exit code %d", code)
	}
	// Of a kind that is not queued here the answer is found in the object.
	if answer, code, complaint := musterExplain(t, boss, "pod/none", "-n", mine); code != 1 || answer.Reason != "NotFound" {
		t.Errorf("about a pod that does not exist: exit code %d, %+v, %s", code, answer, complaint)
	}
	// A name alone, the kind with its group, and the name of the job as that of its Workload.
	for _, form := range [][]string{{"train"}, {"jobs.batch/train"}, {"jobs", "train"}, {"workload/train"}} {
		answer, code, complaint := musterExplain(t, boss, append(form, "-n", mine)...)
		if code != 0 || answer.Reason != told.Reason {
			t.Errorf("%v: exit code %d, %+v, %s", form, code, answer, complaint)
		}
	}
	// The terms of its place, from muster.
	command := exec.Command(harness.MusterBinary(), "priority", "job/train", "-n", mine, "--kubeconfig", boss)
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), " has position ") {
		t.Errorf("%v: %s", err, out)
	}
	// For a user who cannot list them, Workloads of other namespaces have a place and no name.
	command = exec.Command(harness.MusterBinary(), "priority", "job/train", "-n", mine, "--kubeconfig", asServiceAccount(t, cluster, mine, "dev"))
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "(not visible)") || strings.Contains(string(out), "secret") {
		t.Errorf("%v: %s", err, out)
	}
}
