package harness

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// An object that alternates between two values is written by two writers that do not agree.
const (
	alternating = 8                // versions in turn
	inTurn      = 20 * time.Second // within which the changes came
)

type value struct {
	text string
	at   time.Time
}

// CheckAlternation demands that no object has alternated between two values, so far.
func (h *history) CheckAlternation(t testing.TB) {
	t.Helper()
	values := map[types.UID][]value{}
	told := map[types.UID]bool{}
	for _, each := range h.inOrder(t) {
		uid := each.object.GetUID()
		all := append(values[uid], value{valueOf(t, each.object), each.at})
		values[uid] = all[max(0, len(all)-alternating):]
		if !told[uid] && alternates(values[uid]) {
			told[uid] = true
			t.Errorf("%s %s alternates between two values:\n%s\n%s", each.object.GetKind(), each.object.GetName(),
				values[uid][0].text, values[uid][1].text)
		}
	}
}

// valueOf is the part on which other controllers depend: the spec, and the conditions without their messages.
func valueOf(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	parts := []any{object.Object["spec"]}
	for _, each := range objectsIn(object.Object, "status", "conditions") {
		parts = append(parts, fmt.Sprint(each["type"], " ", each["status"], " ", each["reason"]))
	}
	text, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func alternates(values []value) bool {
	if len(values) < alternating || values[0].text == values[1].text || values[len(values)-1].at.Sub(values[0].at) > inTurn {
		return false
	}
	for i := 2; i < len(values); i++ {
		if values[i].text != values[i-2].text {
			return false
		}
	}
	return true
}
