package main

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range from which the kernel serves outgoing
// connections (32768 and up): a port picked from that range could be in use as
// the local end of another connection when the component comes to bind it.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// pickPorts returns ports on loopback that no process listens on. Another process
// could still take one before the component does; the component then dies at
// its start, and `lab up` says so.
func pickPorts(count int) ([]int, error) {
	ports := make([]int, 0, count)
	for tries := 0; len(ports) < count; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("no %d free ports between %d and %d", count, lowestPort, highestPort)
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		// Held until the function returns, so that no port is picked twice.
		defer listener.Close()
		ports = append(ports, port)
	}
	return ports, nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
