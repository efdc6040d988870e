package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Review is an AdmissionReview of the creation of a queued Job, as bytes.
func Review(t testing.TB, uid string) []byte {
	t.Helper()
	job := Job("reviewed", Queue("some"))
	job.Namespace = "default"
	object, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID:       types.UID(uid),
			Kind:      metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"},
			Resource:  metav1.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
			Name:      job.Name,
			Namespace: job.Namespace,
			Operation: admissionv1.Create,
			Object:    runtime.RawExtension{Raw: object},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// ReviewClient is an HTTPS client that trusts the bundle and, unlike the API
// server, opens a connection for each request: so a request that fails after
// its connection was accepted was in muster's hands.
func ReviewClient(bundle []byte) *http.Client { return reviewClient(bundle, nil) }

// ReviewClientWith shows that certificate to a server that asks for one, whoever it trusts.
func ReviewClientWith(bundle []byte, own tls.Certificate) *http.Client {
	return reviewClient(bundle, &own)
}

func reviewClient(bundle []byte, own *tls.Certificate) *http.Client {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(bundle)
	config := &tls.Config{RootCAs: trusted}
	if own != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	return &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   config,
		},
	}
}

// CheckReviewResponse is nil if the response allows the request with that uid
// and carries a patch.
func CheckReviewResponse(response *http.Response, uid string) error {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return err
	}
	if review.Response == nil || string(review.Response.UID) != uid || !review.Response.Allowed || len(review.Response.Patch) == 0 {
		return fmt.Errorf("unexpected response: %s", body)
	}
	return nil
}

// PostReview sends one review. lost says that an error came after the request
// had been written: it was in muster's hands.
func PostReview(ctx context.Context, client *http.Client, muster *Muster, body []byte, uid string) (lost bool, err error) {
	trace := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) { lost = info.Err == nil }}
	// Not cancelled with the load: what was sent is to be answered.
	ctx = httptrace.WithClientTrace(context.WithoutCancel(ctx), trace)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+muster.Address+"/mutate", bytes.NewReader(body))
	if err != nil {
		return true, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return lost, err
	}
	return true, CheckReviewResponse(response, uid)
}
