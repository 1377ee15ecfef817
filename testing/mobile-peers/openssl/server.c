/* The server: which socket an association has, and for how long. */
#define _GNU_SOURCE
#include <endian.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "peer.h"

#define MOST_ASSOCIATIONS 1000
/* Datagrams read from one socket before the others have their turn. */
#define BURST 64
#define HANDSHAKE_LIMIT (30 * SECOND)
#define IDLE_LIMIT (60 * SECOND)
#define RESEND_ADDRESS SECOND

struct association {
    struct association *next;
    SSL *ssl;
    /* Through which socket it sends: the welcome socket, TCS's temporary one, or its own. */
    struct channel channel;
    /* Sockets of this association alone, or -1. */
    int own, temporary;
    int is_established, has_ended;
    /* Epoch and number of the newest authentic record. */
    uint64_t newest;
    uint64_t used_at, resend_at;
};

static const struct options *options;
static SSL_CTX *context;
static address welcome_address;
static int welcome_socket;
/* It answers ClientHellos; one with a valid cookie turns it into an association. */
static struct association *listening;
static struct association *associations;
static unsigned association_count;
static unsigned sockets, sockets_most, ports, ports_most;

static void receive_all(int udp, struct association *association);
static void receive(struct association *association, int udp, const unsigned char *datagram, size_t length, address from);
static void welcome(const unsigned char *datagram, size_t length, address from);
static void listen_to(const unsigned char *datagram, size_t length, address from);
static void choose_socket(struct association *association);
static void handshake(struct association *association);
static void read_messages(struct association *association, int udp, const unsigned char *datagram, address from);
static void send_own_address(struct association *association);
static uint64_t run_timers(struct association *association);
static int open_socket(in_port_t port);
static struct association *new_association(void);
static void remove_ended(void);
static void free_association(struct association *association);

static volatile sig_atomic_t is_terminated;
static void terminate(int signal) { is_terminated = signal; }

int run_server(const struct options *given) {
    options = given;
    context = dtls_context(options);
    welcome_socket = open_socket(options->server.sin_port);
    if (welcome_socket < 0) fail("%s can't be bound", address_text(options->server));
    welcome_address = local_address(welcome_socket);

    /* It ends between two rounds. */
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    sigdelset(&before, SIGTERM);
    signal(SIGTERM, terminate);
    report("{\"event\":\"listening\",\"address\":\"%s\"}", address_text(welcome_address));

    static struct pollfd polled[2 + 2 * MOST_ASSOCIATIONS];
    static struct association *owners[2 + 2 * MOST_ASSOCIATIONS];
    for (;;) {
        polled[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = welcome_socket, .events = POLLIN};
        nfds_t count = 2;
        uint64_t deadline = UINT64_MAX;
        for (struct association *it = associations; it; it = it->next) {
            uint64_t due = run_timers(it);
            if (due < deadline) deadline = due;
            const int its_sockets[] = {it->temporary, it->own};
            for (int i = 0; i < 2 && !it->has_ended; i++) {
                if (its_sockets[i] < 0) continue;
                owners[count] = it;
                polled[count++] = (struct pollfd){.fd = its_sockets[i], .events = POLLIN};
            }
        }
        uint64_t at = now(), left = deadline > at ? deadline - at : 0;
        struct timespec wait = {.tv_sec = (time_t)(left / SECOND), .tv_nsec = (long)(left % SECOND)};
        ppoll(polled, count, deadline == UINT64_MAX ? NULL : &wait, &before);
        char ignored[256];
        if (is_terminated || (polled[0].revents && read(STDIN_FILENO, ignored, sizeof ignored) <= 0)) break;
        for (nfds_t i = 1; i < count; i++) {
            int is_open = i == 1 || polled[i].fd == owners[i]->temporary || polled[i].fd == owners[i]->own;
            if (polled[i].revents && is_open) receive_all(polled[i].fd, i == 1 ? NULL : owners[i]);
        }
        remove_ended();
    }
    report("{\"event\":\"end\",\"cpu_us\":%ld,\"sockets_most\":%u,\"ports_most\":%u}", cpu_microseconds(), sockets_most,
           ports_most);
    return 0;
}

static void receive_all(int udp, struct association *association) {
    unsigned char datagram[LONGEST_DATAGRAM];
    address from;
    int length;
    for (int i = 0; i < BURST && (length = udp_receive(udp, datagram, &from)) >= 0; i++) {
        /* Between its bind and its connect, a temporary socket gets what is for the welcome socket. */
        int is_for_all = !association || (udp == association->temporary && !same_address(from, association->channel.peer));
        if (is_for_all) {
            welcome(datagram, (size_t)length, from);
            continue;
        }
        receive(association, udp, datagram, (size_t)length, from);
        /* A message came to the new address: the client has it. */
        if (association->temporary >= 0 && association->channel.socket == association->own) {
            close(association->temporary);
            association->temporary = -1;
            association->resend_at = 0;
            sockets--;
        }
        if (association->has_ended) return;
    }
}

/* What came to the welcome socket. */
static void welcome(const unsigned char *datagram, size_t length, address from) {
    for (struct association *it = associations; it; it = it->next) {
        if (it->has_ended || !same_address(it->channel.peer, from)) continue;
        /*
         * A repeated ClientHello must not replace an association (RFC 6347 §4.2.8), and clients of this program never
         * use a port twice. Associations with a socket of their own are reached there alone.
         */
        int is_late = it->is_established && (it->own >= 0 || first_handshake_message(datagram, length) == CLIENT_HELLO);
        if (!is_late) receive(it, welcome_socket, datagram, length, from);
        return;
    }
    listen_to(datagram, length, from);
}

