package harness

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ApplyRights applies what manifests/rbac.yaml holds, for the names in `config` and further
// flags of `muster manifests`, and the policy by which persons say who they are; it is removed at the test's end. It
// returns the rights of muster's service account, one for each verb, resource and name.
func ApplyRights(t testing.TB, c *Cluster, config string, flags ...string) (rights []Right) {
	t.Helper()
	c.EnsureMusterNamespace(t)
	manifests := Manifests(t, append([]string{"--only=rbac", "--config", config}, flags...)...)
	c.Kubectl(t, manifests, "apply", "-f", "-")
	t.Cleanup(func() { c.Kubectl(t, manifests, "delete", "--ignore-not-found", "--wait=false", "-f", "-") })
	for _, object := range Documents(t, Manifests(t, "--only=policies")) {
		if object.GetName() == SessionPolicy {
			text := c.Apply(t, object)
			t.Cleanup(func() { c.Kubectl(t, text, "delete", "--ignore-not-found", "-f", "-") })
		}
	}
	for _, object := range Documents(t, manifests) {
		if object.GetName() != "muster" || (object.GetKind() != "ClusterRole" && object.GetKind() != "Role") {
			continue
		}
		var role rbacv1.Role // a ClusterRole has its rules at the same place
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, rightsOf(rule, object.GetNamespace())...)
		}
	}
	return rights
}

// SessionPolicy makes ReaderSessions a proof of who asks: the policy and its binding have this name.
const SessionPolicy = "muster-reader-sessions"

// Apply applies an object and returns its text.
func (c *Cluster) Apply(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, string(text), "apply", "-f", "-")
	return string(text)
}

func rightsOf(rule rbacv1.PolicyRule, namespace string) (rights []Right) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, Right{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name})
				}
			}
		}
	}
	return rights
}

// NamesOfTheManifests is a configuration with the names that muster's manifests give to its Service and its Secret.
const NamesOfTheManifests = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
internalCertManagement:
  webhookServiceName: muster-webhook
  webhookSecretName: muster-webhook-cert
`

// AccountToken is a service account's, for the API server and one hour.
func AccountToken(t *testing.T, cluster *Cluster, namespace, name string) string {
	t.Helper()
	return strings.TrimSpace(cluster.Kubectl(t, "", "create", "token", name, "-n", namespace))
}

// AsServiceAccount writes a kubeconfig that is the lab's but for the user, who is a
// service account with a token of one hour.
func AsServiceAccount(t *testing.T, cluster *Cluster, namespace, name string) string {
	t.Helper()
	token := AccountToken(t, cluster, namespace, name)
	view := cluster.Kubectl(t, "", "config", "view", "--raw", "--minify", "-o",
		"jsonpath={.clusters[0].cluster.server} {.clusters[0].cluster.certificate-authority-data}")
	var server, authority string
	if _, err := fmt.Sscan(view, &server, &authority); err != nil {
		t.Fatalf("the lab's kubeconfig: %q: %v", view, err)
	}
	return WriteFile(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: u, user: {token: %q}}]
`, server, authority, token))
}
