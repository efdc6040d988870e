package users

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"muster.batch/test/cluster/harness"
)

// Kueue's visibility API at the API server's own paths.

const visibilityGroup = "/apis/visibility.kueue.x-k8s.io"

// aggregatedMuster is a muster whose visibility API the API server has.
type aggregatedMuster struct {
	*harness.Muster
	address  string // of the listener
	services string // the APIServices, as YAML
}

// startAggregatedMuster runs muster with the rights of `muster manifests` and no others, and returns when the API
// server has its APIServices. They go before muster does: without an answer they would hold up the deletion of every
// namespace.
func startAggregatedMuster(t *testing.T, cluster *harness.Cluster) aggregatedMuster {
	t.Helper()
	address := harness.HostAddress(t)
	host, port, err := net.SplitHostPort(address)
	harness.Must(t, err)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests+"visibilityServer: {bindAddress: "+host+", bindPort: "+port+"}\n"+
		"---\napiVersion: config.muster.batch/v1alpha1\nkind: MusterConfiguration\naggregatedVisibility: true\njobSetController: native\n")
	harness.ApplyRights(t, cluster, config)
	reachThroughService(t, cluster, "muster-webhook", "visibility", address)
	cluster.ForgetCertificates(t)
	muster := harness.StartMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"))
	services := harness.Manifests(t, "--only=api-services", "--config", config)
	cluster.Kubectl(t, services, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, services, "delete", "--ignore-not-found", "-f", "-") })
	for _, version := range []string{"v1beta1", "v1beta2"} {
		awaitAvailable(t, cluster, version, "True")
	}
	return aggregatedMuster{muster, address, services}
}

// reachThroughService makes a Service of muster's namespace lead to that address.
func reachThroughService(t *testing.T, cluster *harness.Cluster, name, portName, address string) {
	t.Helper()
	host, port := addressParts(t, address)
	const namespace = "muster-system"
	core, ctx := cluster.Client.CoreV1(), harness.Context(t)
	meta := metav1.ObjectMeta{Name: name}
	t.Cleanup(func() {
		_ = core.Services(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = core.Endpoints(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	_, err := core.Services(namespace).Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: portName, Port: port}}}}, metav1.CreateOptions{})
	harness.Must(t, err)
	_, err = core.Endpoints(namespace).Create(ctx, &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: host}},
		Ports:     []corev1.EndpointPort{{Name: portName, Port: port}},
	}}}, metav1.CreateOptions{})
	harness.Must(t, err)
}

func addressParts(t *testing.T, address string) (string, int32) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	harness.Must(t, err)
	var port int32
	_, err = fmt.Sscan(text, &port)
	harness.Must(t, err)
	return host, port
}

