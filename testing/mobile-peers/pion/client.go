package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/pion/dtls/v3"
)

const (
	// Nothing that the lab does lasts longer.
	patience        = 60 * time.Second
	leastRTTTimeout = 20 * time.Millisecond
)

// client has one association, which goes on from every address.
type client struct {
	options     clientOptions
	interfaces  *interfaces
	roots       *x509.CertPool
	association *dtls.Conn
	// isObsolete: whether the association is one that was given up, or the last, at the end.
	isObsolete *atomic.Bool
	// startOver ends a handshake under way.
	startOver  func()
	handshakes chan handshakeResult
	acks       chan uint32
	// refusal is why the server's certificate isn't accepted: pion may report the server's alert instead.
	refusal    atomic.Pointer[error]
	message    uint32
	isSent     bool
	isRepeated bool
	// timeouts is how many there were in a row.
	timeouts uint
	// wasOpen: there was an association.
	wasOpen     bool
	sentAt      time.Time
	nextAt      time.Time
	timeoutAt   time.Time
	progressAt  time.Time
	smoothedRTT time.Duration
}

type handshakeResult struct {
	association *dtls.Conn
	err         error
	isObsolete  bool
}

func runClient(options clientOptions) {
	pem, err := os.ReadFile(options.ca)
	if err != nil {
		fail(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		fail(errors.New(options.ca + " has no certificate"))
	}
	c := &client{
		options: options, interfaces: newInterfaces(options.sources), roots: roots,
		handshakes: make(chan handshakeResult), acks: make(chan uint32), progressAt: time.Now(),
	}
	input := make(chan []byte)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			input <- append([]byte(nil), lines.Bytes()...)
		}
		close(input)
	}()
	c.beginHandshake()
	for uint(c.message) < options.acks && c.step(input) {
	}
	if c.association != nil {
		c.isObsolete.Store(true)
		_ = c.association.Close()
	}
	report("end", now(), `,"cpu_us":%d,"datagrams_sent":%d,"datagrams_received":%d,"bytes_sent":%d,"bytes_received":%d`,
		cpuMicroseconds(), datagramsSent.Load(), datagramsReceived.Load(), bytesSent.Load(), bytesReceived.Load())
}

// step waits for what happens next, and returns whether the client goes on.
func (c *client) step(input <-chan []byte) bool {
	due := c.progressAt.Add(patience)
	switch {
	case c.association != nil && !c.isSent:
		due = c.nextAt
	case c.association != nil && c.timeoutAt.Before(due):
		due = c.timeoutAt
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case line, isOpen := <-input:
		if !isOpen {
			return false
		}
		isWayNew, err := c.interfaces.change(line)
		if err != nil {
			fail(err)
		}
		if c.options.detection == "event" && isWayNew {
			c.recover()
		}
	case result := <-c.handshakes:
		c.endHandshake(result)
	case number := <-c.acks:
		c.readAck(number)
	case <-timer.C:
		switch {
		case time.Since(c.progressAt) >= patience:
			if !c.wasOpen {
				fail(errors.New("no handshake within a minute"))
			}
			fail(errors.New("no progress for 60 s"))
		case c.association != nil && c.isSent:
			report("timeout", now(), "")
			c.timeouts++
			if c.options.restarts && c.timeouts >= c.options.timeouts {
				c.connectAgain()
			} else {
				c.sendMessage()
			}
		case c.association != nil:
			c.sendMessage()
		}
	}
	return true
}

// connectAgain gives up the association, which the server has lost.
func (c *client) connectAgain() {
	c.isObsolete.Store(true)
	go c.association.Close()
	c.association = nil
	c.beginHandshake()
}

// beginHandshake does a handshake from a new socket. If the address changes meanwhile, it starts over.
func (c *client) beginHandshake() {
	attempt, cancel := context.WithCancel(context.Background())
	c.startOver = cancel
	report("handshake_begin", now(), "")
	go func() {
		association, err := c.handshake(attempt, cancel)
		c.handshakes <- handshakeResult{association, err, attempt.Err() != nil}
	}()
}

