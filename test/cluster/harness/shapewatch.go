package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// watch follows all Workloads in the order of their changes, which is also the order in
// which muster saw them.
func (r *shapeRun) watch(version string) {
	for r.ctx.Err() == nil {
		err := r.client.watch(r.ctx, r.queues.path(), version, 2*time.Hour, func(line []byte) error {
			var event workloadEvent
			if err := json.Unmarshal(line, &event); err != nil {
				return err
			}
			if event.Type == "ERROR" && event.Object.Code == http.StatusGone {
				return errExpired
			}
			if event.Type == "ERROR" {
				return fmt.Errorf("the watch broke: %s", event.Object.Message)
			}
			version = event.Object.Metadata.ResourceVersion
			r.see(&event)
			return nil
		})
		if errors.Is(err, errExpired) {
			version, err = r.relist()
		}
		if err != nil && r.ctx.Err() == nil {
			r.cancel(err)
		}
	}
}

// relist reads all Workloads, and returns the version from which a watch continues.
func (r *shapeRun) relist() (version string, err error) {
	r.mutex.Lock()
	r.outcome.Relists++
	r.mutex.Unlock()
	for next := ""; ; {
		page, err := r.client.list(r.ctx, r.queues.path(), next)
		if err != nil {
			return "", err
		}
		for _, item := range page.Items {
			event := workloadEvent{Type: "MODIFIED"}
			if err := json.Unmarshal(item, &event.Object); err != nil {
				return "", err
			}
			r.see(&event)
		}
		if next = page.Metadata.Continue; next == "" {
			return page.Metadata.ResourceVersion, nil
		}
	}
}
