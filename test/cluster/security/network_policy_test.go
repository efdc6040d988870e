package security

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.batch/test/cluster/harness"
)

const (
	webhookPort = 9443
	metricsPort = 8443
	probesPort  = 8081
)

// `stranger` is a pod that tries to reach others.
func stranger(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	template := harness.RealPod("sleep 3600")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stranger", Namespace: namespace}, Spec: template.Spec}
	_, err := cluster.Client.CoreV1().Pods(namespace).Create(harness.Context(t), pod, metav1.CreateOptions{})
	harness.Must(t, err)
	cluster.WaitForPod(t, namespace, "stranger", time.Minute, "runs", harness.Phase(corev1.PodRunning))
}

// openPorts are the ports of an address to which the `stranger` of a namespace can connect.
func openPorts(cluster *harness.Cluster, namespace, address string) map[int]bool {
	open := map[int]bool{}
	for _, port := range []int{webhookPort, metricsPort, probesPort} {
		_, err := cluster.TryKubectl("", "exec", "-n", namespace, "stranger", "--", "nc", "-w", "2", address, strconv.Itoa(port), "-e", "true")
		if err == nil {
			open[port] = true
		}
	}
	return open
}

// awaitReach waits until the other pods reach exactly these ports of every pod of muster.
func awaitReach(t *testing.T, cluster *harness.Cluster, what string, want map[string]map[int]bool) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, what, func() error {
		for _, pod := range harness.MusterPods(t, cluster) {
			for namespace, ports := range want {
				if open := openPorts(cluster, namespace, pod.Status.PodIP); !maps.Equal(open, ports) {
					return fmt.Errorf("from %s the ports %v of %s are open, and not %v", namespace, open, pod.Name, ports)
				}
			}
		}
		return nil
	})
}

// The NetworkPolicy in the pods' network, enforced by an agent: it closes every port but the two of webhooks and metrics,
// and the values open each to its peers only. The API server, which is on the node, and the kubelet's probes pass. The
// agent, as most do, lets everything pass that comes from the pod's own node, so that the API server's address in
// webhookFrom itself has no effect here.
func TestTheNetworkPolicyIsEnforced(t *testing.T) {
	if !harness.InOwnNetwork(t) {
		return
	}
	cluster := harness.OwnLab(t)
	cluster.RealNode(t)
	cluster.EnforceNetworkPolicies(t)
	install := harness.PageCommands(t, "install.md")["With Helm"]
	if said, err := cluster.Shell(t, harness.HelmWith("install", "--set networkPolicy.enabled=false")+install); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said, harness.ClusterState(cluster))
	}
	upgrade := func(values string) {
		t.Helper()
		if said, err := cluster.Shell(t, "helm upgrade muster manifests/charts/muster --namespace muster-system --reuse-values --wait --timeout 2m "+values); err != nil {
			t.Fatalf("%v\n%s\n%s", err, said, harness.ClusterState(cluster))
		}
	}
	_, err := cluster.Client.CoreV1().Namespaces().Create(harness.Context(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "monitoring"}}, metav1.CreateOptions{})
	harness.Must(t, err)
	stranger(t, cluster, "default")
	harness.Eventually(t, time.Minute, "the default service account", func() error {
		_, err := cluster.Client.CoreV1().ServiceAccounts("monitoring").Get(harness.Context(t), "default", metav1.GetOptions{})
		return err
	})
	stranger(t, cluster, "monitoring")
	began := harness.MusterPods(t, cluster)

	all := map[int]bool{webhookPort: true, metricsPort: true, probesPort: true}
	awaitReach(t, cluster, "without the policy all ports are open", map[string]map[int]bool{"default": all, "monitoring": all})

	upgrade("--set networkPolicy.enabled=true")
	served := map[int]bool{webhookPort: true, metricsPort: true}
	awaitReach(t, cluster, "the policy leaves two ports open", map[string]map[int]bool{"default": served, "monitoring": served})

	upgrade(`--set-json 'networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]'`)
	webhook := map[int]bool{webhookPort: true}
	awaitReach(t, cluster, "metrics are for their namespace", map[string]map[int]bool{"default": webhook, "monitoring": served})

	upgrade(`--set-json 'networkPolicy.webhookFrom=[{"ipBlock":{"cidr":"192.0.2.0/24"}}]'`)
	awaitReach(t, cluster, "webhooks are for others", map[string]map[int]bool{"default": {}, "monitoring": {metricsPort: true}})

	// The API server still calls the webhooks, and the kubelet still finds the pods ready.
	harness.FollowPage(t, cluster, "install.md", "First queue and first Job")
	if after := harness.MusterPods(t, cluster); len(after) != 2 || harness.ReadyMusterPods(t, cluster) != 2 || after[0].UID != began[0].UID && after[0].UID != began[1].UID {
		t.Errorf("the pods were replaced, or are not ready:\n%s", harness.ClusterState(cluster))
	}
}
