package users

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"muster.batch/test/cluster/harness"
)

// Four users ask everything while muster is up, has no leader and is down. A user who cannot see an object never reads
// that it does not exist, and no user reads "waits" as news while nothing decides.

// asker is a user with what they can do: an administrator with a client certificate, whom kind and kubeadm make, or a
// user with one of the roles in one namespace.
type asker struct {
	name  string
	role  string // empty: none
	flags []string
}

func askers(t *testing.T, cluster *harness.Cluster, namespace string) []asker {
	t.Helper()
	users := []asker{{name: "admin"}, {name: "alice", role: "muster-batch-user"}, {name: "vera", role: "view"}, {name: "nobody"}}
	for i := range users {
		user := &users[i]
		if user.name != "admin" {
			user.flags = harness.AsUser(user.name)
		}
		if user.role != "" {
			cluster.Kubectl(t, "", "create", "rolebinding", user.name, "-n", namespace, "--clusterrole", user.role, "--user", user.name)
		}
	}
	return users
}

// What no answer says of what is there: the queues, the classes and the jobs of this test.
var untrue = regexp.MustCompile(`(?i)missing|does not exist|there is no (Job|LocalQueue|ClusterQueue|Workload|Cohort)|Inactive`)

type question struct {
	arguments []string
	// The users who get an answer of muster's own; the others read which right they lack.
	answered string
}

func questionsOf(namespace, other, queue string) []question {
	in := func(ns string, arguments ...string) []string { return append(arguments, "-n", ns) }
	return []question{
		{in(namespace, "explain", "job/train"), "admin alice vera"},
		{in(namespace, "explain", "job/runs"), "admin alice vera"},
		{in(namespace, "history", "job/train"), "admin alice vera"},
		{in(namespace, "history", "job/train", "-o", "json"), "admin alice vera"},
		{in(namespace, "priority", "job/train"), "admin alice vera"},
		{in(namespace, "priority", "job/train", "-o", "json"), "admin alice vera"},
		{in(namespace, "get", "jobs"), "admin alice vera"},
		{in(namespace, "get", "workloads"), "admin alice vera"},
		{in(namespace, "get", "queues"), "admin alice vera"},
		{in(namespace, "top", "queues"), "admin alice vera"},
		{in(namespace, "who", "cpu", "-q", "queue"), "admin alice vera"},
		{in(namespace, "get", "jobs", "-A"), "admin"},
		{in(namespace, "get", "clusterqueues"), "admin"},
		{in(namespace, "tree"), "admin"},
		{in(namespace, "who", "cpu", "--clusterqueue", queue), "admin"},
		{in(other, "explain", "job/secret"), "admin"},
		{in(other, "get", "jobs"), "admin"},
	}
}

// pageViews are what the page of `muster dashboard` asks for in its views.
func pageViews(namespace, queue string) []string {
	return []string{"api/workloads?namespace=" + namespace, "api/localqueues?namespace=" + namespace, "api/clusterqueues",
		"api/explain?namespace=" + namespace + "&kind=job&name=train", "api/explain?namespace=" + namespace + "&kind=job&name=runs",
		"api/holders?resource=cpu&namespace=" + namespace + "&queue=queue", "api/workloads?clusterQueue=" + queue}
}

// alarmIn is the alarm in the first line of an answer, or in its field of JSON.
func alarmIn(text string) string {
	said := struct{ Alarm string }{}
	if json.Unmarshal([]byte(text), &said) == nil {
		return said.Alarm
	}
	line, _, _ := strings.Cut(text, "\n")
	alarm, _ := strings.CutPrefix(line, "!! ")
	if alarm == line {
		return ""
	}
	return alarm
}

// askEverything returns what is wrong. `alarm` is what each answer begins with; empty: muster is up.
func askEverything(t *testing.T, cluster *harness.Cluster, user asker, page string, questions []question, views []string, alarm string) (wrong []string) {
	t.Helper()
	complain := func(what any, format string, values ...any) {
		wrong = append(wrong, fmt.Sprintf("%s, %v: ", user.name, what)+fmt.Sprintf(format, values...))
	}
	for _, question := range questions {
		out, code, complaint := harness.RunMuster(cluster.Kubeconfig, append(append([]string{}, question.arguments...), user.flags...)...)
		text := complaint + out
		if found := untrue.FindString(text); found != "" {
			complain(question.arguments, "it says %q:\n%s", found, text)
		}
		switch may := strings.Contains(" "+question.answered+" ", " "+user.name+" "); {
		case may && alarm == "" && (code != 0 || complaint != ""):
			complain(question.arguments, "exit code %d\n%s", code, text)
		case !may && code != 0 && !strings.Contains(text, "cannot"):
			complain(question.arguments, "it does not say which right is missing:\n%s", text)
		case !may && code == 0 && alarm == "":
			complain(question.arguments, "it is answered:\n%s", text)
		case code == 0 && alarm != "" && !strings.HasPrefix(alarmIn(text), alarm):
			complain(question.arguments, "it does not begin with %q:\n%s", alarm, text)
		case code == 0 && alarm == "" && (alarmIn(text) != "" || strings.Contains(text, "!! ")):
			complain(question.arguments, "an alarm while muster is up:\n%s", text)
		}
	}
	for _, view := range views {
		answer, err := http.Get(page + view)
		harness.Must(t, err)
		body, err := io.ReadAll(answer.Body)
		harness.Must(t, err)
		answer.Body.Close()
		if found := untrue.FindString(string(body)); found != "" {
			complain(view, "it says %q: %s", found, body)
		}
		said := struct {
			Alarm    string
			Metadata struct{ Alarm string }
		}{}
		harness.Must(t, json.Unmarshal(body, &said))
		if heard := said.Alarm + said.Metadata.Alarm; answer.StatusCode == http.StatusOK && (alarm == "") != (heard == "") {
			complain(view, "the alarm is %q: %s", heard, body)
		}
	}
	return wrong
}