static void listen_to(const unsigned char *datagram, size_t length, address from) {
    if (first_handshake_message(datagram, length) != CLIENT_HELLO || association_count == MOST_ASSOCIATIONS) return;
    if (!listening) listening = new_association();
    listening->channel.peer = from;
    listening->channel.datagram = datagram;
    listening->channel.length = length;
    BIO_ADDR *unused = BIO_ADDR_new();
    int verified = DTLSv1_listen(listening->ssl, unused);
    BIO_ADDR_free(unused);
    listening->channel.datagram = NULL;
    ERR_clear_error();
    if (verified <= 0) return;
    struct association *association = listening;
    listening = NULL;
    association->next = associations;
    association->used_at = now();
    associations = association;
    association_count++;
    choose_socket(association);
    if (!association->has_ended) handshake(association);
}

/* The paper's step 4, before the ServerHello. */
static void choose_socket(struct association *association) {
    if (options->arm == IPC) {
        association->own = association->channel.socket = open_socket(0);
        association->has_ended = association->own < 0;
    } else if (options->arm == TCS) {
        int temporary = association->temporary = association->channel.socket = open_socket(welcome_address.sin_port);
        const struct sockaddr *peer = (struct sockaddr *)&association->channel.peer;
        association->has_ended = temporary < 0 || connect(temporary, peer, sizeof association->channel.peer) != 0;
    }
}

static void receive(struct association *association, int udp, const unsigned char *datagram, size_t length, address from) {
    if (!association->is_established && !same_address(from, association->channel.peer)) return;
    association->channel.datagram = datagram;
    association->channel.length = length;
    if (!association->is_established) handshake(association);
    if (association->is_established && !association->has_ended) read_messages(association, udp, datagram, from);
    association->channel.datagram = NULL;
}

static void handshake(struct association *association) {
    ERR_clear_error();
    int result = SSL_accept(association->ssl);
    if (result != 1) {
        association->has_ended = dtls_failed(association->ssl, result);
        return;
    }
    association->is_established = 1;
    association->used_at = now();
    if (options->arm != TCS) return;
    /* Steps 8 and 9. */
    association->own = open_socket(0);
    association->has_ended = association->own < 0;
    if (!association->has_ended) send_own_address(association);
}

static void read_messages(struct association *association, int udp, const unsigned char *datagram, address from) {
    unsigned char message[LONGEST_DATAGRAM];
    int length;
    ERR_clear_error();
    while ((length = SSL_read(association->ssl, message, sizeof message)) > 0) {
        association->used_at = now();
        /* RFC 9146 §6, for ports instead of connection IDs: the newest authentic record is where the client is. */
        uint64_t number;
        memcpy(&number, datagram + 3, sizeof number);
        number = be64toh(number);
        if (number > association->newest) {
            association->newest = number;
            association->channel.peer = from;
            association->channel.socket = udp;
        }
        if (length >= ACK_LENGTH) SSL_write(association->ssl, message, ACK_LENGTH);
        ERR_clear_error();
    }
    association->has_ended = dtls_failed(association->ssl, length);
}

/* Again each second until a message comes to that address. */
static void send_own_address(struct association *association) {
    unsigned char message[NEW_ADDRESS_LENGTH];
    const uint32_t mark = htonl(NEW_ADDRESS);
    const address own = local_address(association->own);
    memcpy(message, &mark, 4);
    memcpy(message + 4, &own.sin_addr, 4);
    memcpy(message + 8, &own.sin_port, 2);
    SSL_write(association->ssl, message, sizeof message);
    association->resend_at = now() + RESEND_ADDRESS;
}

/* Does what is due, and returns when more is. */
static uint64_t run_timers(struct association *association) {
    uint64_t at = now(), limit = association->used_at + (association->is_established ? IDLE_LIMIT : HANDSHAKE_LIMIT);
    if (at >= limit) association->has_ended = 1;
    if (association->has_ended) return at;
    if (association->resend_at && at >= association->resend_at) send_own_address(association);
    uint64_t due = limit;
    if (association->resend_at && association->resend_at < due) due = association->resend_at;
    if (!association->is_established) {
        ERR_clear_error();
        if (DTLSv1_handle_timeout(association->ssl) < 0) association->has_ended = 1;
        uint64_t retransmission = dtls_deadline(association->ssl);
        if (retransmission < due) due = retransmission;
    }
    return due;
}

/* At the server's IP address. A socket of a port of its own has port 0 here. */
static int open_socket(in_port_t port) {
    address local = options->server;
    local.sin_port = port;
    int is_temporary = welcome_address.sin_port != 0 && port == welcome_address.sin_port;
    /* TCS's temporary sockets share the port of the welcome socket. */
    int is_shared = options->arm == TCS && (is_temporary || sockets == 0);
    int udp = udp_socket(local, is_shared);
    if (udp < 0) return -1;
    if (++sockets > sockets_most) sockets_most = sockets;
    ports += !is_temporary;
    if (ports > ports_most) ports_most = ports;
    return udp;
}

static struct association *new_association(void) {
    struct association *association = calloc(1, sizeof *association);
    if (!association) fail("no memory");
    association->own = association->temporary = -1;
    association->channel.socket = welcome_socket;
    association->ssl = dtls_new(context, &association->channel);
    return association;
}

static void remove_ended(void) {
    for (struct association **it = &associations; *it;) {
        struct association *association = *it;
        if (!association->has_ended) {
            it = &association->next;
            continue;
        }
        *it = association->next;
        association_count--;
        free_association(association);
    }
}

static void free_association(struct association *association) {
    if (association->temporary >= 0) {
        close(association->temporary);
        sockets--;
    }
    if (association->own >= 0) {
        close(association->own);
        sockets--, ports--;
    }
    dtls_free(association->ssl);
    free(association);
}
