/* OpenSSL's DTLS 1.2 as a peer of `tessera lab dtls`; ../README.md has the contract. */
#ifndef PEER_H
#define PEER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

/* What this program sends and receives are datagrams of at most this length, less than any path of the lab carries. */
#define MTU 1200
/* More than any datagram: none is cut off unnoticed. */
#define LONGEST_DATAGRAM 2048

typedef struct sockaddr_in address;

enum arm { FULL, SESSION_ID, TICKET, IPC, TCS };
enum detection { BY_TIMEOUT, BY_RTT, BY_EVENT };

struct options {
    int is_server;
    enum arm arm;
    /* Where the server listens. */
    address server;
    /* PEM files. */
    const char *certificate, *key, *ca;
    struct in_addr sources[2];
    int source_count;
    uint32_t acks;
    uint64_t pace, timeout;
    unsigned timeouts;
    enum detection detection;
    /* The server restarts: an association that goes on otherwise is lost. */
    unsigned restarts;
};

int run_client(const struct options *options);
int run_server(const struct options *options);

/* report.c: lines of JSON on standard output. */

/* Nanoseconds of CLOCK_MONOTONIC, which all processes share. */
uint64_t now(void);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports this with OpenSSL's reason, if it has one, and ends the process with 1. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
long cpu_microseconds(void);

/* udp.c: sockets, and what passed them. */

struct traffic {
    unsigned long datagrams_sent, datagrams_received, bytes_sent, bytes_received;
};
extern struct traffic traffic;

/* Returns -1 if the address can't be bound. With `is_shared`, others may bind the same port. */
int udp_socket(address local, int is_shared);
address local_address(int socket);
int same_address(address a, address b);
/* A datagram that can't be sent is lost: the path may come back. */
void udp_send(int socket, address to, const void *data, size_t length);
/* Returns the length of a datagram that has arrived, or -1. */
int udp_receive(int socket, unsigned char *buffer, address *from);
/* "IP:PORT", in one of four buffers, which take turns. */
const char *address_text(address address);

/* dtls.c: an SSL above a socket of ours. */

/*
 * OpenSSL's BIO for datagrams has one socket and one peer. Ours has whichever the arm chooses, and both may change below
 * an association.
 */
struct channel {
    int socket;
    address peer;
    /* The datagram that OpenSSL reads next, or NULL. */
    const unsigned char *datagram;
    size_t length;
};

SSL_CTX *dtls_context(const struct options *options);
SSL *dtls_new(SSL_CTX *context, struct channel *channel);
/* Frees it. Its session can still be resumed. */
void dtls_free(SSL *ssl);
/* When DTLSv1_handle_timeout is due: 0 if it is now, UINT64_MAX if never. */
uint64_t dtls_deadline(SSL *ssl);
/* Whether this result of an operation ends the association. */
int dtls_failed(SSL *ssl, int result);
/* The type of the handshake message with which a datagram begins, if it is not encrypted; otherwise -1. */
enum { CLIENT_HELLO = 1, SERVER_HELLO = 2 };
int first_handshake_message(const unsigned char *datagram, size_t length);

/* The application's messages. */

/* What the client sends: its number, and padding. */
#define MESSAGE_LENGTH 64
/* What the server answers: the number. */
#define ACK_LENGTH 4
/* TCS: where the client sends from now on: this number, an IPv4 address and a port. */
#define NEW_ADDRESS UINT32_MAX
#define NEW_ADDRESS_LENGTH 10

#endif