func awaitAvailable(t *testing.T, cluster *harness.Cluster, version, status string) {
	t.Helper()
	harness.Eventually(t, 2*time.Minute, version+" has Available="+status, func() error {
		got := cluster.Kubectl(t, "", "get", "apiservice", version+".visibility.kueue.x-k8s.io", "-o",
			`jsonpath={.status.conditions[?(@.type=="Available")]}`)
		if !strings.Contains(got, `"status":"`+status+`"`) {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
}

func TestTheVisibilityAPIIsAggregated(t *testing.T) {
	cluster := harness.Connect(t)
	muster := startAggregatedMuster(t, cluster)
	mine, other := harness.ExplainedNamespaces(t, cluster)
	queue := strings.TrimSpace(cluster.Kubectl(t, "", "get", "localqueue", harness.LocalQueueName, "-n", mine, "-o", "jsonpath={.spec.clusterQueue}"))
	admin := visibilityClient(t, cluster.Kubeconfig, "v1beta2")

	t.Run("kubectl finds and reads it", func(t *testing.T) {
		// The aggregator lists a version some time after it is available.
		harness.Eventually(t, 30*time.Second, "kubectl api-versions has both", func() error {
			if versions := cluster.Kubectl(t, "", "api-versions"); !strings.Contains(versions, "visibility.kueue.x-k8s.io/v1beta1\nvisibility.kueue.x-k8s.io/v1beta2\n") {
				return fmt.Errorf("%s", versions)
			}
			return nil
		})
		for _, version := range []string{"v1beta1", "v1beta2"} {
			if resources := cluster.Kubectl(t, "", "get", "--raw", visibilityGroup+"/"+version); !strings.Contains(resources, `"clusterqueues/pendingworkloads"`) {
				t.Errorf("%s: %s", version, resources)
			}
			var summary pendingSummary
			text := cluster.Kubectl(t, "", "get", "--raw", visibilityGroup+"/"+version+"/clusterqueues/"+queue+"/pendingworkloads?limit=1&offset=1")
			harness.Must(t, json.Unmarshal([]byte(text), &summary))
			if summary.APIVersion != "visibility.kueue.x-k8s.io/"+version || len(summary.Items) != 1 || summary.Items[0].Namespace != mine || summary.Items[0].PositionInClusterQueue != 1 {
				t.Errorf("%s: %s", version, text)
			}
		}
		// Kueue's other group keeps the short names.
		if queues := cluster.Kubectl(t, "", "get", "clusterqueues", queue, "-o", "name"); strings.TrimSpace(queues) != "clusterqueue.kueue.x-k8s.io/"+queue {
			t.Errorf("kubectl get clusterqueues: %s", queues)
		}
	})

	t.Run("a typed client reads it, a page at a time", func(t *testing.T) {
		for _, version := range []string{"v1beta1", "v1beta2"} {
			client := visibilityClient(t, cluster.Kubeconfig, version)
			all, err := pendingOfClusterQueue(client, queue)
			harness.Must(t, err)
			if got := fmt.Sprint(namesOf(all)); got != fmt.Sprint([]string{other, mine}) || all.Items[1].LocalQueueName != harness.LocalQueueName {
				t.Errorf("%s: %+v", version, all)
			}
			page, err := pendingOfClusterQueue(client, queue, "limit", "1")
			harness.Must(t, err)
			if len(page.Items) != 1 || page.Items[0].Namespace != other {
				t.Errorf("%s, the first: %+v", version, page)
			}
			local, err := pendingOfLocalQueue(client, mine, harness.LocalQueueName, "limit", "10", "offset", "0")
			harness.Must(t, err)
			if len(local.Items) != 1 || local.Items[0].PositionInLocalQueue != 0 || local.Items[0].PositionInClusterQueue != 1 {
				t.Errorf("%s, of the LocalQueue: %+v", version, local)
			}
		}
		if _, err := pendingOfClusterQueue(admin, "there-is-none"); !apierrors.IsNotFound(err) {
			t.Errorf("a queue that is not there: %v", err)
		}
		if _, err := pendingOfClusterQueue(admin, queue, "limit", "many"); !apierrors.IsBadRequest(err) {
			t.Errorf("a limit that is no number: %v", err)
		}
	})

	t.Run("a user sees what their rights say", func(t *testing.T) {
		for _, name := range []string{"dev", "outsider"} {
			cluster.Kubectl(t, "", "create", "serviceaccount", name, "-n", mine)
		}
		// As `muster manifests` gives it to people: muster-pending-workloads-lq-viewer.
		cluster.Kubectl(t, "", "create", "rolebinding", "pending", "-n", mine, "--clusterrole", "muster-pending-workloads-lq-viewer", "--serviceaccount", mine+":dev")
		dev := visibilityClient(t, harness.AsServiceAccount(t, cluster, mine, "dev"), "v1beta2")
		outsider := visibilityClient(t, harness.AsServiceAccount(t, cluster, mine, "outsider"), "v1beta2")
		harness.Eventually(t, 30*time.Second, "dev reads the queue of their namespace", func() error {
			summary, err := pendingOfLocalQueue(dev, mine, harness.LocalQueueName)
			if err == nil && len(summary.Items) != 1 {
				err = fmt.Errorf("%+v", summary)
			}
			return err
		})
		for what, err := range map[string]error{
			"dev reads another namespace":       second(pendingOfLocalQueue(dev, other, "shared")),
			"dev reads the ClusterQueue":        second(pendingOfClusterQueue(dev, queue)),
			"outsider reads the queue":          second(pendingOfLocalQueue(outsider, mine, harness.LocalQueueName)),
			"outsider asks for a queue of none": second(pendingOfClusterQueue(outsider, "there-is-none")),
		} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})

	t.Run("who is not the API server gets nothing at the port", func(t *testing.T) {
		path := visibilityGroup + "/v1beta2/clusterqueues/" + queue + "/pendingworkloads"
		asAdmin := http.Header{"X-Remote-User": {"system:admin"}, "X-Remote-Group": {"system:masters"}}
		proxy := cluster.FrontProxy(t)
		administrator := cluster.Administrator(t).Certificate
		foreign := harness.SelfSigned(t, "front-proxy-client")
		ofCluster, otherName := cluster.ClientOfTheClusterNamed(t, "front-proxy-client"), cluster.FrontProxyNamed(t, "front-proxy-client-2")
		for name, certificate := range map[string]*tls.Certificate{
			"no certificate": nil, "an administrator's": &administrator, "of the cluster's CA": &ofCluster,
			"another name of the right CA": &otherName, "signed by itself": &foreign,
		} {
			for _, headers := range []http.Header{asAdmin, {"x-remote-user": {"system:admin"}}, {"X-Remote-User": {"alice", "system:admin"}},
				{"Authorization": {"Bearer " + harness.AccountToken(t, cluster, "muster-system", "muster")}}} {
				for _, target := range []string{path, "/apis", visibilityGroup + "/v1beta2"} {
					if status, body := askVisibilityPort(t, muster.address, target, certificate, headers); status != http.StatusUnauthorized || !strings.Contains(body, `"kind":"Status"`) {
						t.Errorf("%s with %v at %s: %d %s", name, headers, target, status, body)
					}
				}
			}
		}
		if status, body := askVisibilityPort(t, muster.address, path, &proxy, asAdmin); status != http.StatusOK {
			t.Errorf("the API server itself: %d %s", status, body)
		}
		for _, headers := range []http.Header{{"X-Remote-User": {"alice", "system:admin"}}, {"X-Remote-User": {"alice"}, "x-remote-user": {"system:admin"}}, {"X-Remote-Group": {"system:masters"}}} {
			if status, body := askVisibilityPort(t, muster.address, path, &proxy, headers); status != http.StatusUnauthorized {
				t.Errorf("a user who is smuggled in by %v: %d %s", headers, status, body)
			}
		}
		if status, body := askVisibilityPort(t, muster.address, path, &proxy, http.Header{"X-Remote-User": {"alice"}}); status != http.StatusForbidden {
			t.Errorf("a user without rights: %d %s", status, body)
		}
	})

	t.Run("headers of a user do not reach it through the API server", func(t *testing.T) {
		config, err := clientcmd.BuildConfigFromFlags("", harness.AsServiceAccount(t, cluster, mine, "outsider"))
		harness.Must(t, err)
		client, err := rest.HTTPClientFor(config)
		harness.Must(t, err)
		request, err := http.NewRequest(http.MethodGet, config.Host+visibilityGroup+"/v1beta2/clusterqueues/"+queue+"/pendingworkloads", nil)
		harness.Must(t, err)
		request.Header["X-Remote-User"], request.Header["x-remote-group"] = []string{"system:admin"}, []string{"system:masters"}
		answer, err := client.Do(request)
		harness.Must(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("the API server passes on %s", answer.Status)
		}
	})

	t.Run("webhooks need no certificate", func(t *testing.T) {
		cluster.CreateJob(t, mine, harness.QueuedJob("reviewed", 1))
	})

	t.Run("namespaces are deleted while muster answers, and wait while it does not", func(t *testing.T) {
		namespaces, ctx := cluster.Client.CoreV1().Namespaces(), harness.Context(t)
		goes := cluster.Namespace(t, nil)
		harness.Must(t, namespaces.Delete(ctx, goes, metav1.DeleteOptions{}))
		awaitGone(t, cluster, goes)

		waits := cluster.Namespace(t, nil)
		// As if every replica were away.
		harness.Must(t, cluster.Client.CoreV1().Endpoints("muster-system").Delete(ctx, "muster-webhook", metav1.DeleteOptions{}))
		for _, version := range []string{"v1beta1", "v1beta2"} {
			awaitAvailable(t, cluster, version, "False")
		}
		harness.Must(t, namespaces.Delete(ctx, waits, metav1.DeleteOptions{}))
		harness.Eventually(t, 2*time.Minute, "the deletion says what it waits for", func() error {
			namespace, err := namespaces.Get(ctx, waits, metav1.GetOptions{})
			harness.Must(t, err)
			for _, condition := range namespace.Status.Conditions {
				if condition.Type == corev1.NamespaceDeletionDiscoveryFailure && condition.Status == corev1.ConditionTrue && strings.Contains(condition.Message, "visibility.kueue.x-k8s.io") {
					return nil
				}
			}
			return fmt.Errorf("%+v", namespace.Status.Conditions)
		})
		// The remedy of docs/visibility.md.
		cluster.Kubectl(t, muster.services, "delete", "-f", "-")
		awaitGone(t, cluster, waits)
	})
}

func awaitGone(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	harness.Eventually(t, 2*time.Minute, "the namespace is gone", func() error {
		found, err := cluster.Client.CoreV1().Namespaces().Get(context.Background(), namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%v %+v", err, found.Status)
	})
}

func second(_ *pendingSummary, err error) error { return err }

// TestTheVisibilityAPIIsOffByDefault: no listener, no APIService, no right; and the feature gate takes also muster's own
// paths away.
func TestTheVisibilityAPIIsOffByDefault(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	all := harness.Manifests(t, "--config", config)
	for _, trace := range []string{"APIService", "extension-apiserver-authentication", "apiregistration.k8s.io", "8082"} {
		if strings.Contains(all, trace) {
			t.Errorf("the manifests hold %s without being asked for it", trace)
		}
	}
	harness.ApplyRights(t, cluster, config)
	muster := harness.LaunchMuster(t, "--jobset-controller", "native", "--feature-gates", "VisibilityOnDemand=false")
	queues := cluster.Queues(t)
	harness.ExplainUsers(t, cluster, queues.Namespace)
	status, body := harness.AskMetricsPort(t, muster, visibilityGroup+"/v1beta2/clusterqueues/"+queues.ClusterQueue+"/pendingworkloads",
		harness.ExplainToken(t, cluster, queues.Namespace, "boss"))
	if status != http.StatusNotFound {
		t.Errorf("with the gate off: %d %s", status, body)
	}
}
