package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pion/dtls/v3"
)

const (
	handshakeLimit = 30 * time.Second
	idleLimit      = 60 * time.Second
)

// runServer serves all associations through one socket: the connection ID finds each.
func runServer(at *net.UDPAddr, certificate, key string) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		fail(err)
	}
	listener, err := dtls.ListenWithOptions("udp4", at,
		dtls.WithCertificates(pair),
		dtls.WithConnectionIDGenerator(dtls.RandomCIDGenerator(8)),
		dtls.WithMTU(mtu))
	if err != nil {
		fail(err)
	}
	fmt.Printf(`{"event":"listening","address":"%s"}`+"\n", listener.Addr())
	go func() {
		for {
			association, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(association.(*dtls.Conn))
		}
	}()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended <- syscall.SIGTERM
	}()
	<-ended
	fmt.Printf(`{"event":"end","cpu_us":%d,"sockets_most":1,"ports_most":1}`+"\n", cpuMicroseconds())
}

// serve acknowledges messages until the client closes, is idle or fails.
func serve(association *dtls.Conn) {
	defer association.Close()
	limit, cancel := context.WithTimeout(context.Background(), handshakeLimit)
	defer cancel()
	if association.HandshakeContext(limit) != nil {
		return
	}
	message := make([]byte, 2048)
	for {
		_ = association.SetReadDeadline(time.Now().Add(idleLimit))
		length, err := association.Read(message)
		if err != nil {
			return
		}
		if length >= ackLength {
			_, _ = association.Write(message[:ackLength])
		}
	}
}
