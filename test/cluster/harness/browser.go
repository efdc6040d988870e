package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium with one tab. It records the messages of the console.
type Browser struct {
	ctx      context.Context
	mutex    sync.Mutex
	problems []string
}

// OpenBrowser starts Chromium, which ends with the test.
func OpenBrowser(t *testing.T) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("the page is tested in chromium (Debian's package): %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 800),
		chromedp.WSURLReadTimeout(time.Minute)) // read from a cold disk on a busy machine
	allocated, endProcess := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endTab := chromedp.NewContext(allocated)
	t.Cleanup(func() { endTab(); endProcess() })
	browser := &Browser{ctx: ctx}
	chromedp.ListenTarget(ctx, browser.note)
	if err := chromedp.Run(ctx, log.Enable()); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	return browser
}

func (b *Browser) note(event any) {
	problem := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = event.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if event.Entry.Level == log.LevelError {
			problem = event.Entry.Text + " " + event.Entry.URL
		}
	}
	if problem == "" {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.problems = append(b.problems, problem)
}

// Problems are the exceptions and errors of the console since the last call: rejected by the page's policy, not
// found, not caught.
func (b *Browser) Problems() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	problems := b.problems
	b.problems = nil
	return problems
}

// Do runs actions in the tab.
func (b *Browser) Do(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}

// Text is the visible text of the page.
func (b *Browser) Text(t *testing.T) (text string) {
	t.Helper()
	b.Do(t, chromedp.Evaluate(`document.body.innerText`, &text))
	return text
}

// WaitText waits until all of these can be read.
func (b *Browser) WaitText(t *testing.T, wanted ...string) string {
	t.Helper()
	text := ""
	Eventually(t, 20*time.Second, "the page to show "+strings.Join(wanted, ", "), func() error {
		text = b.Text(t)
		for _, each := range wanted {
			if !strings.Contains(text, each) {
				return fmt.Errorf("%q is not in\n%s", each, text)
			}
		}
		return nil
	})
	return text
}

// Screenshot keeps a picture where a variable asks for one.
func Screenshot(t *testing.T, browser *Browser, name string) {
	t.Helper()
	folder := os.Getenv("MUSTER_TEST_PICTURES")
	if folder == "" {
		return
	}
	var image []byte
	browser.Do(t, chromedp.CaptureScreenshot(&image))
	Must(t, os.WriteFile(filepath.Join(folder, name+".png"), image, 0o644))
}
