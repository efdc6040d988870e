package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// roomsDirectory holds what a real node keeps on this machine. The names below
	// it are short, because the path of a Unix socket ends after 107 characters,
	// and a lab's own folder can lie anywhere.
	roomsDirectory = "/var/lib/muster-lab"
	mostRooms      = 100
)

// nodeRoom is the part of the machine that one lab's real node has for itself:
// a folder, a bridge and the addresses behind it. Rooms are numbered, and a
// locked file says which are taken. The kernel unlocks the file when the lab
// ends, however it ends, so the next lab finds the room and clears it.
type nodeRoom struct {
	number    int
	directory string
	lock      *os.File
}

// claimRoom takes the first free room, and clears every free room that an
// earlier lab has left in disorder.
func claimRoom() (*nodeRoom, error) {
	var claimed *nodeRoom
	for number := range mostRooms {
		room := roomOf(number)
		_, err := os.Stat(room.directory)
		abandoned := err == nil
		if claimed != nil && !abandoned {
			continue
		}
		if taken, err := room.take(); err != nil {
			return nil, err
		} else if !taken {
			continue
		}
		if abandoned {
			say("clearing %s, which an earlier lab left", room.directory)
			room.clear()
		}
		if claimed == nil {
			claimed = room
		} else {
			room.leave()
		}
	}
	if claimed == nil {
		return nil, fmt.Errorf("%d labs with a real node run already", mostRooms)
	}
	if err := os.MkdirAll(claimed.directory, 0o711); err != nil {
		return nil, err
	}
	return claimed, nil
}

func roomOf(number int) *nodeRoom {
	return &nodeRoom{number: number, directory: filepath.Join(roomsDirectory, fmt.Sprint(number))}
}

// take locks the room, if no other process has.
func (r *nodeRoom) take() (bool, error) {
	path := r.directory + ".lock"
	file, err := createIn(roomsDirectory, path)
	if err != nil {
		return false, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && stillNamed(file, path) {
		r.lock = file
		return true, nil
	}
	file.Close()
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		return false, fmt.Errorf("locking %s: %w", path, err)
	}
	return false, nil
}

// createIn opens a file, for which the folder is made; a lab that leaves at this
// moment removes the folder if it is empty.
func createIn(directory, path string) (*os.File, error) {
	for tries := 0; ; tries++ {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil || tries == 10 || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
}

// stillNamed is false if a lab that left the room removed the file between our
// opening and our locking it.
func stillNamed(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

// leave gives the room back. It must have been cleared.
func (r *nodeRoom) leave() {
	_ = os.Remove(r.directory + ".lock") // an empty file is no harm
	r.lock.Close()
	_ = os.Remove(roomsDirectory) // stays while others have rooms
}

func (r *nodeRoom) path(elements ...string) string {
	return filepath.Join(append([]string{r.directory}, elements...)...)
}

// A bridge's name can have 15 characters.
func (r *nodeRoom) bridge() string  { return fmt.Sprintf("mlab%d", r.number) }
func (r *nodeRoom) network() string { return fmt.Sprintf("muster-lab-%d", r.number) }
func (r *nodeRoom) address() string { return fmt.Sprintf("10.203.%d.1", r.number) }
func (r *nodeRoom) subnet() string  { return fmt.Sprintf("10.203.%d.0/24", r.number) }
func (r *nodeRoom) socket() string  { return r.path("containerd.sock") }
