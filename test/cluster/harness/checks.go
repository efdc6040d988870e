package harness

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Admission checks of teams. The tests do what the controllers of checks do.

// Check creates an AdmissionCheck with an active controller.
func (s *Teams) Check(short string) {
	s.t.Helper()
	s.make(AdmissionChecks, queueObject("AdmissionCheck", s.Name(short), map[string]any{"controllerName": "muster.batch/test"}))
	s.SetCheckActive(short, "True")
}

// SetCheckActive writes, like the controller of a check, whether the check works.
func (s *Teams) SetCheckActive(short, status string) {
	s.t.Helper()
	s.cluster.Patch(s.t, AdmissionChecks, "", s.Name(short), fmt.Sprintf(`{"status":{"conditions":[{"type":"Active","status":%q,`+
		`"reason":"Test","message":"by the test","lastTransitionTime":%q}]}}`, status, time.Now().UTC().Format(time.RFC3339)), "status")
}

// Checks is a field for Queue: the checks that must agree to an admission, as "check", or "check@flavor" for a
// check of this flavor only.
func (s *Teams) Checks(checks ...string) map[string]any {
	var rules []any
	for _, each := range checks {
		check, flavor, limited := strings.Cut(each, "@")
		rule := map[string]any{"name": s.Name(check)}
		if limited {
			rule["onFlavors"] = []any{s.Name(flavor)}
		}
		rules = append(rules, rule)
	}
	return map[string]any{"admissionChecksStrategy": map[string]any{"admissionChecks": rules}}
}

// Says writes the state of a check into the Workload of a Job, with these fields beside it.
func (s *Teams) Says(check, job, state string, fields ...map[string]any) {
	s.t.Helper()
	workload := s.Await(job, "has the check "+check, func(workload *unstructured.Unstructured) error {
		if s.CheckOf(workload, check) == nil {
			return fmt.Errorf("status %v", workload.Object["status"])
		}
		return nil
	})
	s.cluster.writeStatus(s.t, workload, func(current *unstructured.Unstructured) {
		checks := objectsIn(current.Object, "status", "admissionChecks")
		var all []any
		for _, each := range checks {
			if each["name"] == s.Name(check) {
				maps.Copy(each, map[string]any{"state": state, "message": "the test says " + state,
					"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
				for _, more := range fields {
					maps.Copy(each, more)
				}
			}
			all = append(all, each)
		}
		Set(current, all, "status", "admissionChecks")
	})
}

// CheckIs is a condition: the Workload has to pass the check, which is in that state.
func (s *Teams) CheckIs(check, state string) func(*unstructured.Unstructured) error {
	return func(workload *unstructured.Unstructured) error {
		if found := s.CheckOf(workload, check); found["state"] != state {
			return fmt.Errorf("the check %s is %v; status %v", check, found, workload.Object["status"])
		}
		return nil
	}
}

// CheckOf is the state of a check in the Workload's status; nil when the Workload need not pass it.
func (s *Teams) CheckOf(workload *unstructured.Unstructured, check string) map[string]any {
	for _, each := range objectsIn(workload.Object, "status", "admissionChecks") {
		if each["name"] == s.Name(check) {
			return each
		}
	}
	return nil
}

// HoldsQuota waits until the Workload of a Job has quota, can keep it, and waits for checks
// that are in these states, as "check=state", and for no other.
func (s *Teams) HoldsQuota(job string, states ...string) *unstructured.Unstructured {
	s.t.Helper()
	conditions := []func(*unstructured.Unstructured) error{
		HasCondition("QuotaReserved", "True", "QuotaReserved"), HasCondition("Admitted", "False", "UnsatisfiedAdmissionChecks"),
		func(workload *unstructured.Unstructured) error {
			if checks := objectsIn(workload.Object, "status", "admissionChecks"); len(checks) != len(states) {
				return fmt.Errorf("its checks are %v", checks)
			}
			if evicted := ConditionOf(workload, "Evicted"); evicted["status"] == "True" {
				return fmt.Errorf("it is leaving: %v", evicted)
			}
			return nil
		},
	}
	for _, each := range states {
		check, state, _ := strings.Cut(each, "=")
		conditions = append(conditions, s.CheckIs(check, state))
	}
	return s.Await(job, "has quota and waits for its checks", conditions...)
}
