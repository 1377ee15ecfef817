// Handshakes of Go's crypto/tls with two Envoys that have one ticket key (the paper's Fig. 3): bytes of each flight, and
// times over loopback.
//
//	go run . -envoy PROGRAM -json FILE [-revision TEXT] [-repetitions N] [-connections N]
//
// The report has the mean time of the connections of each repetition, in microseconds, from before connect() until the
// handshake is complete. `tessera lab results --of edge` reads it.
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

var (
	envoy       = flag.String("envoy", "", "the program")
	file        = flag.String("json", "", "where the report goes")
	revision    = flag.String("revision", "", "of the sources")
	repetitions = flag.Int("repetitions", 35, "samples of each cell")
	connections = flag.Int("connections", 100, "connections that a sample is the mean of")
)

// A cell: a way to connect, a group, and the keys of certificates, as `tessera lab edge` names them.
type cell struct {
	Way          string `json:"way"`
	Kx           string `json:"kx"`
	Certificates string `json:"certificates"`
	// The records with the ClientHello; all of each end until the client's Finished; and those with tickets.
	Hello   int `json:"hello"`
	Client  int `json:"client"`
	Server  int `json:"server"`
	Tickets int `json:"tickets"`
	// The ticket that the client sent.
	Ticket      int       `json:"ticket"`
	HandshakeUs []float64 `json:"handshake_us"`
}

type report struct {
	Experiment  string           `json:"experiment"`
	Envoy       string           `json:"envoy"`
	Go          string           `json:"go"`
	Revision    *string          `json:"revision"`
	Machine     machine          `json:"machine"`
	Load        float64          `json:"load"`
	Connections int              `json:"connections"`
	Chains      map[string][]int `json:"chains"`
	Cells       []cell           `json:"cells"`
}

type machine struct {
	Cpu    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
}

func main() {
	flag.Parse()
	if *envoy == "" || *file == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	directory, err := os.MkdirTemp("", "edge-envoy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	version, err := exec.Command(*envoy, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", *envoy, err)
	}
	made := report{Experiment: "edge-envoy", Envoy: versionOf(string(version)), Go: runtime.Version(),
		Connections: *connections, Chains: map[string][]int{}}
	if *revision != "" {
		made.Revision = revision
	}
	if made.Machine, made.Load, err = thisMachine(); err != nil {
		return err
	}
	key := make([]byte, 80)
	rand.Read(key)
	for _, keys := range []string{"rsa-2048", "p-256"} {
		chain, err := newChain(keys)
		if err != nil {
			return err
		}
		for _, certificate := range chain.certificates {
			made.Chains[keys] = append(made.Chains[keys], len(certificate))
		}
		// Each proxy its own process and directory; the same names, issuer and ticket key.
		var proxies [2]*proxy
		for index := range proxies {
			proxies[index], err = start(fmt.Sprintf("%s/%s-%d", directory, keys, index), chain, key)
			if err != nil {
				return err
			}
			defer proxies[index].stop()
		}
		for _, way := range []string{"full", "resumed", "inherited"} {
			for _, kx := range []string{"x25519", "x25519mlkem768"} {
				if way == "inherited" && kx != "x25519" {
					continue
				}
				measured, err := measure(cell{Way: way, Kx: kx, Certificates: keys}, chain.roots, proxies)
				if err != nil {
					return fmt.Errorf("%s, %s, %s: %w", way, kx, keys, err)
				}
				fmt.Println(measured.Way, measured.Kx, measured.Certificates, measured.Hello, measured.Client,
					measured.Server, measured.Tickets)
				made.Cells = append(made.Cells, measured)
			}
		}
	}
	return write(made)
}

// Measures a cell; the first repetition is the warm-up.
func measure(of cell, roots *x509.CertPool, proxies [2]*proxy) (cell, error) {
	config := func(cache tls.ClientSessionCache, kx string) *tls.Config {
		return &tls.Config{ServerName: serverName, RootCAs: roots, MinVersion: tls.VersionTLS13,
			CurvePreferences: []tls.CurveID{group(kx)}, ClientSessionCache: cache, NextProtos: []string{"http/1.1"}}
	}
	cache := &oneSession{}
	for repetition := 0; repetition <= *repetitions; repetition++ {
		var sum time.Duration
		for number := range *connections {
			// The ticket is always of the other proxy.
			at := proxies[number%2]
			other := proxies[1-number%2]
			switch {
			case of.Way == "full":
				cache.forget()
			case of.Way == "inherited":
				cache.forget()
				if _, err := connect(other.address, config(cache, "x25519mlkem768")); err != nil {
					return of, err
				}
			case cache.state == nil:
				if _, err := connect(other.address, config(cache, of.Kx)); err != nil {
					return of, err
				}
			}
			ticket, err := cache.ticket()
			if err != nil {
				return of, err
			}
			made, err := connect(at.address, config(cache, of.Kx))
			if err != nil {
				return of, err
			}
			if made.resumed != (of.Way != "full") || made.group != group(of.Kx) {
				return of, errors.New("a connection was of another way")
			}
			sum += made.handshake
			of.Hello, of.Client, of.Server, of.Tickets, of.Ticket =
				made.hello, made.client, made.server, made.tickets, len(ticket)
		}
		if repetition > 0 {
			mean := float64(sum.Nanoseconds()) / 1e3 / float64(*connections)
			of.HandshakeUs = append(of.HandshakeUs, mean)
		}
		// An odd number of connections would begin again at the proxy of the last one.
		cache.forget()
	}
	return of, nil
}

