// A client of crypto/tls that crosses between servers of one name: for each address in its input it makes a connection,
// sends a request, reads the response, and prints whether the session was resumed. With a third argument it offers one
// group alone.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: crossing SERVER-NAME AUTHORITY.pem [GROUP]")
	}
	authority, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		log.Fatal("no certificate in ", os.Args[2])
	}
	// The cache finds a session by the server's name, whatever the address.
	config := &tls.Config{
		ServerName:         os.Args[1],
		RootCAs:            roots,
		ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
	if len(os.Args) > 3 {
		group, err := strconv.ParseUint(os.Args[3], 10, 16)
		if err != nil {
			log.Fatal(err)
		}
		// For a module of a Go before 1.24, crypto/tls leaves X25519MLKEM768 out.
		if err := os.Setenv("GODEBUG", "tlsmlkem=1"); err != nil {
			log.Fatal(err)
		}
		config.CurvePreferences = []tls.CurveID{tls.CurveID(group)}
	}
	addresses := bufio.NewScanner(os.Stdin)
	for addresses.Scan() {
		resumed, err := connect(addresses.Text(), config)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("resumed:", resumed)
	}
}

func connect(address string, config *tls.Config) (bool, error) {
	connection, err := tls.Dial("tcp", address, config)
	if err != nil {
		return false, err
	}
	defer connection.Close()
	request := "GET / HTTP/1.1\r\nHost: " + config.ServerName + "\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(connection, request); err != nil {
		return false, err
	}
	// Tickets come after the handshake: crypto/tls takes them while it reads.
	if _, err := io.ReadAll(connection); err != nil {
		return false, err
	}
	return connection.ConnectionState().DidResume, nil
}
