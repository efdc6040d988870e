package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.batch/test/cluster/harness"
)

// ReaderSessions: who asks muster is only the user whom the API server has seen create the session.

func TestASessionIsMadeForOneself(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	muster := harness.LaunchMuster(t, "--jobset-controller", "native", "--config", config)
	namespace := cluster.Namespace(t, nil)
	cluster.Kubectl(t, "", "create", "rolebinding", "mallory", "-n", namespace, "--clusterrole", "muster-reader", "--user", "mallory")
	cluster.Kubectl(t, "", "create", "rolebinding", "dev", "-n", namespace, "--clusterrole", "cluster-admin", "--user", "dev")
	mallory := map[string]any{"username": "mallory", "groups": []string{"team", "system:authenticated"}}
	create := func(text string, flags ...string) error {
		said, err := cluster.TryKubectl(text, append([]string{"create", "-n", namespace, "-f", "-"}, flags...)...)
		if err != nil {
			return fmt.Errorf("%s %w", said, err)
		}
		return nil
	}
	harness.Eventually(t, 20*time.Second, "a session of one's own, when the API server knows the policy and the role", func() error {
		if err := create(harness.SessionOf(t, "forged", map[string]any{"username": "dev"}, harness.SessionSecret), append(harness.AsUser("mallory"), "--dry-run=server")...); err == nil {
			return fmt.Errorf("a session of another is made")
		}
		return create(harness.SessionOf(t, "own", mallory, harness.SessionSecret), harness.AsUser("mallory", "team")...)
	})
	for what, user := range map[string]map[string]any{
		"another":           {"username": "dev", "groups": []string{"team", "system:authenticated"}},
		"a further group":   {"username": "mallory", "groups": []string{"team", "system:authenticated", "system:masters"}},
		"another group":     {"username": "mallory", "groups": []string{"system:masters", "system:authenticated"}},
		"fewer groups":      {"username": "mallory", "groups": []string{"team"}},
		"an extra":          {"username": "mallory", "groups": []string{"team", "system:authenticated"}, "extra": map[string][]string{"scopes": {"all"}}},
		"another's uid":     {"username": "mallory", "groups": []string{"team", "system:authenticated"}, "uid": "1"},
		"nobody's groups":   {"username": "mallory"},
		"an empty user":     {"username": ""},
		"a service account": {"username": "system:serviceaccount:muster-system:muster", "groups": []string{"team", "system:authenticated"}},
	} {
		if err := create(harness.SessionOf(t, "forged", user, harness.SessionSecret), harness.AsUser("mallory", "team")...); err == nil || !strings.Contains(err.Error(), "spec.user") {
			t.Errorf("a session as %s: %v", what, err)
		}
	}
	path := "/explain/v1/namespaces/" + namespace + "/jobs/none"
	ask := func(name, secret string) (int, string) {
		return harness.AskMetricsPort(t, muster, path, "muster-session/"+namespace+"/"+name+"/"+secret)
	}
	harness.Eventually(t, 20*time.Second, "muster knows mallory, who may not read jobs", func() error {
		if status, body := ask("own", harness.SessionSecret); status != http.StatusForbidden {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	if status, body := ask("own", strings.Repeat("0", 64)); status != http.StatusUnauthorized {
		t.Errorf("with another secret: %d %s", status, body)
	}
	// Of an administrator's session mallory, who can change all objects of the namespace, makes none for themselves.
	harness.Must(t, create(harness.SessionOf(t, "boss", map[string]any{"username": "dev", "groups": []string{"system:authenticated"}}, harness.SessionSecret), harness.AsUser("dev")...))
	if status, body := ask("boss", harness.SessionSecret); status != http.StatusOK {
		t.Errorf("an administrator's session: %d %s", status, body)
	}
	cluster.Kubectl(t, "", "create", "rolebinding", "mallory-edits", "-n", namespace, "--clusterrole", "cluster-admin", "--user", "mallory")
	other := sha256.Sum256([]byte(strings.Repeat("1", 64)))
	for _, patch := range []string{`{"spec":{"secretHash":"` + hex.EncodeToString(other[:]) + `"}}`, `{"spec":{"user":{"username":"mallory"}}}`} {
		if said, err := cluster.TryKubectl("", append([]string{"patch", "readersessions.muster.batch", "boss", "-n", namespace, "--type=merge", "-p", patch}, harness.AsUser("mallory")...)...); err == nil {
			t.Errorf("%s: %s", patch, said)
		}
	}
}

// What the API server says of service accounts, with what their tokens carry, is what a session can say.
func TestASessionOfAServiceAccountCarriesItsExtras(t *testing.T) {
	cluster := harness.Connect(t)
	harness.ApplyRights(t, cluster, harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests))
	namespace := cluster.Namespace(t, nil)
	cluster.Kubectl(t, "", "create", "serviceaccount", "robot", "-n", namespace)
	cluster.Kubectl(t, "", "create", "rolebinding", "robot", "-n", namespace, "--clusterrole", "muster-reader", "--serviceaccount", namespace+":robot")
	robot := harness.ConnectAs(t, harness.AsServiceAccount(t, cluster, namespace, "robot"))
	said, err := robot.Client.AuthenticationV1().SelfSubjectReviews().Create(harness.Context(t), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	harness.Must(t, err)
	text, err := json.Marshal(said.Status.UserInfo)
	harness.Must(t, err)
	user := map[string]any{}
	harness.Must(t, json.Unmarshal(text, &user))
	if len(said.Status.UserInfo.Extra) == 0 {
		t.Fatalf("the API server says nothing more of it: %s", text)
	}
	sessions := robot.Dynamic.Resource(schema.GroupVersionResource{Group: "muster.batch", Version: "v1alpha1", Resource: "readersessions"}).Namespace(namespace)
	create := func(name string) error {
		object := &unstructured.Unstructured{}
		harness.Must(t, object.UnmarshalJSON([]byte(harness.SessionOf(t, name, user, harness.SessionSecret))))
		_, err := sessions.Create(harness.Context(t), object, metav1.CreateOptions{})
		return err
	}
	harness.Eventually(t, 20*time.Second, "its session", func() error { return create("whole") })
	extra := user["extra"]
	delete(user, "extra")
	tried := 0
	harness.Eventually(t, 20*time.Second, "without its extras it is refused, when the API server knows the policy", func() error {
		tried++
		if err := create(fmt.Sprint("fewer-", tried)); err == nil || !strings.Contains(err.Error(), "spec.user") {
			return fmt.Errorf("it was answered %v", err)
		}
		return nil
	})
	user["extra"] = extra
	harness.Must(t, create("again"))
}
