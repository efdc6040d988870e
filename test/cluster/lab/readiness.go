package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"
)

// condition tells whether something has come true. It is asked again and again.
type condition func(ctx context.Context) bool

// prober asks servers of the lab as its administrator.
type prober struct{ client *http.Client }

func newProber(c *certificates) *prober {
	trusted := x509.NewCertPool()
	trusted.AddCert(c.ca.certificate)
	return &prober{client: &http.Client{
		// Short: while a server starts, one request may hang in it, and the
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
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false
		}
		response, err := p.client.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
}
