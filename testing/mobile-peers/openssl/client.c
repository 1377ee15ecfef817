/* The client: when it takes its path for lost, and what it does then. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "peer.h"

/* Nothing that the lab does lasts longer. */
#define PATIENCE (60 * SECOND)
#define LEAST_RTT_TIMEOUT (20 * MILLISECOND)

/* A source is an interface: its address now, and a socket of the address that it had when something was sent last. */
struct source {
    struct in_addr address;
    int is_up;
    int socket;
};

static const struct options *options;
static SSL_CTX *context;
static SSL *ssl;
static SSL_SESSION *session;
static struct channel channel = {.socket = -1};
static struct source sources[2];

static enum {
    IN_HANDSHAKE,
    /* TCS: the server's new address is missing. */
    WITHOUT_ADDRESS,
    OPEN
} state;
/* The message that has no ack yet. */
static uint32_t message;
static int is_sent, is_repeated;
static int was_open;
/* A timer may be this late without moving the messages after it. */
#define LATE (20 * MILLISECOND)

static uint64_t sent_at, next_at, timeout_at, progress_at, smoothed_rtt;
static unsigned timeouts_in_row;

static void begin_handshake(void);
static void handshake(void);
static void repeat_flight(void);
static void open_association(void);
static void time_out(void);
static void recover(void);
static void send_message(void);
static void receive_all(int udp);
static void read_messages(void);
static void read_ack(uint32_t number);
static void take_new_address(const unsigned char *content);
static int read_input(void);
static void read_interface(const char *line);
static int route(void);
static void bind_source(struct source *source);
static uint64_t timeout(void);
static int survives(void) { return options->arm == IPC || options->arm == TCS; }

int run_client(const struct options *given) {
    options = given;
    context = dtls_context(options);
    for (int i = 0; i < options->source_count; i++)
        sources[i] = (struct source){.address = options->sources[i], .is_up = 1, .socket = -1};
    progress_at = now();
    begin_handshake();
    while (message < options->acks) {
        uint64_t due = state == IN_HANDSHAKE ? dtls_deadline(ssl) : state == OPEN && !is_sent ? next_at : timeout_at;
        uint64_t at = now(), deadline = due < progress_at + PATIENCE ? due : progress_at + PATIENCE;
        uint64_t left = deadline > at ? deadline - at : 0;
        struct pollfd polled[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                  {.fd = sources[0].socket, .events = POLLIN},
                                  {.fd = options->source_count == 2 ? sources[1].socket : -1, .events = POLLIN}};
        struct timespec wait = {.tv_sec = (time_t)(left / SECOND), .tv_nsec = (long)(left % SECOND)};
        ppoll(polled, 3, &wait, NULL);
        if (polled[0].revents && !read_input()) break;
        for (int i = 0; i < 2; i++)
            if (polled[1 + i].revents && sources[i].socket == polled[1 + i].fd) receive_all(polled[1 + i].fd);
        at = now();
        if (at >= progress_at + PATIENCE)
            fail(state != OPEN && !was_open ? "no handshake within a minute" : "no progress for 60 s");
        if (state == IN_HANDSHAKE) repeat_flight();
        else if (state == OPEN && !is_sent && at >= next_at) send_message();
        else if ((state == WITHOUT_ADDRESS || is_sent) && at >= timeout_at) time_out();
    }
    if (state == OPEN) SSL_shutdown(ssl);
    report("{\"event\":\"end\",\"at\":%lu,\"cpu_us\":%ld,\"datagrams_sent\":%lu,\"datagrams_received\":%lu,"
           "\"bytes_sent\":%lu,\"bytes_received\":%lu}",
           (unsigned long)now(), cpu_microseconds(), traffic.datagrams_sent, traffic.datagrams_received,
           traffic.bytes_sent, traffic.bytes_received);
    return 0;
}

/* From a new socket, with the session of the last handshake if the arm resumes. */
static void begin_handshake(void) {
    for (int i = 0; i < options->source_count; i++) {
        if (sources[i].socket >= 0) close(sources[i].socket);
        sources[i].socket = -1;
    }
    channel.socket = -1;
    route();
    channel.peer = options->server;
    dtls_free(ssl);
    ssl = dtls_new(context, &channel);
    if (session) SSL_set_session(ssl, session);
    state = IN_HANDSHAKE;
    report("{\"event\":\"handshake_begin\",\"at\":%lu}", (unsigned long)now());
    handshake();
}

