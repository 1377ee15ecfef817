// A client of net/http that sends one request after the other. net/http ignores Alt-Svc: the client follows by itself, with
// a connection to the announced proxy for the next request. crypto/tls finds its session by the server's name.
//
//	visitor ORIGIN AUTHORITY.pem ADDRESS PAUSE PREFIX
//
// ADDRESS is that of the origin, PAUSE in milliseconds. Each request becomes a line of the output, as `stock/mod.rs` reads it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var alternative = regexp.MustCompile(`"(.*?)"`)

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: visitor ORIGIN AUTHORITY.pem ADDRESS PAUSE PREFIX")
	}
	origin, prefix := os.Args[1], os.Args[5]
	authority, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	// For a module of a Go before 1.24, crypto/tls leaves X25519MLKEM768 out.
	if err := os.Setenv("GODEBUG", "tlsmlkem=1"); err != nil {
		log.Fatal(err)
	}
	pause, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		log.Fatal("no certificate in ", os.Args[2])
	}
	var proxy atomic.Value
	proxy.Store(os.Args[3])
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(1)},
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, proxy.Load().(string))
		},
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport, Jar: jar, Timeout: 10 * time.Second}
	at, announced, moving := "-", "-", false
	for number := 0; ; number++ {
		sent, status, hereNow, next := time.Now(), 0, at, announced
		response, err := send(client, origin+"/cart/"+prefix+"-"+strconv.Itoa(number), fmt.Sprint("body of ", number))
		answered := time.Now()
		if err != nil {
			fmt.Println(err)
		} else {
			status, hereNow, next = response.StatusCode, or(response.Header.Get("x-at")), "-"
			if found := alternative.FindStringSubmatch(response.Header.Get("alt-svc")); found != nil {
				next = found[1]
				proxy.Store(next)
			}
		}
		fmt.Printf("visit %d %f %f %d %s %s end\n", number, millis(sent), millis(answered), status, hereNow, next)
		// At once after an announcement; then soon, until it has arrived.
		isNew := announced != "-" && next != announced
		moving = (moving || isNew) && hereNow == at
		at, announced = hereNow, next
		switch {
		case isNew:
			transport.CloseIdleConnections()
		case moving:
			time.Sleep(5 * time.Millisecond)
		default:
			time.Sleep(time.Duration(pause) * time.Millisecond)
		}
	}
}

func send(client *http.Client, url, body string) (*http.Response, error) {
	response, err := client.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK && string(content) != body {
		err = fmt.Errorf("another request's answer: %q", content)
	}
	return response, err
}

func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func millis(moment time.Time) float64 {
	return float64(moment.UnixNano()) / 1e6
}
