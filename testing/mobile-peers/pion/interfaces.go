package main

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
)

// interfaces are those of the client, as standard input describes them.
type interfaces struct {
	mutex sync.Mutex
	all   []networkInterface
}

type networkInterface struct {
	address net.IP
	isUp    bool
}

type interfaceChange struct {
	Interface *int   `json:"interface"`
	State     string `json:"state"`
	Address   string `json:"address"`
}

func newInterfaces(sources []net.IP) *interfaces {
	all := make([]networkInterface, len(sources))
	for i, source := range sources {
		all[i] = networkInterface{source, true}
	}
	return &interfaces{all: all}
}

// change takes a line of standard input, and returns whether what is sent next has a new way.
func (it *interfaces) change(line []byte) (bool, error) {
	it.mutex.Lock()
	defer it.mutex.Unlock()
	var change interfaceChange
	err := json.Unmarshal(line, &change)
	isUp := change.State == "up"
	if err != nil || change.Interface == nil || *change.Interface < 0 || *change.Interface >= len(it.all) ||
		!isUp && change.State != "down" {
		return false, fmt.Errorf("standard input: %s", line)
	}
	index := *change.Interface
	it.all[index].isUp = isUp
	if isUp && change.Address != "" {
		if it.all[index].address = net.ParseIP(change.Address).To4(); it.all[index].address == nil {
			return false, fmt.Errorf("standard input: %s", line)
		}
	}
	isOtherUp := len(it.all) == 2 && it.all[1-index].isUp
	// The second counts while the first is down.
	if index == 0 {
		return isUp || isOtherUp, nil
	}
	return isUp && !isOtherUp, nil
}

// route returns the address from which a datagram leaves: the first that is up, as by the kernel's routes.
func (it *interfaces) route() net.IP {
	it.mutex.Lock()
	defer it.mutex.Unlock()
	for _, candidate := range it.all {
		if candidate.isUp {
			return candidate.address
		}
	}
	return it.all[0].address
}