func (c *client) handshake(attempt context.Context, startOver func()) (*dtls.Conn, error) {
	path := newPath(c.interfaces, startOver)
	association, err := dtls.ClientWithOptions(path, c.options.server,
		dtls.WithConnectionIDGenerator(dtls.OnlySendCIDGenerator()),
		dtls.WithMTU(mtu),
		// The options don't give the server's name: the chain is verified, and no name.
		dtls.WithInsecureSkipVerify(true),
		dtls.WithVerifyPeerCertificate(func(chain [][]byte, _ [][]*x509.Certificate) error {
			err := c.verify(chain)
			if err != nil {
				c.refusal.Store(&err)
			}
			return err
		}))
	if err != nil {
		return nil, err
	}
	if err := association.HandshakeContext(attempt); err != nil {
		_ = path.Close()
		return nil, err
	}
	return association, nil
}

func (c *client) verify(chain [][]byte) error {
	intermediates := x509.NewCertPool()
	var leaf *x509.Certificate
	for i, der := range chain {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		if i == 0 {
			leaf = certificate
		} else {
			intermediates.AddCert(certificate)
		}
	}
	if leaf == nil {
		return errors.New("the server has no certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: c.roots, Intermediates: intermediates})
	return err
}

func (c *client) endHandshake(result handshakeResult) {
	if result.err != nil && result.isObsolete {
		c.beginHandshake()
		return
	}
	if refusal := c.refusal.Load(); refusal != nil {
		fail(*refusal)
	}
	if result.err != nil {
		fail(result.err)
	}
	c.association, c.isObsolete = result.association, new(atomic.Bool)
	c.timeouts, c.wasOpen = 0, true
	c.progressAt = time.Now()
	report("handshake_end", now(), `,"kind":"full"`)
	go c.readAcks(c.association, c.isObsolete)
	if c.isSent {
		c.sendMessage()
	}
}

func (c *client) readAcks(association *dtls.Conn, isObsolete *atomic.Bool) {
	content := make([]byte, 2048)
	for {
		length, err := association.Read(content)
		if isObsolete.Load() {
			return
		}
		if err != nil {
			fail(err)
		}
		if length == ackLength {
			c.acks <- binary.BigEndian.Uint32(content)
		}
	}
}

func (c *client) readAck(number uint32) {
	if !c.isSent || number != c.message {
		return
	}
	report("ack", now(), `,"message":%d`, number)
	c.progressAt = time.Now()
	// Karn: which of several messages was acknowledged isn't known. The weight is RFC 6298's.
	rtt := c.progressAt.Sub(c.sentAt)
	switch {
	case c.isRepeated:
	case c.smoothedRTT == 0:
		c.smoothedRTT = rtt
	default:
		c.smoothedRTT = (7*c.smoothedRTT + rtt) / 8
	}
	c.message++
	c.timeouts = 0
	c.isSent, c.isRepeated = false, false
}

// recover acts at once, since an interface has changed.
func (c *client) recover() {
	switch {
	case c.association == nil:
		c.startOver()
	case c.isSent:
		c.sendMessage()
	}
}

// A timer may be this late without moving the messages after it.
const late = 20 * time.Millisecond

func (c *client) sendMessage() {
	content := make([]byte, messageLength)
	binary.BigEndian.PutUint32(content, c.message)
	at := time.Now()
	if c.isSent {
		c.isRepeated = true
	} else {
		if at.Sub(c.nextAt) > late {
			c.nextAt = at
		}
		c.nextAt = c.nextAt.Add(c.options.pace)
	}
	c.isSent, c.sentAt, c.timeoutAt = true, at, at.Add(c.timeout())
	report("sent", now(), `,"message":%d`, c.message)
	if _, err := c.association.Write(content); err != nil {
		fail(err)
	}
}

// timeout is how long an ack may take.
func (c *client) timeout() time.Duration {
	if c.options.detection != "rtt3" || c.smoothedRTT == 0 {
		return c.options.timeout
	}
	return max(3*c.smoothedRTT, leastRTTTimeout)
}
