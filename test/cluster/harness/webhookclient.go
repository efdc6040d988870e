package harness

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// WebhookClientName is the common name of the certificate that the lab's API server sends to admission webhooks
// that request one.
const WebhookClientName = "kube-apiserver-webhooks"

// Client is a client with a certificate.
type Client struct {
	Certificate tls.Certificate
	Authority   []byte // PEM of who has signed it
}

// WebhookClient is the lab's API server as admission webhooks see it.
func (c *Cluster) WebhookClient(t testing.TB) Client {
	t.Helper()
	folder := c.lab(t).Certificates
	certificate, err := tls.LoadX509KeyPair(filepath.Join(folder, "webhook-client.crt"), filepath.Join(folder, "webhook-client.key"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(filepath.Join(folder, "webhook-client-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return Client{certificate, authority}
}

// Administrator is the identity of the tests for the API server, with a certificate of the cluster's CA.
func (c *Cluster) Administrator(t testing.TB) Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	return Client{certificate, config.CAData}
}

// Warnings collects what the API server tells a client beside its answers.
type Warnings struct {
	mutex sync.Mutex
	texts []string
}

// HandleWarningHeader is what client-go calls for each warning.
func (w *Warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

// Take returns the texts since the last time.
func (w *Warnings) Take() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	defer func() { w.texts = nil }()
	return strings.Join(w.texts, "\n")
}
