package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Chart is muster's Helm chart.
const Chart = "../../manifests/charts/muster"

// HelmBinary is beside the control plane.
func HelmBinary() string { return filepath.Join(filepath.Dir(LabBinary()), "helm") }

// Helm runs helm without a cluster and returns its output, or the error text that a user would see.
func Helm(t testing.TB, values string, arguments ...string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(HelmBinary(), append(arguments, "--values", file)...)
	command.Env = append(os.Environ(), "HOME="+folder, "KUBECONFIG=/nonexistent")
	return run(command, "")
}

// Shell runs commands as a user of the cluster would type them, with helm, kubectl and muster of this build on the path.
// Pods of muster get the address of the API server, which is what a cluster's Services do.
func (c *Cluster) Shell(t testing.TB, script string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	values, prelude := filepath.Join(folder, "values.yaml"), filepath.Join(folder, "prelude")
	host, port := c.AddressForPods(t)
	for path, text := range map[string]string{
		values: "extraEnv:\n- {name: KUBERNETES_SERVICE_HOST, value: " + host + "}\n- {name: KUBERNETES_SERVICE_PORT, value: \"" + port + "\"}\n" +
			"nodeSelector: {" + NodeLabel + ": real}\n",
		prelude: `set -euo pipefail
muster() {
  command muster "$@" | sed "s/^        env:\$/&\n        - {name: KUBERNETES_SERVICE_HOST, value: ` + host + `}\n        - {name: KUBERNETES_SERVICE_PORT, value: '` + port + `'}/"
}
helm() {
  case $1 in
    install | upgrade) command helm "$@" --values ` + values + ` ;;
    *) command helm "$@" ;;
  esac
}
`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := []string{}
	for _, binary := range []string{LabBinary(), MusterBinary()} {
		absolute, err := filepath.Abs(filepath.Dir(binary))
		if err != nil {
			t.Fatal(err)
		}
		path = append(path, absolute)
	}
	command := exec.Command("bash", "-c", ". "+prelude+"\n"+script)
	command.Dir = "../.." // pages name files from the top
	command.Env = append(os.Environ(), "HOME="+folder, "KUBECONFIG="+c.Kubeconfig, "IMAGE=muster",
		"PATH="+strings.Join(path, ":")+":"+os.Getenv("PATH"))
	output, err := run(command, "")
	return output, err
}

// WithToken is a client whose user is the bearer of a token.
func (c *Cluster) WithToken(t testing.TB, token string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// AddressForPods is where pods on the real node reach the API server: at the node, which is this machine.
func (c *Cluster) AddressForPods(t testing.TB) (host, port string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range c.nodes(t, "real")[0].Status.Addresses {
		if address.Type == "InternalIP" {
			host = address.Address
		}
	}
	return host, config.Host[strings.LastIndex(config.Host, ":")+1:]
}

// PageCommands are the commands of a page, by the heading that they stand under.
func PageCommands(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	Must(t, err)
	found, heading, open := map[string]string{}, "", false
	for _, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "```sh":
			open = true
		case line == "```":
			open = false
		case open:
			found[heading] += line + "\n"
		case strings.HasPrefix(line, "## "), strings.HasPrefix(line, "### "):
			heading = strings.TrimLeft(line, "# ")
		}
	}
	return found
}

// FollowPage runs the commands of some headings, one heading after the other.
func FollowPage(t *testing.T, cluster *Cluster, page string, headings ...string) (output string) {
	t.Helper()
	all := PageCommands(t, page)
	for _, heading := range headings {
		if all[heading] == "" {
			t.Fatalf("docs/%s has no commands under %q", page, heading)
		}
		began := time.Now()
		said, err := cluster.Shell(t, all[heading])
		t.Logf("%s: %.0f s", heading, time.Since(began).Seconds())
		if err != nil {
			t.Fatalf("docs/%s, %s: %v\n%s\n%s", page, heading, err, said, ClusterState(cluster))
		}
		output += said
	}
	return output
}

// ClusterState is what a person would look at after a failure.
func ClusterState(cluster *Cluster) string {
	text := ""
	for _, arguments := range [][]string{{"get", "pods,jobs,workloads.kueue.x-k8s.io", "-A", "-o", "wide"},
		{"-n", "muster-system", "logs", "-l", "app.kubernetes.io/name=muster", "--tail=30", "--prefix"}} {
		said, err := cluster.TryKubectl("", arguments...)
		text += said
		if err != nil {
			text += err.Error() + "\n"
		}
	}
	return text
}

// MusterPods are the pods of muster in the cluster.
func MusterPods(t *testing.T, cluster *Cluster) []corev1.Pod {
	t.Helper()
	pods, err := cluster.Client.CoreV1().Pods("muster-system").List(Context(t), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=muster"})
	Must(t, err)
	return pods.Items
}

// HelmWith makes every `helm COMMAND` of the script that follows have these arguments too.
func HelmWith(command, arguments string) string {
	return fmt.Sprintf(`eval "$(declare -f helm | sed '1s/helm/helm_as_it_is/')"
helm() {
  if [[ $1 == %s ]]; then set -- "$@" %s; fi
  helm_as_it_is "$@"
}
`, command, arguments)
}

// DeploymentFlags are the flags of `muster serve` in the Deployment that muster ships,
// without those that name files of the pod.
func DeploymentFlags(t *testing.T) (flags []string) {
	t.Helper()
	for _, object := range Documents(t, Manifests(t, "--only=deployment")) {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		arguments, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		for _, argument := range arguments[1:] {
			if !strings.HasPrefix(argument, "--config") {
				flags = append(flags, argument)
			}
		}
	}
	return flags
}

// ReadyMusterPods counts muster's pods that are ready, and fails the test for one whose container has ended.
func ReadyMusterPods(t *testing.T, cluster *Cluster) int {
	t.Helper()
	count := 0
	for _, pod := range MusterPods(t, cluster) {
		for _, container := range pod.Status.ContainerStatuses {
			if container.RestartCount > 0 {
				t.Fatalf("%s has restarted: %+v", pod.Name, container.LastTerminationState)
			}
			if container.Ready && pod.DeletionTimestamp == nil {
				count++
			}
		}
	}
	return count
}
