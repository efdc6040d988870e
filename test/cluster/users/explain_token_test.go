package users

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// The tokens that `muster explain` shows: made for muster, for ten minutes, and of no use elsewhere.

// claims are what a token says, as far as the tests look.
type claims struct {
	Audience []string `json:"aud"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Subject  string   `json:"sub"`
}

func claimsOf(t *testing.T, token string) (said claims) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no token", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	harness.Must(t, err)
	harness.Must(t, json.Unmarshal(text, &said))
	return said
}

func TestExplainShowsATokenThatIsForMusterAlone(t *testing.T) {
	cluster := harness.Connect(t)
	namespace := cluster.Namespace(t, nil)
	cluster.Kubectl(t, "", "create", "serviceaccount", "dev", "-n", namespace)
	mayMakeTokens(t, cluster, namespace, "dev", "--serviceaccount="+namespace+":dev")
	// A server in muster's place sees all that is sent there.
	var mutex sync.Mutex
	var seen http.Header
	impostor := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		seen = request.Header.Clone()
		http.Error(writer, "{}", http.StatusForbidden)
	}))
	t.Cleanup(impostor.Close)
	authority := harness.WriteFile(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: impostor.Certificate().Raw})))

	kubeconfig := harness.AsServiceAccount(t, cluster, namespace, "dev")
	musterExplain(t, kubeconfig, "job/train", "-n", namespace, "--service-account", "dev", "--server", impostor.URL, "--server-ca", authority)
	mutex.Lock()
	defer mutex.Unlock()
	stolen := strings.TrimPrefix(seen.Get("Authorization"), "Bearer ")
	if own, err := os.ReadFile(kubeconfig); err != nil || stolen == "" || bytes.Contains(own, []byte(stolen)) {
		t.Fatalf("the impostor was shown %q (%v)", stolen, err)
	}
	said := claimsOf(t, stolen)
	if len(said.Audience) != 1 || said.Audience[0] != harness.ExplainAudience || said.Expires-said.Issued > 600 || said.Subject != "system:serviceaccount:"+namespace+":dev" {
		t.Errorf("the token says %+v", said)
	}
	if status := askAPIServer(t, cluster, stolen); status != http.StatusUnauthorized {
		t.Errorf("the API server takes the token: %d", status)
	}
}

// askAPIServer asks for what every known user can have.
func askAPIServer(t *testing.T, cluster *harness.Cluster, token string) int {
	t.Helper()
	requests := cluster.Requests(t, token)
	config, err := os.ReadFile(requests.Kubeconfig)
	harness.Must(t, err)
	_, rest, _ := strings.Cut(string(config), `server: "`)
	server, _, _ := strings.Cut(rest, `"`)
	response, err := http.Get(server + "/apis/batch/v1")
	harness.Must(t, err)
	defer response.Body.Close()
	return response.StatusCode
}

func TestExplainTakesNoTokenThatIsForOthersOrHasExpired(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	muster := harness.LaunchMuster(t, "--jobset-controller", "native", "--config", config)
	namespace := cluster.Namespace(t, nil)
	cluster.Kubectl(t, "", "create", "serviceaccount", "boss", "-n", namespace)
	cluster.Kubectl(t, "", "create", "rolebinding", "boss", "-n", namespace, "--clusterrole", "cluster-admin", "--serviceaccount", namespace+":boss")
	ours := harness.ExplainToken(t, cluster, namespace, "boss")
	path := "/explain/v1/namespaces/" + namespace + "/jobs/train"
	for what, row := range map[string]struct {
		token string
		want  int
	}{
		"made for muster":              {ours, http.StatusOK},
		"made for the API server":      {harness.AccountToken(t, cluster, namespace, "boss"), http.StatusUnauthorized},
		"made for somebody else":       {strings.TrimSpace(cluster.Kubectl(t, "", "create", "token", "boss", "-n", namespace, "--audience", "vault")), http.StatusUnauthorized},
		"made for muster, and expired": {signedAgain(t, ours, -time.Minute), http.StatusUnauthorized},
		// The same by the same hand, so that it is the time that counts.
		"made for muster, by the test": {signedAgain(t, ours, time.Minute), http.StatusOK},
	} {
		status, body := harness.AskMetricsPort(t, muster, path, row.token)
		if status != row.want {
			t.Errorf("a token %s: %d %s", what, status, body)
		}
		if status == http.StatusUnauthorized && !strings.Contains(body, "--audience "+harness.ExplainAudience) {
			t.Errorf("a token %s: it does not help: %s", what, body)
		}
	}
}

func TestNoTokenIsLogged(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	token := harness.AccountToken(t, cluster, "muster-system", "muster")
	kubeconfig := harness.AsServiceAccount(t, cluster, "muster-system", "muster")
	muster := harness.LaunchMuster(t, "--jobset-controller", "native", "--config", config, "--kubeconfig", kubeconfig, "--log-level", "debug")
	own, err := os.ReadFile(kubeconfig)
	harness.Must(t, err)
	_, rest, _ := strings.Cut(string(own), `token: "`)
	ownToken, _, _ := strings.Cut(rest, `"`)
	tokens := []string{token, ownToken, harness.ExplainToken(t, cluster, "muster-system", "muster"), "made-up-by-nobody"}
	for _, each := range tokens {
		harness.AskMetricsPort(t, muster, "/metrics", each)
		harness.AskMetricsPort(t, muster, "/explain/v1/namespaces/default/jobs/train", each)
	}
	log := muster.Log(t)
	if !strings.Contains(log, "muster starts") {
		t.Fatalf("this is no log of muster: %s", log)
	}
	for _, each := range tokens {
		if strings.Contains(log, each) {
			t.Errorf("the token %.20s... is in the log", each)
		}
	}
	for _, word := range []string{"Bearer", "PRIVATE KEY"} {
		if strings.Contains(log, word) {
			t.Errorf("%q is in the log", word)
		}
	}
}

// signedAgain is the same token with another end, signed with the lab's own key.
func signedAgain(t *testing.T, token string, lasts time.Duration) string {
	t.Helper()
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	harness.Must(t, err)
	said := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	harness.Must(t, decoder.Decode(&said))
	said["iat"], said["nbf"] = time.Now().Add(-time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	said["exp"] = time.Now().Add(lasts).Unix()
	text, err = json.Marshal(said)
	harness.Must(t, err)
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, signingKey(t), digest[:])
	harness.Must(t, err)
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// signingKey is the one by which the lab's API server signs the tokens of service accounts.
func signingKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	const flag = "--service-account-signing-key-file="
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	harness.Must(t, err)
	server := harness.Connect(t).Server(t)
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		if !bytes.Contains(text, []byte(flag)) || !bytes.Contains(text, fmt.Appendf(nil, "--secure-port=%s\x00", server.Port())) {
			continue
		}
		_, rest, _ := strings.Cut(string(text), flag)
		file, _, _ := strings.Cut(rest, "\x00")
		encoded, err := os.ReadFile(file)
		harness.Must(t, err)
		block, _ := pem.Decode(encoded)
		if block.Type == "EC PRIVATE KEY" {
			key, err := x509.ParseECPrivateKey(block.Bytes)
			harness.Must(t, err)
			return key
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		harness.Must(t, err)
		return key.(*ecdsa.PrivateKey)
	}
	t.Skip("the API server does not run on this machine, so nothing can be signed in its name")
	return nil
}
