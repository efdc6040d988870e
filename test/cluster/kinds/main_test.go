package kinds

import (
	"testing"

	"muster.batch/test/cluster/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
