package webhooks

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// ask posts a review, and says what came back: the status, or why there was no answer.
func ask(t *testing.T, client *http.Client, url string, body []byte) (int, error) {
	t.Helper()
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// TestReviewsAreAnsweredOnlyToTheAPIServersCertificate has the real API server show its
// certificate: StartMuster returns when mutating and validating webhooks act, and conversions,
// for which it has none.
func TestReviewsAreAnsweredOnlyToTheAPIServersCertificate(t *testing.T) {
	cluster := harness.Connect(t)
	apiserver, administrator := cluster.WebhookClient(t), cluster.Administrator(t)
	trusted := harness.WriteFile(t, "clients.crt", string(apiserver.Authority))
	muster := harness.StartMuster(t, "--webhook-client-ca", trusted, "--webhook-client-names", harness.WebhookClientName)
	bundle, review := harness.BundleOf(t, muster), harness.Review(t, "direct")

	stranger := harness.ReviewClient(bundle)
	for path, expected := range map[string]int{"/mutate": 403, "/validate": 403, "/convert": 400} {
		if status, err := ask(t, stranger, muster.URL+path, review); err != nil || status != expected {
			t.Errorf("without a certificate %s answers %d (%v), expected %d", path, status, err, expected)
		}
		if status, err := ask(t, harness.ReviewClientWith(bundle, administrator.Certificate), muster.URL+path, review); err == nil {
			t.Errorf("with a certificate of the cluster's CA %s answers %d", path, status)
		}
	}
	answer, err := harness.ReviewClientWith(bundle, apiserver.Certificate).Post(muster.URL+"/mutate", "application/json", bytes.NewReader(review))
	harness.Must(t, err)
	harness.Must(t, harness.CheckReviewResponse(answer, "direct"))

	// Another name that the same authority has signed is not enough.
	picky := harness.LaunchMuster(t, "--webhook-url", muster.URL, "--webhook-client-ca", trusted, "--webhook-client-names", "somebody-else")
	status, err := ask(t, harness.ReviewClientWith(bundle, apiserver.Certificate), "https://"+picky.Address+"/mutate", review)
	if err != nil || status != http.StatusForbidden {
		t.Errorf("another name of the same authority is answered %d (%v)", status, err)
	}

	// The other listeners ask for no certificate.
	harness.Must(t, muster.Ready())
	metrics, err := stranger.Get(muster.Metrics + "/metrics")
	harness.Must(t, err)
	metrics.Body.Close()
	if metrics.StatusCode != http.StatusUnauthorized {
		t.Errorf("the metrics answer %s without a token", metrics.Status)
	}

	// A file that changes is followed, also on the API server's open connections.
	create := harness.CreateQueued(harness.Context(t), cluster, cluster.Namespace(t, nil))
	harness.Must(t, create(0))
	harness.Must(t, os.WriteFile(trusted, administrator.Authority, 0o600))
	harness.Eventually(t, 15*time.Second, "the API server is trusted no more", func() error {
		err := create(1)
		if err == nil {
			return errors.New("a Job was reviewed")
		}
		if !strings.Contains(err.Error(), "failed calling webhook") {
			return fmt.Errorf("another failure: %w", err)
		}
		return nil
	})
	harness.Must(t, os.WriteFile(trusted, apiserver.Authority, 0o600))
	harness.Eventually(t, 15*time.Second, "the API server is trusted again", func() error { return create(2) })
}

func TestMusterDoesNotStartWithoutTheAuthoritiesItIsToTrust(t *testing.T) {
	missing := harness.WriteFile(t, "clients.crt", "") + ".missing"
	command := exec.CommandContext(harness.Context(t), harness.MusterBinary(), "serve", "--standalone",
		"--webhook-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "0", "--metrics-bind-address", "0",
		"--cert-dir", t.TempDir(), "--webhook-client-ca", missing)
	output, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), "muster serve: webhookClientCAFile: there is no file "+missing) {
		t.Errorf("it ends with %v and says %q", err, output)
	}
}

// The metrics have the certificate of their folder, and follow it; it is not the webhooks'.
func TestMetricsHaveTheirOwnCertificate(t *testing.T) {
	folder, address := t.TempDir(), harness.FreeAddress(t)
	issuer := harness.NewAuthority(t)
	first := issuer.Issue(t, folder, issuer.Certificate)
	command := exec.Command(harness.MusterBinary(), "serve", "--standalone", "--webhook-bind-address", "127.0.0.1:0",
		"--health-probe-bind-address", "0", "--metrics-bind-address", address, "--cert-dir", t.TempDir(), "--metrics-cert-dir", folder)
	harness.Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		harness.Must(t, command.Wait())
	})
	serves := func(wanted *big.Int) {
		harness.Eventually(t, 20*time.Second, "the metrics' certificate", func() error {
			connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return err
			}
			defer connection.Close()
			if got := connection.ConnectionState().PeerCertificates[0].SerialNumber; got.Cmp(wanted) != 0 {
				return fmt.Errorf("it has the number %s", got)
			}
			return nil
		})
	}
	serves(first)
	serves(issuer.Issue(t, folder, issuer.Certificate))
}