static void handshake(void) {
    ERR_clear_error();
    int result = SSL_connect(ssl);
    if (result != 1) {
        if (dtls_failed(ssl, result)) fail("the handshake");
        return;
    }
    if (options->arm == TCS) {
        state = WITHOUT_ADDRESS;
        timeout_at = now() + timeout();
    } else {
        open_association();
    }
}

/* When DTLS's timer runs out. A server can't continue a handshake with another address. */
static void repeat_flight(void) {
    if (now() < dtls_deadline(ssl)) return;
    ERR_clear_error();
    if (route()) begin_handshake();
    else if (DTLSv1_handle_timeout(ssl) < 0) fail("the handshake");
}

/* The association can carry messages. */
static void open_association(void) {
    state = OPEN;
    was_open = 1;
    timeouts_in_row = 0;
    progress_at = now();
    report("{\"event\":\"handshake_end\",\"at\":%lu,\"kind\":\"%s\"}", (unsigned long)now(),
           SSL_session_reused(ssl) ? "resumed" : "full");
    if (options->arm == SESSION_ID || options->arm == TICKET) {
        SSL_SESSION_free(session);
        session = SSL_get1_session(ssl);
    }
    if (is_sent) send_message();
}

static void time_out(void) {
    if (state == WITHOUT_ADDRESS) {
        timeout_at = now() + timeout();
        if (route()) begin_handshake();
        return;
    }
    report("{\"event\":\"timeout\",\"at\":%lu}", (unsigned long)now());
    timeouts_in_row++;
    int goes_on = survives() && !options->restarts;
    if (goes_on || timeouts_in_row < options->timeouts) send_message();
    else begin_handshake();
}

/* At once, since an interface has changed. */
static void recover(void) {
    if (!survives() || state != OPEN) begin_handshake();
    else if (is_sent) send_message();
}

static void send_message(void) {
    uint64_t at = now();
    unsigned char content[MESSAGE_LENGTH] = {0};
    const uint32_t number = htonl(message);
    memcpy(content, &number, sizeof number);
    if (is_sent) is_repeated = 1;
    else next_at = (at - next_at <= LATE ? next_at : at) + options->pace;
    is_sent = 1;
    sent_at = at;
    timeout_at = at + timeout();
    report("{\"event\":\"sent\",\"at\":%lu,\"message\":%u}", (unsigned long)at, message);
    route();
    ERR_clear_error();
    if (SSL_write(ssl, content, sizeof content) <= 0) fail("SSL_write");
}

static void receive_all(int udp) {
    unsigned char datagram[LONGEST_DATAGRAM];
    address from;
    int length;
    while ((length = udp_receive(udp, datagram, &from)) >= 0) {
        /* IPC, step 5: the ServerHello comes from another port, which is the server's from now on. */
        if (options->arm == IPC && state == IN_HANDSHAKE && from.sin_addr.s_addr == options->server.sin_addr.s_addr
            && first_handshake_message(datagram, (size_t)length) == SERVER_HELLO)
            channel.peer = from;
        if (!same_address(from, channel.peer)) continue;
        channel.datagram = datagram;
        channel.length = (size_t)length;
        if (state == IN_HANDSHAKE) handshake();
        if (state != IN_HANDSHAKE) read_messages();
        channel.datagram = NULL;
    }
}

static void read_messages(void) {
    unsigned char content[LONGEST_DATAGRAM];
    int length;
    ERR_clear_error();
    while ((length = SSL_read(ssl, content, sizeof content)) > 0) {
        uint32_t number;
        if (length < ACK_LENGTH) continue;
        memcpy(&number, content, sizeof number);
        if (length == ACK_LENGTH && state == OPEN) read_ack(ntohl(number));
        if (length == NEW_ADDRESS_LENGTH && ntohl(number) == NEW_ADDRESS && state == WITHOUT_ADDRESS)
            take_new_address(content);
        ERR_clear_error();
    }
    if (SSL_get_error(ssl, length) == SSL_ERROR_ZERO_RETURN) fail("the server closed");
    if (dtls_failed(ssl, length)) fail("SSL_read");
}

