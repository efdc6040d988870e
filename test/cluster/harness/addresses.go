package harness

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// FreeAddress picks a port that is free now; muster binds it a moment later. Until then the kernel can give a port that
// it chooses to each client that connects somewhere, so this port is below those (and below the ports of Services).
func FreeAddress(t testing.TB) string {
	t.Helper()
	return FreeAddressOf(t, "127.0.0.1")
}

// FreeAddressOf is FreeAddress at another address of this machine.
func FreeAddressOf(t testing.TB, host string) string {
	t.Helper()
	const first, end = 12000, 30000
	for tries := 0; tries < 1000; tries++ {
		address := net.JoinHostPort(host, strconv.Itoa(first+rand.IntN(end-first)))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		listener.Close()
		if _, given := addressesGiven.LoadOrStore(address, true); !given {
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

var addressesGiven sync.Map
