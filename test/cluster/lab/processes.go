package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is how long a component can take to end by itself.
const patience = 10 * time.Second

// process is one running component: this same binary as a child, or containerd.
type process struct {
	name       string
	log        string // path
	command    *exec.Cmd
	ended      chan struct{} // closed when it has been waited for
	outcome    string        // set before ended is closed
	beforeStop func()        // nil, or what to do with it while it still runs
}

// start runs a program with its output in a log file named after the component.
//
// The child is killed by the kernel when the thread that started it dies, so
// callers must be locked to the main thread (see up). It has a separate process group so that
// Ctrl-C in a terminal reaches only the supervisor, which then stops the components in their
// order.
func start(name, logDirectory, program string, arguments ...string) (*process, error) {
	logPath := filepath.Join(logDirectory, name+".log")
	// Appended to: a component that is restarted must not take the log of the former along.
	logFile, err := os.OpenFile(logPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()

	command := exec.Command(program, arguments...)
	command.Stdout, command.Stderr = logFile, logFile
	if os.Getenv("GOGC") == "" {
		// Under load the API server spends a seventh of its time on collecting
		// garbage; a lab has memory to spare rather than processors.
		command.Env = append(os.Environ(), "GOGC=300")
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	child := &process{name: name, log: logPath, command: command, ended: make(chan struct{})}
	go func() {
		_ = command.Wait() // its result is read from ProcessState
		child.outcome = command.ProcessState.String()
		close(child.ended)
	}()
	return child, nil
}

// stop asks the process to end and waits until it has; it kills the whole
// group when that takes too long, and says which of the two happened.
func (p *process) stop() (killed bool) {
	if p.beforeStop != nil {
		p.beforeStop()
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		killed = true
		p.kill()
	}
	return killed
}

// kill ends the whole group at once, as a crash would, and waits until the process is gone.
func (p *process) kill() {
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// hasEnded tells whether the process is gone, without waiting.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// tail returns the last lines of the process's log.
func (p *process) tail(lines int) string {
	file, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	const window = 16 << 10
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, size-window), io.SeekStart)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
