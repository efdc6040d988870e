package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.batch/test/cluster/harness"
)

// query is what a panel of a dashboard asks for.
type query struct{ dashboard, panel, expression string }

// shippedQueries are those of all dashboards, with everything chosen where one can choose.
func shippedQueries(t *testing.T) (queries []query) {
	t.Helper()
	files, err := filepath.Glob(harness.Chart + "/files/dashboards/*.json")
	harness.Must(t, err)
	for _, file := range files {
		var dashboard struct {
			Title      string
			Templating struct{ List []struct{ Name, Type string } }
			Panels     []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		text, err := os.ReadFile(file)
		harness.Must(t, err)
		harness.Must(t, json.Unmarshal(text, &dashboard))
		// The test lasts for less than the steps of a day.
		replacements := []string{"$__rate_interval", "20s", "[1d:5m]", "[1d:1s]"}
		for _, variable := range dashboard.Templating.List {
			replacements = append(replacements, "$"+variable.Name, ".*")
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				queries = append(queries, query{dashboard.Title, panel.Title, strings.NewReplacer(replacements...).Replace(target.Expr)})
			}
		}
	}
	if len(files) < 3 || len(queries) < 20 {
		t.Fatalf("%d dashboards with %d queries", len(files), len(queries))
	}
	return queries
}

// startPrometheus scrapes muster's metrics every second and has the shipped alerts loaded; returns its URL.
func startPrometheus(t *testing.T, target string) string {
	t.Helper()
	folder := t.TempDir()
	alerts, err := filepath.Abs(harness.Chart + "/files/alerts.yaml")
	harness.Must(t, err)
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
- {job_name: muster, scheme: https, tls_config: {insecure_skip_verify: true}, honor_labels: true, static_configs: [{targets: [%q]}]}
`, alerts, strings.TrimPrefix(target, "https://"))
	address := harness.FreeAddress(t)
	command := exec.Command("prometheus", "--config.file="+harness.WriteFile(t, "prometheus.yml", config), "--storage.tsdb.path="+folder,
		"--web.listen-address="+address, "--log.level=warn")
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatalf("%v (Debian's package prometheus, which scripts/install check installs)", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	return "http://" + address
}

// asked decodes an answer of Prometheus' API.
func asked(server, path string, into any) error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(server + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return errors.New(answer.Error)
	}
	return nil
}

// Every panel of the shipped dashboards shows data of a real muster in a real Prometheus, and the shipped alerts are evaluated.
func TestDashboardsShowDataAndAlertsAreEvaluated(t *testing.T) {
	cluster := harness.Connect(t)
	cluster.HollowNodes(t)
	muster := harness.StartMuster(t, "--no-metrics-authorization", "--feature-gates=LocalQueueMetrics=true", "--config",
		harness.WriteFile(t, "config.yaml",
			"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmetrics: {enableClusterQueueResources: true}\n"))
	server := startPrometheus(t, muster.Metrics)
	teams := cluster.Teams(t)
	teams.Flavor("f")
	spec := teams.Cpus("f=4")
	const gpu = "nvidia.com/gpu"
	group := spec["resourceGroups"].([]any)[0].(map[string]any)
	group["coveredResources"] = []any{"cpu", gpu}
	flavor := group["flavors"].([]any)[0].(map[string]any)
	flavor["resources"] = append(flavor["resources"].([]any), map[string]any{"name": gpu, "nominalQuota": "4"})
	teams.Queue("q", spec)
	// Admitted, and no node has a GPU for it.
	teams.Job("q", "charged", 1, "1", func(job *batchv1.Job) {
		resources := &job.Spec.Template.Spec.Containers[0].Resources
		resources.Requests[gpu] = resource.MustParse("1")
		resources.Limits = corev1.ResourceList{gpu: resource.MustParse("1")}
	})

	// No series for what has never happened, so that it happens while Prometheus looks: admissions, an end, an eviction.
	round := 0
	waiting := shippedQueries(t)
	// That the engine fails over an object cannot be had by a user.
	never := "muster_engine_breakages_total"
	harness.Eventually(t, 100*time.Second, "every panel has data", func() error {
		round++
		ended, evicted := fmt.Sprint("ended-", round), fmt.Sprint("evicted-", round)
		teams.Job("q", ended, 1, "1")
		teams.Job("q", evicted, 1, "1")
		teams.Admitted(ended, evicted)
		teams.End(ended)
		teams.SetActive(evicted, false)
		var errs []error
		left := waiting[:0]
		for _, one := range waiting {
			var result struct{ Result []any }
			err := asked(server, "/api/v1/query?query="+url.QueryEscape(one.expression), &result)
			if err == nil && len(result.Result) == 0 && !strings.Contains(one.expression, never) {
				err = errors.New("no data")
			}
			if err != nil {
				left = append(left, one)
				errs = append(errs, fmt.Errorf("%s, %s: %w: %s", one.dashboard, one.panel, err, one.expression))
			}
		}
		waiting = left
		return errors.Join(errs...)
	})

	var groups struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	harness.Eventually(t, 20*time.Second, "the alerts are evaluated", func() error {
		if err := asked(server, "/api/v1/rules", &groups); err != nil {
			return err
		}
		if len(groups.Groups) != 1 || len(groups.Groups[0].Rules) < 10 {
			return fmt.Errorf("there are %+v", groups)
		}
		for _, rule := range groups.Groups[0].Rules {
			if rule.Health != "ok" {
				return fmt.Errorf("%s is %s: %s", rule.Name, rule.Health, rule.LastError)
			}
		}
		return nil
	})
	for _, rule := range groups.Groups[0].Rules {
		if rule.State == "firing" {
			t.Errorf("%s fires about a healthy muster", rule.Name)
		}
	}
}
