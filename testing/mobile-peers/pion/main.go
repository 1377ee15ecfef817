// pion's DTLS 1.2 with connection IDs as a peer of `tessera lab dtls`; ../README.md has the contract.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// What is sent are datagrams of at most this length, less than any path of the lab carries.
const mtu = 1200

const (
	messageLength = 64
	ackLength     = 4
)

type clientOptions struct {
	server    *net.UDPAddr
	ca        string
	sources   []net.IP
	acks      uint
	pace      time.Duration
	timeout   time.Duration
	timeouts  uint
	detection string
	// restarts: the server does, and the association is lost.
	restarts bool
}

func main() {
	if len(os.Args) < 2 {
		refuse("the first argument: client or server")
	}
	flags := flag.NewFlagSet("pion-peer", flag.ExitOnError)
	arm := flags.String("arm", "", "pion-cid")
	listen := flags.String("listen", "", "where the server listens, IP:PORT")
	certificate := flags.String("certificate", "", "the server's chain, PEM")
	key := flags.String("key", "", "the server's key, PEM")
	connect := flags.String("connect", "", "the server's address, IP:PORT")
	ca := flags.String("ca", "", "the authority that the client trusts, PEM")
	sources := flags.String("sources", "", "the addresses of the client's interfaces, IP[,IP]")
	acks := flags.Uint("acks", 0, "how many messages it sends")
	pace := flags.Uint("pace-ms", 0, "how far apart it sends them")
	timeout := flags.Uint("timeout-ms", 0, "how long an ack may take")
	timeouts := flags.Uint("timeouts", 1, "how many time-outs in a row lose an association")
	restarts := flags.Uint("restarts", 0, "1: the server restarts, and loses its associations")
	detection := flags.String("detection", "", "timeout, rtt3 or event")
	_ = flags.Parse(os.Args[2:])
	if *arm != "pion-cid" || flags.NArg() > 0 {
		refuse("--arm: pion-cid is this program's only one")
	}
	switch os.Args[1] {
	case "server":
		runServer(address("--listen", *listen), *certificate, *key)
	case "client":
		options := clientOptions{
			server: address("--connect", *connect), ca: *ca, acks: *acks, detection: *detection,
			timeouts: *timeouts, restarts: *restarts > 0,
			pace: time.Duration(*pace) * time.Millisecond, timeout: time.Duration(*timeout) * time.Millisecond,
		}
		for _, source := range strings.Split(*sources, ",") {
			ip := net.ParseIP(source).To4()
			if ip == nil {
				refuse("--sources: " + source)
			}
			options.sources = append(options.sources, ip)
		}
		if len(options.sources) > 2 || *acks == 0 || *pace == 0 || *timeout == 0 ||
			!strings.Contains(" timeout rtt3 event ", " "+*detection+" ") {
			refuse("a client's options are missing or out of range")
		}
		runClient(options)
	default:
		refuse("the first argument: client or server")
	}
}

func address(option, text string) *net.UDPAddr {
	address, err := net.ResolveUDPAddr("udp4", text)
	if err != nil || text == "" {
		refuse(option + ": " + text)
	}
	return address
}

func refuse(why string) {
	fmt.Fprintln(os.Stderr, "pion-peer:", why)
	os.Exit(2)
}
