package webhooks

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.batch/test/cluster/harness"
)

const podSchemaFile = "../../api/pod_schema.json"

// podSchema collects the fields of Kubernetes' Go types, by the names that JSON has for them.
type podSchema struct {
	Kubernetes string                       `json:"kubernetes"`
	Root       string                       `json:"root"`
	Types      map[string]map[string]string `json:"types"`
}

// typeName is what a value must be: a type of the schema, or one of JSON's kinds; "[]x" is a list, "{}x" a map from strings.
func (s *podSchema) typeName(t *testing.T, of reflect.Type) string {
	switch of {
	case reflect.TypeFor[resource.Quantity]():
		return "quantity"
	case reflect.TypeFor[intstr.IntOrString]():
		return "intOrString"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "string"
	case reflect.TypeFor[metav1.FieldsV1]():
		return "any"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return s.typeName(t, of.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64:
		return of.Kind().String()
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "string" // base64
		}
		return "[]" + s.typeName(t, of.Elem())
	case reflect.Map:
		return "{}" + s.typeName(t, of.Elem())
	case reflect.Struct:
		if _, known := s.Types[of.Name()]; !known {
			s.Types[of.Name()] = map[string]string{}
			s.addFields(t, of, s.Types[of.Name()])
		}
		return of.Name()
	}
	t.Fatalf("a field of type %s, which the schema has no word for", of)
	return ""
}

func (s *podSchema) addFields(t *testing.T, of reflect.Type, fields map[string]string) {
	for field := range of.NumField() {
		field := of.Field(field)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous: // inline
			s.addFields(t, field.Type, fields)
		case name == "" || name == "-":
			t.Fatalf("%s.%s has no name in JSON", of, field.Name)
		default:
			fields[name] = s.typeName(t, field.Type)
		}
	}
}

// text has a line for each type, so that a change of Kubernetes is a change of few lines.
func (s *podSchema) text(t *testing.T) []byte {
	names := make([]string, 0, len(s.Types))
	for name := range s.Types {
		names = append(names, name)
	}
	sort.Strings(names)
	var text bytes.Buffer
	text.WriteString("{\"kubernetes\": \"" + s.Kubernetes + "\", \"root\": \"" + s.Root + "\", \"types\": {\n")
	for i, name := range names {
		fields, err := json.Marshal(s.Types[name])
		harness.Must(t, err)
		text.WriteString("\"" + name + "\": " + string(fields))
		if i+1 < len(names) {
			text.WriteString(",")
		}
		text.WriteString("\n")
	}
	text.WriteString("}}\n")
	return text.Bytes()
}

// The schema of CronJobs, and of Job and pod templates, in muster is that of the Kubernetes that the lab builds.
// MUSTER_UPDATE_SCHEMA=1 writes it.
func TestPodSchemaIsThatOfKubernetes(t *testing.T) {
	module, err := os.ReadFile("go.mod")
	harness.Must(t, err)
	version := regexp.MustCompile(`(?m)^\tk8s\.io/kubernetes v([0-9.]+)$`).FindSubmatch(module)
	if version == nil {
		t.Fatal("go.mod names no version of Kubernetes")
	}
	schema := &podSchema{Kubernetes: string(version[1]), Types: map[string]map[string]string{}}
	schema.Root = schema.typeName(t, reflect.TypeFor[batchv1.CronJobSpec]())
	text := schema.text(t)
	if os.Getenv("MUSTER_UPDATE_SCHEMA") != "" {
		harness.Must(t, os.WriteFile(podSchemaFile, text, 0o644))
	}
	stored, err := os.ReadFile(podSchemaFile)
	harness.Must(t, err)
	if !bytes.Equal(stored, text) {
		t.Error("api/pod_schema.json is another one's: write it again with MUSTER_UPDATE_SCHEMA=1 (test/cluster/webhooks/pod_schema_test.go)")
	}
}
