package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const serverName = "proxy.example"

// The certificates of all proxies: their own, and an authority's. The root is not sent.
type chain struct {
	certificates [][]byte
	key          []byte
	roots        *x509.CertPool
}

func newChain(keys string) (*chain, error) {
	rootKey, root, _, err := certificate("Tessera root", keys, nil, nil)
	if err != nil {
		return nil, err
	}
	middleKey, middle, middleDer, err := certificate("Tessera authority", keys, root, rootKey)
	if err != nil {
		return nil, err
	}
	key, _, der, err := certificate(serverName, keys, middle, middleKey)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return &chain{certificates: [][]byte{der, middleDer}, key: private, roots: roots}, nil
}

// Makes a certificate; an authority's, but for the server's name.
func certificate(name, keys string, issuer *x509.Certificate, by crypto.Signer) (
	key crypto.Signer, made *x509.Certificate, der []byte, err error,
) {
	if keys == "rsa-2048" {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		return
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true,
	}
	if name == serverName {
		template.DNSNames = []string{name}
		template.KeyUsage = x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	} else {
		template.IsCA = true
		template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	if issuer == nil {
		issuer, by = template, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), by); err == nil {
		made, err = x509.ParseCertificate(der)
	}
	return
}

// An Envoy that answers every request.
type proxy struct {
	address string
	process *exec.Cmd
}

func start(directory string, chain *chain, ticketKey []byte) (*proxy, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	var pems []byte
	for _, der := range chain.certificates {
		pems = append(pems, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: chain.key})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().(*net.TCPAddr)
	listener.Close()
	config, err := json.Marshal(configuration(directory, address.Port))
	if err != nil {
		return nil, err
	}
	secrets, err := json.Marshal(ticketKeys(ticketKey))
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		"chain.pem": pems, "key.pem": key, "envoy.json": config, "stek.json": secrets,
	} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	// Without the flag it ends with the process group of whatever started it.
	process := exec.Command(*envoy, "-c", filepath.Join(directory, "envoy.json"), "--disable-hot-restart",
		"--concurrency", "1", "--log-level", "error")
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		return nil, err
	}
	made := &proxy{address: address.String(), process: process}
	for range 200 {
		if connection, err := net.Dial("tcp", made.address); err == nil {
			connection.Close()
			return made, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	made.stop()
	return nil, fmt.Errorf("%s doesn't listen after ten seconds", *envoy)
}

func (p *proxy) stop() {
	p.process.Process.Kill()
	p.process.Wait()
}

type object = map[string]any

const v3 = "type.googleapis.com/envoy.extensions."

func configuration(directory string, port int) object {
	file := func(name string) object { return object{"filename": filepath.Join(directory, name)} }
	manager := object{
		"@type":       v3 + "filters.network.http_connection_manager.v3.HttpConnectionManager",
		"stat_prefix": "edge",
		"route_config": object{"virtual_hosts": []object{{
			"name": "all", "domains": []string{"*"},
			"routes": []object{{
				"match":           object{"prefix": "/"},
				"direct_response": object{"status": 200, "body": object{"inline_string": "here"}},
			}},
		}}},
		"http_filters": []object{{
			"name":         "envoy.filters.http.router",
			"typed_config": object{"@type": v3 + "filters.http.router.v3.Router"},
		}},
	}
	tls := object{
		"@type": v3 + "transport_sockets.tls.v3.DownstreamTlsContext",
		"common_tls_context": object{
			"alpn_protocols": []string{"h2", "http/1.1"},
			"tls_params": object{
				"tls_minimum_protocol_version": "TLSv1_3",
				"tls_maximum_protocol_version": "TLSv1_3",
				// The server's order wins.
				"ecdh_curves": []string{"X25519MLKEM768", "X25519"},
			},
			"tls_certificates": []object{{"certificate_chain": file("chain.pem"), "private_key": file("key.pem")}},
		},
		"session_ticket_keys_sds_secret_config": object{
			"name": "stek",
			"sds_config": object{
				"path_config_source":   object{"path": filepath.Join(directory, "stek.json")},
				"resource_api_version": "V3",
			},
		},
	}
	return object{
		"node": object{"id": "edge", "cluster": "edge"},
		"static_resources": object{"listeners": []object{{
			"address": object{"socket_address": object{"address": "127.0.0.1", "port_value": port}},
			"filter_chains": []object{{
				"filters":          []object{{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}},
				"transport_socket": object{"name": "envoy.transport_sockets.tls", "typed_config": tls},
			}},
		}}},
	}
}

func ticketKeys(key []byte) object {
	return object{"version_info": "1", "resources": []object{{
		"@type": v3 + "transport_sockets.tls.v3.Secret", "name": "stek",
		"session_ticket_keys": object{"keys": []object{{"inline_bytes": base64.StdEncoding.EncodeToString(key)}}},
	}}}
}