func TestEveryUserGetsTheTruth(t *testing.T) {
	cluster := harness.Connect(t)
	config := harness.WriteFile(t, "config.yaml", harness.NamesOfTheManifests)
	harness.ApplyRights(t, cluster, config)
	address := harness.HostAddress(t)
	muster := harness.StartQueueMuster(t, "--config", config, "--kubeconfig", harness.AsServiceAccount(t, cluster, "muster-system", "muster"), "--metrics-bind-address", address)
	harness.ServeThroughService(t, cluster, address)
	mine, other := harness.ExplainedNamespaces(t, cluster)
	runs := harness.QueuedJob("runs", 1)
	runs.Spec.Template.Spec.Containers[0].Resources.Requests = nil
	cluster.CreateJob(t, mine, runs)
	cluster.WaitForWorkload(t, mine, "runs", "is admitted", harness.HasCondition("Admitted", "True", ""))
	users := askers(t, cluster, mine)
	questions, views := questionsOf(mine, other, mine), pageViews(mine, mine)
	pages := map[string]string{}
	for _, user := range users {
		pages[user.name] = harness.StartDashboard(t, cluster.Kubeconfig, mine, user.flags...)
	}
	everybody := func(alarm string) error {
		for _, user := range users {
			if wrong := askEverything(t, cluster, user, pages[user.name], questions, views, alarm); len(wrong) > 0 {
				return fmt.Errorf("%s", strings.Join(wrong, "\n\n"))
			}
		}
		return nil
	}
	// The API server aggregates roles and learns policies after a moment.
	harness.Eventually(t, 60*time.Second, "the truth while muster is up", func() error { return everybody("") })
	answer, _, _ := musterExplain(t, cluster.Kubeconfig, append([]string{"job/train", "-n", mine}, users[1].flags...)...)
	whole, _, _ := musterExplain(t, cluster.Kubeconfig, "job/train", "-n", mine)
	if answer.Headline != whole.Headline || len(answer.Flavors) != len(whole.Flavors) || len(answer.Flavors) == 0 {
		t.Errorf("alice reads %+v, the administrator %+v", answer, whole)
	}

	measureQuestions(t, cluster, mine)

	role := cluster.Kubectl(t, "", "get", "role", "muster", "-n", "muster-system", "-o", "jsonpath={.rules}")
	allow := func(rules string) {
		cluster.Kubectl(t, "", "patch", "role", "muster", "-n", "muster-system", "--type=merge", "-p", `{"rules":`+rules+`}`)
	}
	t.Run("without a leader", func(t *testing.T) {
		// All but the Lease.
		allow(`[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]},{"apiGroups":["muster.batch"],"resources":["readersessions"],"verbs":["create"]}]`)
		harness.Eventually(t, 60*time.Second, "everybody hears it", func() error { return everybody("no replica of muster leads: nothing is admitted or evicted") })
	})
	t.Run("down", func(t *testing.T) {
		muster.Kill(t)
		harness.Eventually(t, 60*time.Second, "everybody hears it", func() error { return everybody("muster is down since ") })
		// Also of a kind that muster is never asked about.
		out, _, complaint := harness.RunMuster(cluster.Kubeconfig, "explain", "cronjob/none", "-n", mine)
		if !strings.HasPrefix(alarmIn(complaint+out), "muster is down since ") {
			t.Errorf("explain of a CronJob: %s%s", complaint, out)
		}
	})
	// The Workloads have finalizers that muster takes away.
	allow(role)
	muster.Restart(t)
	harness.Eventually(t, 60*time.Second, "muster is back", func() error { return everybody("") })
}

// measureQuestions times a whole command, by session, by a service account's token, and without muster.
func measureQuestions(t *testing.T, cluster *harness.Cluster, namespace string) {
	t.Helper()
	cluster.Kubectl(t, "", "create", "serviceaccount", "program", "-n", namespace)
	cluster.Kubectl(t, "", "create", "rolebinding", "program", "-n", namespace, "--clusterrole", "muster-batch-user", "--serviceaccount", namespace+":program")
	figures := []string{}
	for what, flags := range map[string][]string{"in the own name": nil, "in that of a service account": {"--service-account", "program"}, "without muster": {"--local"}} {
		times := []time.Duration{}
		for range 7 {
			began := time.Now()
			if _, code, complaint := harness.RunMuster(cluster.Kubeconfig,
				append([]string{"explain", "job/train", "-n", namespace}, flags...)...); code != 0 {
				t.Errorf("%s: exit code %d, %s", what, code, complaint)
			}
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		figures = append(figures, fmt.Sprintf("%s %d ms", what, times[len(times)/2].Milliseconds()))
	}
	slices.Sort(figures)
	harness.Figure(t, "muster explain, the median of 7: %s", strings.Join(figures, ", "))
}
