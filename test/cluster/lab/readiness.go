package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// condition tells whether something has come true. It is asked again and again.
type condition func(ctx context.Context) bool

// prober asks servers of the lab as its administrator.
type prober struct{ client *http.Client }

func newProber(c *certificates) *prober {
	trusted := x509.NewCertPool()
	trusted.AddCert(c.ca.certificate)
	return &prober{client: &http.Client{
		// Short: while a server starts, one request can hang in it, and the
		// next one would be answered.
		Timeout: 2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: trusted,
			Certificates: []tls.Certificate{{
				Certificate: [][]byte{c.admin.certificate.Raw},
				PrivateKey:  c.admin.key,
			}},
		}},
	}}
}

// answers is true once a GET of the URL gives 200.
func (p *prober) answers(url string) condition {
	return func(ctx context.Context) bool {
		response, err := p.get(ctx, url)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
}

// nodesReady is true once this many nodes of a sort are ready and free of the taint that a node has until a controller
// has seen that.
func (p *prober) nodesReady(server, sort string, count int) condition {
	return func(ctx context.Context) bool {
		response, err := p.get(ctx, server+"/api/v1/nodes?labelSelector="+url.QueryEscape(nodeLabel+"="+sort))
		if err != nil {
			return false
		}
		defer response.Body.Close()
		var nodes corev1.NodeList
		if err := json.NewDecoder(response.Body).Decode(&nodes); err != nil {
			return false
		}
		ready := 0
		for _, node := range nodes.Items {
			if isReady(&node) {
				ready++
			}
		}
		return ready == count
	}
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}

func (p *prober) get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return p.client.Do(request)
}
