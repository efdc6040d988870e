package harness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StartDashboard runs the command as a user; the address is the one that it prints.
func StartDashboard(t *testing.T, kubeconfig, namespace string, arguments ...string) string {
	t.Helper()
	command := exec.Command(MusterBinary(), append([]string{"dashboard", "--kubeconfig", kubeconfig, "-n", namespace}, arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	Must(t, err)
	Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("muster dashboard ends with %v", err)
		}
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	Must(t, err)
	return strings.TrimSpace(address)
}

// DoctorFinding is one finding of `muster doctor -o json`.
type DoctorFinding struct {
	Severity, Rule, Problem, Remedy string
	Objects                         []string
	Consequences                    []DoctorFinding
}

// AskDoctor is what `muster doctor` finds.
func AskDoctor(t *testing.T, cluster *Cluster) []DoctorFinding {
	t.Helper()
	said, err := cluster.Shell(t, "command muster doctor -o json")
	var found struct{ Findings []DoctorFinding }
	if parsed := json.Unmarshal([]byte(said), &found); parsed != nil {
		t.Fatalf("doctor says %v\n%s", err, said)
	}
	return found.Findings
}

// Explanation is what `muster explain -o json` prints, as far as the tests look.
type Explanation struct {
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

// Named is how many Workloads of a role are named; -1: not exactly one is counted.
func (e Explanation) Named(role string) int {
	for _, others := range e.Others {
		if others.Role == role && others.Count == 1 {
			return len(others.Names)
		}
	}
	return -1
}

// HostAddress is one of this machine's that the API server's proxy will use: not of the loopback.
func HostAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	Must(t, err)
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return FreeAddressOf(t, ip.IP.String())
		}
	}
	t.Fatal("this machine has no address but the loopback, so the API server cannot proxy to it")
	return ""
}

// ServeThroughService makes the Service muster-metrics lead to that address. The API server's
// proxy goes to addresses of pods only, so there is a pod that has this one, and that no kubelet runs.
func ServeThroughService(t *testing.T, cluster *Cluster, address string) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	Must(t, err)
	port, err := strconv.Atoi(text)
	Must(t, err)
	const namespace = "muster-system"
	core, ctx := cluster.Client.CoreV1(), Context(t)
	meta := metav1.ObjectMeta{Name: "muster-metrics"}
	t.Cleanup(func() {
		now := int64(0)
		_ = core.Services(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = core.Endpoints(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{})
		_ = core.Pods(namespace).Delete(context.Background(), meta.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	})
	_, err = core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "metrics", Port: 8443}}}}, metav1.CreateOptions{})
	Must(t, err)
	Eventually(t, time.Minute, "a pod, whose service account may be on its way", func() error {
		_, err := core.Pods(namespace).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "muster", Image: "muster"}}}}, metav1.CreateOptions{})
		return err
	})
	status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}]}}`, host, host)
	_, err = core.Pods(namespace).Patch(ctx, meta.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	Must(t, err)
	_, err = core.Endpoints(namespace).Create(ctx, &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: meta.Name, Namespace: namespace}}},
		Ports:     []corev1.EndpointPort{{Name: "metrics", Port: int32(port)}},
	}}}, metav1.CreateOptions{})
	Must(t, err)
}

// ExplainDirectly asks one replica itself.
func ExplainDirectly(t *testing.T, muster *Muster, path, token string) (int, Explanation) {
	t.Helper()
	status, body := AskMetricsPort(t, muster, path, token)
	var answer Explanation
	_ = json.Unmarshal([]byte(body), &answer)
	return status, answer
}

// ExplainedNamespaces are two namespaces that share a ClusterQueue of 20m cpu, all of it held
// by a Job of the second; then wait `secret` of the second and `train` of the first.
func ExplainedNamespaces(t *testing.T, cluster *Cluster) (mine, other string) {
	t.Helper()
	queues := cluster.Queues(t)
	mine, other = queues.Namespace, cluster.Queues(t).Namespace
	cluster.Patch(t, ClusterQueues, "", queues.ClusterQueue, fmt.Sprintf(`{"spec":{"stopPolicy":"None","resourceGroups":[
		{"coveredResources":["cpu"],"flavors":[{"name":%q,"resources":[{"name":"cpu","nominalQuota":"20m"}]}]}]}}`, queues.Hollow))
	cluster.Create(t, LocalQueues, other, LocalQueueOf("shared", queues.ClusterQueue))
	first := mine + "-first"
	cluster.CreatePriorityClass(t, first, 10)
	holder, secret := QueuedJob("holder", 2), QueuedJob("secret", 1)
	holder.Labels[QueueLabel], secret.Labels[QueueLabel] = "shared", "shared"
	cluster.CreateJob(t, other, holder)
	cluster.WaitForWorkload(t, other, "holder", "is admitted", HasCondition("Admitted", "True", ""))
	secret.Labels["kueue.x-k8s.io/priority-class"] = first
	cluster.CreateJob(t, other, secret)
	cluster.CreateJob(t, mine, QueuedJob("train", 1))
	for _, job := range [][2]string{{other, "secret"}, {mine, "train"}} {
		cluster.WaitForWorkload(t, job[0], job[1], "waits", HasCondition("QuotaReserved", "False", "WaitingForQuota"))
	}
	return mine, other
}

// ExplainUsers makes three service accounts, who can all ask muster in their own name: `boss` can do everything, `dev` can
// read jobs and Workloads of their namespace, `stranger` nothing more.
func ExplainUsers(t *testing.T, cluster *Cluster, namespace string) {
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

// ExplainToken is a token as `muster explain` makes them.
func ExplainToken(t *testing.T, cluster *Cluster, namespace, name string) string {
	t.Helper()
	return strings.TrimSpace(cluster.Kubectl(t, "", "create", "token", name, "-n", namespace, "--audience", ExplainAudience, "--duration", "10m"))
}

// ExplainAudience is what the tokens of `muster explain` are for.
const ExplainAudience = "muster.batch/explain"

// RunMuster runs a command of the binary.
func RunMuster(kubeconfig string, arguments ...string) (out string, code int, complaint string) {
	command := exec.Command(MusterBinary(), append(arguments, "--kubeconfig", kubeconfig)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run()
	return stdout.String(), command.ProcessState.ExitCode(), stderr.String()
}

// SessionSecret is the secret of a session, which its reader alone has.
const SessionSecret = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// SessionOf is the text of a session in that user's name.
func SessionOf(t *testing.T, name string, user map[string]any, secret string) string {
	t.Helper()
	digest := sha256.Sum256([]byte(secret))
	text, err := json.Marshal(map[string]any{
		"apiVersion": "muster.batch/v1alpha1", "kind": "ReaderSession", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"user": user, "secretHash": hex.EncodeToString(digest[:])},
	})
	Must(t, err)
	return string(text)
}

// AsUser is a user of the cluster, impersonated by an administrator: for the API server it is that user.
func AsUser(user string, groups ...string) []string {
	flags := []string{"--as", user}
	for _, group := range append(groups, "system:authenticated") {
		flags = append(flags, "--as-group", group)
	}
	return flags
}
