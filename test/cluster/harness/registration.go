package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// applied are the resources of what apply is used for.
var applied = map[string]schema.GroupVersionResource{
	"CustomResourceDefinition":       Definitions,
	"MutatingWebhookConfiguration":   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	"ValidatingWebhookConfiguration": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// apply is `kubectl apply --server-side --force-conflicts` without a process, for it is a part of every test. It takes
// ownership of fields that muster itself has written (CA bundles, entries that follow the configuration), like a user
// who applies the manifest again.
func (c *Cluster) apply(t testing.TB, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		_, err := c.Dynamic.Resource(applied[object.GetKind()]).Apply(Context(t), object.GetName(), object,
			metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		if err != nil {
			t.Fatalf("applying %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// applyCRDs installs muster's kinds. They stay: removing them would delete every object and would not help the
// next test. If a foreign JobSet controller is installed, its definition is not changed, as for a user. Objects
// are converted at `url`, as in muster's registration: only one of URL and Service is allowed. A definition
// that changes ends all watches of its kind a second later.
func (c *Cluster) applyCRDs(t testing.TB, binary, url string) {
	t.Helper()
	kept := []*unstructured.Unstructured{}
	foreign := c.foreignJobSetInstalled(t)
	arguments := []string{"--only=crds", "--webhook-url", url}
	if servesV1beta1() {
		arguments = append(arguments, "--serve-v1beta1")
	}
	for _, definition := range Documents(t, manifestsOf(t, binary, arguments...)) {
		if !foreign || definition.GetName() != jobSetDefinition {
			kept = append(kept, definition)
		}
	}
	c.apply(t, kept)
	for _, definition := range kept {
		Eventually(t, 30*time.Second, definition.GetName()+" is served", func() error {
			found, err := c.Dynamic.Resource(Definitions).Get(Context(t), definition.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return HasCondition("Established", "True", "")(found)
		})
	}
}

// webhookAddress is the address at which the existing definitions convert their objects, if this address is
// free: then the definitions stay unchanged. Otherwise it is a free address.
func (c *Cluster) webhookAddress(t testing.TB) string {
	t.Helper()
	found, err := c.Dynamic.Resource(Definitions).Get(Context(t), "workloads."+KueueGroup, metav1.GetOptions{})
	if err != nil {
		return FreeAddress(t)
	}
	text, _, _ := unstructured.NestedString(found.Object, "spec", "conversion", "webhook", "clientConfig", "url")
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return FreeAddress(t)
	}
	listener, err := net.Listen("tcp", parsed.Host)
	if err != nil {
		return FreeAddress(t)
	}
	listener.Close()
	addressesGiven.Store(parsed.Host, true)
	return parsed.Host
}

// servesV1beta1 is true, so that tests can use both versions, but in benchmarks that ask to go without the old one.
func servesV1beta1() bool { return os.Getenv("MUSTER_BENCH_V1BETA1") != "false" }

// Register applies the webhook configurations and waits until the API server
// calls them and the converter: it learns of each new configuration, and of a CA bundle
// in a definition, by its own watches.
func (m *Muster) Register(t testing.TB) {
	t.Helper()
	manifests := manifestsOf(t, m.binary, append([]string{"--only=webhooks", "--webhook-url", m.URL}, m.config...)...)
	m.configurations = Documents(t, manifests)
	t.Cleanup(func() { m.unregister(t) })
	m.cluster.apply(t, m.configurations)
	Eventually(t, 20*time.Second, "the CA bundle in every webhook", func() error {
		_, err := m.WebhookCABundle()
		return err
	})
	Eventually(t, 20*time.Second, "a labelled Job is suspended", func() error {
		suspended, err := m.cluster.labelledJobIsSuspended()
		if err == nil && !suspended {
			err = errors.New("it came back as it was sent")
		}
		return err
	})
	Eventually(t, 20*time.Second, "a Job with a bad queue name is refused", m.cluster.badJobIsRefused)
	if !servesV1beta1() {
		return
	}
	for _, probe := range convertedProbes() {
		Eventually(t, 20*time.Second, probe.GetKind()+"s are converted", func() error { return m.cluster.converts(probe) })
	}
}

// badJobIsRefused asks by a dry run whether the validating webhooks are called.
func (c *Cluster) badJobIsRefused() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := c.Client.BatchV1().Jobs("default").Create(ctx, Job("muster-probe", Queue("Not_a_name")), DryRun)
	if err == nil {
		return errors.New("it was allowed")
	}
	if !strings.Contains(err.Error(), QueueLabel) {
		return err
	}
	return nil
}

// convertedProbes is an object of each kind that muster converts, in the version that is
// not stored.
func convertedProbes() []*unstructured.Unstructured {
	probe := func(kind string, spec map[string]any) *unstructured.Unstructured {
		object := queueObject(kind, "muster-probe", spec)
		object.SetAPIVersion(KueueGroup + "/v1beta1")
		return object
	}
	podSet := map[string]any{"name": "main", "count": int64(1), "template": map[string]any{"spec": map[string]any{"containers": []any{}}}}
	return []*unstructured.Unstructured{
		probe("ClusterQueue", map[string]any{}), probe("Cohort", map[string]any{}),
		probe("LocalQueue", map[string]any{"clusterQueue": "probe"}),
		probe("Workload", map[string]any{"podSets": []any{podSet}}),
	}
}

// converts is nil if the API server can convert that object: by a dry run.
func (c *Cluster) converts(probe *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resource := schema.GroupVersionResource{Group: KueueGroup, Version: "v1beta1", Resource: strings.ToLower(probe.GetKind()) + "s"}
	kind := c.Dynamic.Resource(resource)
	var err error
	if probe.GetKind() == "LocalQueue" || probe.GetKind() == "Workload" {
		_, err = kind.Namespace("default").Create(ctx, probe, DryRun)
	} else {
		_, err = kind.Create(ctx, probe, DryRun)
	}
	return err
}

// unregister undoes Register after the end of muster. Since the webhooks fail closed, a labelled Job that
// passes shows that the API server uses neither any more.
func (m *Muster) unregister(t testing.TB) {
	t.Helper()
	// Cleanups run last one first, so muster still runs here and would put the
	// configurations back.
	m.Stop(t)
	api := m.cluster.Client.AdmissionregistrationV1()
	ctx := context.Background()
	for _, one := range m.configurations {
		var err error
		switch one.GetKind() {
		case "MutatingWebhookConfiguration":
			err = api.MutatingWebhookConfigurations().Delete(ctx, one.GetName(), metav1.DeleteOptions{})
		case "ValidatingWebhookConfiguration":
			err = api.ValidatingWebhookConfigurations().Delete(ctx, one.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting %s: %v", one.GetName(), err)
		}
	}
	Eventually(t, 20*time.Second, "the API server forgets the webhooks", func() error {
		suspended, err := m.cluster.labelledJobIsSuspended()
		if err == nil && suspended {
			err = errors.New("a labelled Job is still suspended")
		}
		return err
	})
}

// labelledJobIsSuspended checks by a dry run whether a queued Job is suspended.
func (c *Cluster) labelledJobIsSuspended() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	job := Job("muster-probe", Queue("probe"))
	made, err := c.Client.BatchV1().Jobs("default").Create(ctx, job, DryRun)
	if err != nil {
		return false, err
	}
	return made.Spec.Suspend != nil && *made.Spec.Suspend, nil
}

// WebhookCABundle is the one CA bundle of all of muster's webhooks. While muster
// replaces it there are two for a moment, which is an error here.
func (m *Muster) WebhookCABundle() ([]byte, error) {
	return m.cluster.CABundle(m.configurations)
}

// CABundle is the CA bundle that all entries of the configurations carry; an
// error if one has none, or another one.
func (c *Cluster) CABundle(configurations []*unstructured.Unstructured) ([]byte, error) {
	var bundle []byte
	add := func(name string, config admissionv1.WebhookClientConfig) error {
		if len(config.CABundle) == 0 {
			return fmt.Errorf("%s has no caBundle", name)
		}
		if bundle != nil && !bytes.Equal(bundle, config.CABundle) {
			return fmt.Errorf("%s has another caBundle", name)
		}
		bundle = config.CABundle
		return nil
	}
	api, ctx := c.Client.AdmissionregistrationV1(), context.Background()
	for _, one := range configurations {
		switch one.GetKind() {
		case "MutatingWebhookConfiguration":
			found, err := api.MutatingWebhookConfigurations().Get(ctx, one.GetName(), metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			for _, hook := range found.Webhooks {
				if err := add(hook.Name, hook.ClientConfig); err != nil {
					return nil, err
				}
			}
		case "ValidatingWebhookConfiguration":
			found, err := api.ValidatingWebhookConfigurations().Get(ctx, one.GetName(), metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			for _, hook := range found.Webhooks {
				if err := add(hook.Name, hook.ClientConfig); err != nil {
					return nil, err
				}
			}
		}
	}
	if bundle == nil {
		return nil, errors.New("no webhook configuration")
	}
	return bundle, nil
}

// Documents reads a YAML stream.
func Documents(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	var documents []*unstructured.Unstructured
	for {
		document := &unstructured.Unstructured{}
		err := decoder.Decode(&document.Object)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatalf("YAML: %v", err)
		}
		if len(document.Object) > 0 {
			documents = append(documents, document)
		}
	}
}