// Returns the only group of a client. By default crypto/tls sends a share for X25519 next to the hybrid one: 36 bytes.
func group(kx string) tls.CurveID {
	if kx == "x25519" {
		return tls.X25519
	}
	return tls.X25519MLKEM768
}

// A connection, as the client saw it.
type connection struct {
	resumed                        bool
	group                          tls.CurveID
	handshake                      time.Duration
	hello, client, server, tickets int
}

func connect(address string, config *tls.Config) (connection, error) {
	var made connection
	started := time.Now()
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return made, err
	}
	counted := &counter{Conn: socket}
	client := tls.Client(counted, config)
	defer client.Close()
	if err := client.Handshake(); err != nil {
		return made, err
	}
	made.handshake = time.Since(started)
	made.hello, made.client, made.server = counted.hello, counted.written, counted.read
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: "+serverName+"\r\n\r\n"); err != nil {
		return made, err
	}
	// Tickets come after the handshake: crypto/tls takes them while it reads.
	response, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		return made, err
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		return made, err
	}
	made.tickets, err = counted.tickets(made.server)
	state := client.ConnectionState()
	made.resumed, made.group = state.DidResume, state.CurveID
	return made, err
}

// Counts what passes, and keeps it.
type counter struct {
	net.Conn
	hello, written, read int
	received             bytes.Buffer
}

func (c *counter) Write(data []byte) (int, error) {
	count, err := c.Conn.Write(data)
	if c.written == 0 {
		c.hello = count
	}
	c.written += count
	return count, err
}

func (c *counter) Read(data []byte) (int, error) {
	count, err := c.Conn.Read(data)
	c.read += count
	c.received.Write(data[:count])
	return count, err
}

// Returns the bytes of the first record after the server's flight: Envoy sends all tickets in one, before any response.
func (c *counter) tickets(after int) (int, error) {
	rest := c.received.Bytes()[after:]
	if len(rest) < 5 || rest[0] != 23 {
		return 0, errors.New("no record after the handshake")
	}
	return 5 + int(rest[3])<<8 + int(rest[4]), nil
}

// A cache of the last session.
type oneSession struct{ state *tls.ClientSessionState }

func (c *oneSession) Get(string) (*tls.ClientSessionState, bool)  { return c.state, c.state != nil }
func (c *oneSession) Put(_ string, state *tls.ClientSessionState) { c.state = state }
func (c *oneSession) forget()                                     { c.state = nil }

func (c *oneSession) ticket() ([]byte, error) {
	if c.state == nil {
		return nil, nil
	}
	ticket, _, err := c.state.ResumptionState()
	return ticket, err
}

// Returns the version in `PROGRAM  version: REVISION/1.40.0/...`.
func versionOf(text string) string {
	_, version, _ := strings.Cut(text, "version: ")
	if parts := strings.Split(version, "/"); len(parts) > 1 {
		return parts[1]
	}
	return strings.TrimSpace(version)
}

func thisMachine() (machine, float64, error) {
	made := machine{Cores: runtime.NumCPU(), Cpu: runtime.GOARCH}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return made, 0, err
	}
	for line := range strings.Lines(string(info)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.HasPrefix(name, "model name") {
			made.Cpu = strings.TrimSpace(value)
			break
		}
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return made, 0, err
	}
	made.Kernel = "Linux " + strings.TrimSpace(string(kernel))
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return made, 0, err
	}
	var minute float64
	_, err = fmt.Sscan(string(load), &minute)
	return made, minute, err
}

// Writes the report, with a line for each cell.
func write(made report) error {
	cells := made.Cells
	made.Cells = nil
	head, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	var lines []string
	for _, cell := range cells {
		line, err := json.Marshal(cell)
		if err != nil {
			return err
		}
		lines = append(lines, "    "+string(line))
	}
	whole := strings.Replace(string(head), `"cells": null`, "\"cells\": [\n"+strings.Join(lines, ",\n")+"\n  ]", 1)
	return os.WriteFile(*file, []byte(whole+"\n"), 0o644)
}