static void read_ack(uint32_t number) {
    if (!is_sent || number != message) return;
    uint64_t at = now();
    report("{\"event\":\"ack\",\"at\":%lu,\"message\":%u}", (unsigned long)at, number);
    /* Karn: which of several messages was acknowledged isn't known. The weight is RFC 6298's. */
    uint64_t rtt = at - sent_at;
    if (!is_repeated) smoothed_rtt = smoothed_rtt ? (7 * smoothed_rtt + rtt) / 8 : rtt;
    message++;
    is_sent = is_repeated = 0;
    timeouts_in_row = 0;
    progress_at = at;
}

/* TCS, step 9. A server may send its client to another port, not to another host. */
static void take_new_address(const unsigned char *content) {
    address new = options->server;
    memcpy(&new.sin_addr, content + 4, 4);
    memcpy(&new.sin_port, content + 8, 2);
    if (new.sin_addr.s_addr != options->server.sin_addr.s_addr) fail("%s is another host", address_text(new));
    channel.peer = new;
    open_association();
}

/* Returns 0 once it is closed. */
static int read_input(void) {
    static char line[256];
    static size_t length;
    char part[256];
    ssize_t count = read(STDIN_FILENO, part, sizeof part);
    for (ssize_t i = 0; i < count; i++) {
        if (part[i] != '\n') {
            if (length == sizeof line - 1) fail("standard input: a line is too long");
            line[length++] = part[i];
            continue;
        }
        line[length] = 0;
        length = 0;
        read_interface(line);
    }
    return count > 0;
}

/* Returns what follows the colon of this member. */
static const char *member(const char *line, const char *name) {
    const char *value = strstr(line, name);
    if (!value) return NULL;
    value += strlen(name);
    return value + strspn(value, " :");
}

static void read_interface(const char *line) {
    const char *number = member(line, "\"interface\""), *state = member(line, "\"state\"");
    const char *ip = member(line, "\"address\"");
    int index = number ? atoi(number) : -1;
    int is_up = state && strncmp(state, "\"up\"", 4) == 0, is_down = state && strncmp(state, "\"down\"", 6) == 0;
    if (index < 0 || index >= options->source_count || !(is_up || is_down)) fail("standard input: %s", line);
    sources[index].is_up = is_up;
    if (is_up && ip) {
        char text[INET_ADDRSTRLEN];
        if (sscanf(ip, "\"%15[0-9.]\"", text) != 1 || inet_pton(AF_INET, text, &sources[index].address) != 1)
            fail("standard input: %s", line);
    }
    int is_other_up = options->source_count == 2 && sources[1 - index].is_up;
    /* The second source counts while the first is down. */
    int is_route_new = index == 0 ? is_up || is_other_up : is_up && !is_other_up;
    if (options->detection == BY_EVENT && is_route_new) recover();
}

/*
 * What is sent next leaves from the first source that is up, as by the kernel's routes, or from none. Returns whether this
 * is another address than before.
 */
static int route(void) {
    struct source *source = sources[0].is_up || options->source_count == 1 || !sources[1].is_up ? &sources[0] : &sources[1];
    struct in_addr before = {0};
    if (channel.socket >= 0) before = local_address(channel.socket).sin_addr;
    if (source->socket < 0 || local_address(source->socket).sin_addr.s_addr != source->address.s_addr) bind_source(source);
    channel.socket = source->socket;
    return channel.socket < 0 || before.s_addr != source->address.s_addr;
}

/* A new socket; -1 while the interface doesn't have the address. */
static void bind_source(struct source *source) {
    if (source->socket >= 0) close(source->socket);
    source->socket = udp_socket((address){.sin_family = AF_INET, .sin_addr = source->address}, 0);
    if (source->socket < 0) return;
    report("{\"event\":\"socket\",\"at\":%lu,\"address\":\"%s\"}", (unsigned long)now(),
           address_text(local_address(source->socket)));
}

/* How long an ack may take. */
static uint64_t timeout(void) {
    if (options->detection != BY_RTT || !smoothed_rtt) return options->timeout;
    return 3 * smoothed_rtt > LEAST_RTT_TIMEOUT ? 3 * smoothed_rtt : LEAST_RTT_TIMEOUT;
}
