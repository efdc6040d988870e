package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
