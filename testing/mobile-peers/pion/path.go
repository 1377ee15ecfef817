package main

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/transport/v5/deadline"
)

var datagramsSent, datagramsReceived, bytesSent, bytesReceived atomic.Uint64

// path is what pion takes for one socket: it gets another as the interfaces change.
type path struct {
	interfaces *interfaces
	mutex      sync.Mutex
	sockets    map[string]*net.UDPConn
	current    string
	isClosed   bool
	received   chan datagram
	reading    *deadline.Deadline
	closed     chan struct{}
	// moved is called when the address changes below a handshake or an association.
	moved func()
}

type datagram struct {
	content []byte
	from    net.Addr
}

func newPath(interfaces *interfaces, moved func()) *path {
	return &path{
		interfaces: interfaces, moved: moved, sockets: map[string]*net.UDPConn{},
		received: make(chan datagram, 64), reading: deadline.New(), closed: make(chan struct{}),
	}
}

// WriteTo never fails: what can't be sent is lost, and the interface may come back.
func (p *path) WriteTo(content []byte, to net.Addr) (int, error) {
	socket := p.route()
	if socket == nil {
		return len(content), nil
	}
	if _, err := socket.WriteTo(content, to); err == nil {
		datagramsSent.Add(1)
		bytesSent.Add(uint64(len(content)))
	}
	return len(content), nil
}

// route returns the socket of the address from which a datagram leaves now.
func (p *path) route() *net.UDPConn {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	address := p.interfaces.route()
	name := address.String()
	if p.isClosed {
		return nil
	}
	if p.current != "" && p.current != name {
		p.moved()
	}
	p.current = name
	if socket := p.sockets[name]; socket != nil {
		return socket
	}
	// The address may not be there.
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: address})
	if err != nil {
		return nil
	}
	report("socket", now(), `,"address":"%s"`, socket.LocalAddr())
	p.sockets[name] = socket
	go p.receive(socket)
	return socket
}

func (p *path) receive(socket *net.UDPConn) {
	for {
		content := make([]byte, 2048)
		length, from, err := socket.ReadFrom(content)
		if err != nil {
			return
		}
		datagramsReceived.Add(1)
		bytesReceived.Add(uint64(length))
		select {
		case p.received <- datagram{content[:length], from}:
		case <-p.closed:
			return
		}
	}
}

func (p *path) ReadFrom(buffer []byte) (int, net.Addr, error) {
	select {
	case datagram := <-p.received:
		return copy(buffer, datagram.content), datagram.from, nil
	case <-p.reading.Done():
		return 0, nil, os.ErrDeadlineExceeded
	case <-p.closed:
		return 0, nil, net.ErrClosed
	}
}

func (p *path) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.isClosed {
		close(p.closed)
	}
	p.isClosed = true
	for _, socket := range p.sockets {
		_ = socket.Close()
	}
	return nil
}

func (p *path) LocalAddr() net.Addr {
	return &net.UDPAddr{IP: p.interfaces.route()}
}

func (p *path) SetDeadline(at time.Time) error {
	return p.SetReadDeadline(at)
}

func (p *path) SetReadDeadline(at time.Time) error {
	p.reading.Set(at)
	return nil
}

// SetWriteDeadline does nothing: WriteTo doesn't wait.
func (p *path) SetWriteDeadline(time.Time) error {
	return nil
}
